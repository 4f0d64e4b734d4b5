"""Unix sockets that only this user can reach, at paths short enough for every system."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tempfile
import time
from pathlib import Path

LONGEST_PATH = 100
NEW_S = 60.0
"""A socket on which nobody listens yet is younger."""


def socket_folder() -> Path:
    """The folder for engines' sockets: in the user's runtime directory, or a private one.

    Raises:
        OSError: It cannot be made, or belongs to somebody else.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and len(runtime) + len("/tui-eval/") + 20 <= LONGEST_PATH:
        with contextlib.suppress(OSError):  # after `su` it is another user's
            return _private(Path(runtime) / "tui-eval")
    temporary = Path("/tmp") if Path("/tmp").is_dir() else Path(tempfile.gettempdir())
    return _private(temporary / f"tui-eval-{os.getuid()}")


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
        raise PermissionError(f"{folder} belongs to somebody else, or is a link")
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


def remove_dead(folder: Path) -> None:
    """Removes what engines left in the folder of sockets that were killed."""
    for path in folder.glob("*.sock"):
        with contextlib.suppress(OSError):  # another engine may have removed it
            if time.time() - path.stat().st_mtime > NEW_S and _is_dead(path):
                for left in folder.glob(f"{path.stem}.*"):
                    left.unlink()


def _is_dead(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.setblocking(False)
        try:
            sock.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:  # too many are waiting there
            return False
    return False
