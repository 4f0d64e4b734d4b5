"""An MCP server as a child process: a message is a line, and nothing of it outlives us."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from typing import Any, TextIO

from tui_eval.environments.adapters import mcp_messages
from tui_eval.environments.adapters.process_guard import ProcessGuard, terminate_group

LONGEST_LINE = 1 << 30
EXIT_GRACE_S = 2.0
"""How long a server may take to end after its input has, as the protocol wants it to."""


@contextlib.asynccontextmanager
async def started_server(
    name: str,
    command: list[str],
    variables: Mapping[str, str],
    folder: str | None,
    errors: TextIO,
    guard: ProcessGuard,
) -> AsyncIterator[tuple[Any, Any]]:
    """Starts a server, and gives the streams from and to it that a session of the SDK wants.

    Args:
        name: What the log calls it.
        variables: All that it sees of environment variables.
        folder: Where it runs.
        errors: An open file for its standard error.
        guard: Ends it where this process dies.

    Raises:
        OSError: It cannot be started.
    """
    import anyio

    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=errors, env=dict(variables), cwd=folder,
        start_new_session=True, limit=LONGEST_LINE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    guard.watch(process.pid)
    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)
    tasks = [
        asyncio.create_task(_read(name, process.stdout, to_session)),
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


async def _read(name: str, stdout: asyncio.StreamReader, to_session: Any) -> None:
    """Passes on what a server says; at the end of it the session learns that it is gone."""
    import anyio

    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async with to_session:
            while line := await stdout.readline():
                message = mcp_messages.read_message(name, line)
                if message is not None:
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
