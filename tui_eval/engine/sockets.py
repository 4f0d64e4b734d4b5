"""Unix sockets that only this user can reach, at paths short enough for every system."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

LONGEST_PATH = 100


def socket_folder() -> Path:
    """The folder for engines' sockets: in the user's runtime directory, or a private one.

    Raises:
        OSError: It cannot be made, or belongs to somebody else.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / "tui-eval" if runtime else None
    if folder is None or len(str(folder)) + 20 > LONGEST_PATH or not folder.parent.is_dir():
        folder = Path("/tmp" if Path("/tmp").is_dir() else tempfile.gettempdir())
        folder /= f"tui-eval-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    if status.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def bind_socket(path: str) -> socket.socket:
    """A listening Unix socket at a path that only this user may use.

    Raises:
        OSError: The path is too long or cannot be created.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        sock.bind(path)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(before)
    sock.listen(16)
    return sock
