"""One writer a run: a lock that dies with its process and says who holds it."""

from __future__ import annotations

import fcntl
import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tui_eval.errors import Fault

ASKING_LASTS_S = 1.0
"""Who asks for the holder has the lock for a moment: a writer tries again for so long."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: the engine's process id, 0 if it is not known, and its socket's path."""

    pid: int
    socket: str

    def __str__(self) -> str:
        return f"process {self.pid}" if self.pid else "another process"

    def fault(self, run: Path) -> Fault:
        """Why nobody else can go on with the run at this path."""
        hint = f"Join it: tui-eval open {shlex.quote(str(run))}"
        return Fault(str(run), f"{self} is writing this run", hint if self.socket else "")


class LockHeldError(Exception):
    """Another engine writes this run.

    Args:
        held: Which one.
    """

    def __init__(self, held: Holder) -> None:
        super().__init__(f"{held} is writing this run")
        self.held = held


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
                raise LockHeldError(held or Holder(0, ""))
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
