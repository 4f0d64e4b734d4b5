"""Sockets that only this user can reach: Unix sockets, or loopback ports that want a token.

A Unix socket's path must be short enough for every system. Where a file system takes none (many
that clusters and containers mount do not), a port on 127.0.0.1 stands for it. Everybody on the
machine can connect to that, so a file of mode 0600 at the socket's path has the handshake of both
sides: the engine knows its user, and the user knows that it is the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import os
import secrets
import socket
import stat
import time
from pathlib import Path
from typing import NamedTuple

from tui_eval.errors import Notice, warning
from tui_eval.own_folders import private_folder, temporary_folder

LONGEST_PATH = 100
"""Bytes of a socket's path: macOS takes 103, Linux 107."""
NEW_S = 60.0
"""Seconds for which a socket counts as new: nobody may listen on it yet."""

TOKEN_WITHIN_S = 5.0
READ_AHEAD_BYTES = 1 << 22
_TOKEN_BYTES = 64


class Loopback(NamedTuple):
    """The contents of a file that stands for a Unix socket.

    Args:
        token: The first line of who connects.
        answer: The engine's reply to it, which nobody else can give.
        why: Why there is no Unix socket.
    """

    port: int
    token: str
    answer: str
    why: str


def socket_folder() -> Path:
    """The folder for engines' sockets: in the user's runtime directory, or a private one.

    Raises:
        OSError: It cannot be made, or belongs to somebody else.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime, "tui-eval")
    if not folder.is_absolute():  # as its specification wants: others run in other folders
        runtime = ""
    is_short = len(os.fsencode(runtime)) + len("/tui-eval/") + 20 <= LONGEST_PATH
    if runtime and is_short:
        with contextlib.suppress(OSError):  # after `su` it is another user's
            return private_folder(folder)
    try:
        return temporary_folder()
    except OSError:
        if not runtime or is_short:
            raise
        return private_folder(folder)  # a port stands for a socket with so long a path


def bind_socket(path: str) -> socket.socket:
    """A listening socket that only this user may use, to be found at a path.

    Raises:
        OSError: Neither a socket nor a file can be made there.
    """
    sock: socket.socket | None = None
    before = os.umask(0o177)
    try:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.bind(path)
    except OSError as error:
        if sock is not None:
            sock.close()
        if error.errno == errno.EADDRINUSE:
            raise
        return _bind_loopback(path, error.strerror or str(error))
    finally:
        os.umask(before)
    sock.listen(16)
    return sock


def _bind_loopback(path: str, why: str) -> socket.socket:
    sock = socket.create_server(("127.0.0.1", 0), backlog=16)
    half = _TOKEN_BYTES // 2
    port, token, answer = sock.getsockname()[1], secrets.token_hex(half), secrets.token_hex(half)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(f"{port} {token} {answer} {why}")
    except OSError:
        sock.close()
        raise
    return sock


def read_loopback(path: str | Path) -> Loopback | None:
    """The port that stands for the Unix socket at a path; None where the socket itself is there.

    Raises:
        OSError: Nothing that this user made is there.
    """
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return None
    if status.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to somebody else")
    try:
        port, token, answer, why = Path(path).read_text("utf-8").split(" ", 3)
        return Loopback(int(port), token, answer, why)
    except ValueError:
        raise ConnectionRefusedError(f"{path} names no port") from None


def loopback_of(sock: socket.socket, path: str) -> Loopback | None:
    """The handshake of a listening socket; None on a Unix socket.

    Raises:
        OSError: See `read_loopback`.
    """
    return None if sock.family == socket.AF_UNIX else read_loopback(path)


def loopback_notices(loopback: Loopback | None) -> list[Notice]:
    """A notice that the engine listens on a port."""
    if loopback is None:
        return []
    text = f"Unix sockets are refused here ({loopback.why}): the screen reaches the engine on "
    return [warning(f"{text}127.0.0.1:{loopback.port}, with a token.")]


async def connect(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to the engine at a path.

    Raises:
        OSError: Nobody listens, or not the one that made the file there.
    """
    loopback = read_loopback(path)
    if loopback is None:
        return await asyncio.open_unix_connection(path, limit=READ_AHEAD_BYTES)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", loopback.port, limit=READ_AHEAD_BYTES
    )
    writer.write(loopback.token.encode())
    if not await _receives(reader, loopback.answer):
        writer.close()
        raise ConnectionRefusedError(f"who listens on port {loopback.port} is no engine of {path}")
    return reader, writer


async def admits(
    loopback: Loopback | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Whether a connection is admitted: on a port, one that sends the token first."""
    if loopback is None:
        return True
    if not await _receives(reader, loopback.token):
        return False
    writer.write(loopback.answer.encode())
    return True


async def _receives(reader: asyncio.StreamReader, words: str) -> bool:
    try:
        async with asyncio.timeout(TOKEN_WITHIN_S):
            received = await reader.readexactly(len(words))
    except (asyncio.IncompleteReadError, TimeoutError, OSError):
        return False
    return hmac.compare_digest(received, words.encode())


def remove_stale(folder: Path) -> None:
    """Removes sockets that killed engines left in a folder."""
    for path in folder.glob("*.sock"):
        with contextlib.suppress(OSError):  # another engine may have removed it
            if time.time() - path.stat().st_mtime > NEW_S and _is_stale(path):
                for left in folder.glob(f"{path.stem}.*"):
                    left.unlink()


def _is_stale(path: Path) -> bool:
    """Whether nobody listens there.

    It does not connect to an engine's socket: a detached run has no listener, and would stop as
    this one leaves. Connecting a datagram socket shows whether a stream socket is there, too.
    """
    loopback = read_loopback(path)
    kind = (socket.AF_INET, socket.SOCK_STREAM) if loopback else (socket.AF_UNIX, socket.SOCK_DGRAM)
    with socket.socket(*kind) as sock:
        try:
            sock.connect(("127.0.0.1", loopback.port) if loopback else str(path))
        except ConnectionRefusedError:
            return True
        except OSError:  # EPROTOTYPE: a stream socket is there
            return False
    return False
