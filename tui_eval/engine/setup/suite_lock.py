"""Locks of files of several evaluations: the engine at work, found by the file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tui_eval.engine.transport.sockets import socket_folder
from tui_eval.runs.lock import Holder, RunLock, holder


def lock_suite(file: Path, socket: str) -> RunLock:
    """Locks the evaluations of a file for this process.

    Args:
        socket: Path of the engine's socket.

    Raises:
        OSError: The lock cannot be written.
    """
    name = f"{Path(socket).stem}.{_key(file)}.lock"
    return RunLock(socket_folder() / name, socket)


def at_work_on(file: Path) -> Holder | None:
    """The engine at work on the evaluations of a file; of several the latest.

    Raises:
        OSError: See `socket_folder`.
    """
    locks = sorted(socket_folder().glob(f"*.{_key(file)}.lock"), key=_made_at, reverse=True)
    return next((held for lock in locks if (held := holder(lock)) is not None), None)


def _key(file: Path) -> str:
    return hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]


def _made_at(lock: Path) -> float:
    try:
        return lock.stat().st_mtime
    except FileNotFoundError:  # its engine has ended meanwhile
        return 0.0
