"""The demo endpoint as a child process: it starts with a run and ends with it."""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

STARTS_WITHIN_S = 20.0

_NO_CERTIFICATES = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}
"""Its server would read the machine's certificates at its import, and it connects to nobody."""


class EmbeddedEndpoint:
    """A scripted policy behind a real HTTP server on a free loopback port."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process = process
        self.url = url

    @classmethod
    async def start(cls) -> EmbeddedEndpoint:
        """Starts the server and waits until it listens.

        `TUI_EVAL_DEMO_SPEED` sets its speed: 0 answers at once, 2 twice as fast as usual.

        Raises:
            RuntimeError: It did not start; says what it printed.
        """
        speed = os.environ.get("TUI_EVAL_DEMO_SPEED", "1")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tui_eval.demo.endpoint", "--speed", speed),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **_NO_CERTIFICATES},
        )
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), STARTS_WITHIN_S)
            port = msgspec.json.decode(line)["port"]
        except BaseException as error:
            if process.returncode is None:
                process.kill()
            await process.wait()
            if isinstance(error, (TimeoutError, msgspec.DecodeError, KeyError, TypeError)):
                raise RuntimeError("the embedded endpoint did not start; see engine.log") from None
            raise
        return cls(process, f"http://127.0.0.1:{port}/v1")

    async def ended(self) -> int:
        """Waits until the server ends by itself; returns its exit code."""
        return await self._process.wait()

    async def stop(self) -> None:
        """Ends the server."""
        if self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()
