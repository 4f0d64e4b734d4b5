"""The screen behind one tab of a browser: a process that ends when the tab is closed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from tui_eval.cli.console.printing import warn
from tui_eval.printable import printable
from tui_eval.processes import signal_group
from tui_eval.tui.base.terminal.browser import DRIVER, SHOWS

PRELUDE = b"__GANGLION__\n"
DATA, META, PACKED = b"D", b"M", b"P"

LEAVES_WITHIN_S = 3.0
"""Seconds that a screen has to end after its tab. An engine below it ends within 2 s."""

CLOSES_WITHIN_S = 0.5
SHOWN_LINES = 200
CLEAR = "\x1b[0;38;2;214;216;220;48;2;21;23;27m\x1b[2J\x1b[H\x1b[?25l"
"""An empty screen in our own colours, without a cursor."""


class WebScreen(AppService):
    """Runs a command line of tui-eval and connects it with a web socket.

    Args:
        words: The command line, without the name of the program.
        socket: Target of the drawing; closed when the process has ended.
    """

    def __init__(
        self, words: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        super().__init__(
            " ".join(words),
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=self._close,
            download_manager=downloads,
        )
        self.words = words
        self._socket = socket
        self._output: list[str] = []
        self.shows = ""
        """The run or the file of evaluations that is shown, once that is known."""

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """Starts the process, in a session of its own: the server's Ctrl-C is not for it."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tui_eval.cli.serve.in_browser", *self.words),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**self._build_environment(width, height), "TEXTUAL_DRIVER": DRIVER},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._stdin = self._process.stdin
        return self._process

    async def run(self) -> None:
        """Sends the process's drawing to the tab until it has ended; see `AppService.run`."""
        process = self._process
        assert process is not None and process.stdout is not None and process.stderr is not None
        received = asyncio.gather(self._relay(process.stdout), self._listen(process.stderr))
        await process.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSES_WITHIN_S):
                await received
        self.kill()
        with contextlib.suppress(ConnectionError, RuntimeError):
            output = "\r\n".join(self._output or ["It ended without a word."])
            await self._socket.send_bytes(f"{CLEAR}{output}\r\n\r\n".encode())
            await self._socket.close()

    async def _relay(self, stdout: asyncio.StreamReader) -> None:
        while (line := await stdout.readline()) != PRELUDE:
            if not line:
                return
            self._handle_line(line)
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                kind = await stdout.readexactly(1)
                payload = await stdout.readexactly(
                    int.from_bytes(await stdout.readexactly(4), "big")
                )
                # Where the tab is gone what is drawn still has to be taken, or the process waits.
                with contextlib.suppress(ConnectionError, RuntimeError):
                    await self._pass_on(kind, payload)

    async def _pass_on(self, kind: bytes, payload: bytes) -> None:
        if kind == DATA:
            await self.on_data(payload)
        elif kind == META:
            reported = json.loads(payload)
            if reported.get("type") == SHOWS:
                self.shows = str(reported["path"])
            else:
                await self.on_meta(payload)
        elif kind == PACKED:
            await self.on_packed(payload)

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while line := await stderr.readline():
            self._handle_line(line)

    def _handle_line(self, line: bytes) -> None:
        """Copies stderr to the server's terminal, and its end to the tab."""
        text = printable(line.decode("utf-8", "replace").rstrip("\n"))
        self._output = [*self._output[1 - SHOWN_LINES :], text]
        warn(text)

    @property
    def is_open(self) -> bool:
        """Whether its tab is there, and something in it."""
        return not self._socket.closed and (self._task is None or not self._task.done())

    async def stop(self) -> None:
        """Ends the process as the end of a terminal does, and kills it where that fails."""
        if self._task is None:
            return
        await self._download_manager.cancel_app_downloads(self.app_service_id)
        self.stdin.close()
        try:
            await asyncio.wait({self._task}, timeout=LEAVES_WITHIN_S)
        finally:
            self.kill()
        await self._task

    def kill(self) -> None:
        """Ends the process at once, and whatever it left in its session."""
        assert self._process is not None
        signal_group(self._process.pid, signal.SIGKILL)

    async def _close(self) -> None:
        """Never requested: the web socket is closed when the process has ended."""
