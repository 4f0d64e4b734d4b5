"""The socket's server: takes connections, reads their commands, sees when the last one goes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import msgspec

from tui_eval.commands import Command, Detach, Subscribe, decode_command
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.transport.listener import Listener
from tui_eval.engine.transport.sockets import Loopback, admits
from tui_eval.event_frames import HEADER_BYTES

LONGEST_COMMAND = 1 << 20


async def listen(
    sock: socket.socket,
    hub: Hub,
    handle: Callable[[Command], None],
    vanished: Callable[[], None],
    loopback: Loopback | None = None,
) -> asyncio.Server:
    """Takes connections on a socket that already listens.

    Args:
        handle: Called with every command that is not about the connection itself.
        vanished: Called when the last listener is gone and has not detached.
        loopback: Token and answer of the handshake, where the socket is a port.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not await admits(loopback, reader, writer):
            writer.close()
            return
        listener = Listener(writer.transport)
        hub.join(listener)
        try:
            while (command := await _read(reader)) is not None:
                if isinstance(command, Subscribe):
                    hub.subscribe(listener, command.rows)
                elif isinstance(command, Detach):
                    listener.detached = True
                else:
                    handle(command)
        except asyncio.CancelledError:
            return  # the process ends; asyncio 3.11 logs a cancelled connection as a failure
        finally:
            hub.leave(listener)
            writer.close()
            # They keep the error of a write that failed, which keeps this frame: see `_read`.
            del reader, writer
        if not listener.detached and not hub.listeners:
            vanished()

    if loopback is not None:
        return await asyncio.start_server(serve, sock=sock)
    return await asyncio.start_unix_server(serve, sock=sock)


async def _read(reader: asyncio.StreamReader) -> Command | None:
    """The next command; None where the connection ended or sent anything else."""
    try:
        size = int.from_bytes(await reader.readexactly(HEADER_BYTES), "big")
        if size > LONGEST_COMMAND:
            return None
        command: Command = decode_command(await reader.readexactly(size))
        return command
    except (asyncio.IncompleteReadError, OSError, msgspec.DecodeError) as error:
        # The reader keeps it, and its frames keep the reader and what was being sent: all of that
        # would stay until a garbage collection, which an engine rarely has.
        error.__traceback__ = None
        return None
