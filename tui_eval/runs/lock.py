"""One writer a run: a lock that dies with its process and says who holds it."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec


class LockHeldError(Exception):
    """Another engine writes this run."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: the engine's process id and the path of its socket."""

    pid: int
    socket: str


class RunLock:
    """Holds `lock` in a run directory until it is released or the process ends."""

    def __init__(self, path: Path, socket: str) -> None:
        """Takes the lock.

        Raises:
            LockHeldError: Another process has it; the message names the process.
            OSError: The file cannot be opened.
        """
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            held = holder(path)
            who = f"process {held.pid}" if held else "another process"
            raise LockHeldError(f"{who} is writing this run") from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, msgspec.json.encode({"pid": os.getpid(), "socket": socket}), 0)

    def release(self) -> None:
        """Gives the lock back and removes its file."""
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def holder(path: Path) -> Holder | None:
    """Who holds the lock at this path; None where nobody does."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        try:
            return msgspec.json.decode(os.pread(fd, 4096, 0), type=Holder)
        except msgspec.DecodeError:
            return Holder(0, "")
    finally:
        os.close(fd)
    return None
