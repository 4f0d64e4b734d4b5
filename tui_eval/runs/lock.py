"""One writer a run: a lock that dies with its process and says who holds it."""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

ASKING_LASTS_S = 1.0
"""Who asks for the holder has the lock for a moment: a writer tries again for so long."""


class LockHeldError(Exception):
    """Another engine writes this run."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: the engine's process id, 0 if it is not known, and its socket's path."""

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
        deadline = time.monotonic() + ASKING_LASTS_S
        while (fd := _try_lock(path)) is None:
            held = holder(path)
            if held is not None or time.monotonic() > deadline:
                who = f"process {held.pid}" if held and held.pid else "another process"
                raise LockHeldError(f"{who} is writing this run")
            time.sleep(0.005)
        self._fd = fd
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, msgspec.json.encode({"pid": os.getpid(), "socket": socket}), 0)

    def release(self) -> None:
        """Gives the lock back and removes its file."""
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def _try_lock(path: Path) -> int | None:
    """The open, locked file; None where somebody has it or removed it meanwhile."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(fd).st_ino:
            return fd
    except OSError:
        pass
    os.close(fd)
    return None


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
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Holder(0, "")
    finally:
        os.close(fd)
    return None
