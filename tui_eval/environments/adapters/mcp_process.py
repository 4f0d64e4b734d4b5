"""An MCP server as a child process: a message is a line, and nothing of it outlives us."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from asyncio.subprocess import PIPE
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from tui_eval import cuts
from tui_eval.environments.adapters import mcp_messages
from tui_eval.process_guard import ProcessGuard, terminate_group

logger = logging.getLogger(__name__)

LONGEST_LINE = 1 << 30
EXIT_GRACE_S = 2.0
"""Limit of a server's end after that of its input, as the protocol wants it."""
_LINES_KEPT = 10
_LONGEST_KEPT = 500


@contextlib.asynccontextmanager
async def started_server(
    command: list[str],
    variables: Mapping[str, str],
    folder: str | None,
    printed: PrintedLines,
    guard: ProcessGuard,
) -> AsyncIterator[tuple[Any, Any]]:
    """Starts a server, and gives the streams from and to it that a session of the SDK wants.

    Args:
        variables: All that it sees of environment variables.
        printed: Takes what it prints beside messages.
        guard: Ends it where this process dies.

    Raises:
        OSError: It cannot be started.
    """
    import anyio

    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=printed.file, env=dict(variables), cwd=folder,
        start_new_session=True, limit=LONGEST_LINE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    guard.watch(process.pid)
    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)
    tasks = [
        asyncio.create_task(_read(process.stdout, to_session, printed)),
        asyncio.create_task(_write(from_session, process.stdin, to_session)),
    ]
    try:
        yield from_server, to_server
    finally:
        process.stdin.close()
        try:
            await terminate_group(process, guard, EXIT_GRACE_S)
        finally:
            for task in tasks:
                task.cancel()
            for stream in (to_session, from_server, to_server, from_session):
                stream.close()
            _close_pipes(process)


async def _read(stdout: asyncio.StreamReader, to_session: Any, printed: PrintedLines) -> None:
    """Passes on what a server says; at the end of it the session learns that it is gone."""
    import anyio

    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async with to_session:
            while line := await stdout.readline():
                message = mcp_messages.read_message(line)
                if message is None:
                    printed.keep(line)
                else:
                    await to_session.send(message)


async def _write(from_session: Any, stdin: asyncio.StreamWriter, to_session: Any) -> None:
    import anyio

    try:
        async with from_session:
            async for message in from_session:
                stdin.write(mcp_messages.serialize(message) + b"\n")
                await stdin.drain()
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        await to_session.aclose()  # or who waits for an answer would wait for ever


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    """Lets go of the pipes of a child that has ended; a grandchild may hold their other ends."""
    transport = getattr(process, "_transport", None)  # nothing public closes it
    if transport is not None:
        transport.close()


class PrintedLines:
    """Output of a server that is no message: it goes to the log, and the last lines are kept.

    `file` is for its standard error.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)

    async def __aenter__(self) -> PrintedLines:
        read, write = os.pipe()
        self.file = os.fdopen(write, "w")
        stream = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read, "rb")
        )
        self._reading = asyncio.create_task(self._read(stream))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.file.close()
        self._reading.cancel()
        self._transport.close()

    async def last_lines(self) -> list[str]:
        """The last output of a server that has ended."""
        self.file.close()
        # A process that the server left behind may hold the pipe open.
        await asyncio.wait((self._reading,), timeout=1.0)
        return list(self._lines)

    async def _read(self, stream: asyncio.StreamReader) -> None:
        rest = b""
        while block := await stream.read(65536):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                self.keep(line)
            rest = rest[:65536]
        self.keep(rest)

    def keep(self, line: bytes) -> None:
        """Takes a line."""
        text = cuts.head(line.decode("utf-8", "replace"), _LONGEST_KEPT).rstrip()
        if text:
            self._lines.append(text)
            logger.debug("MCP server %r: %s", self._name, text)
