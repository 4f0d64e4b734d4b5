"""Ends child processes that this process started, however it ends itself."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time

from tui_eval.processes import signal_group

ENDS_WITHIN_S = 1.0

# Reads process groups, one a line, negative ones being forgotten; at the end of its input, which
# comes however the process that started it dies, it kills those that are left.
_GUARD = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    group = int(line)
    groups.add(group) if group > 0 else groups.discard(-group)
for group in groups:
    for kill in (os.killpg, os.kill):
        try:
            kill(group, signal.SIGKILL)
            break
        except PermissionError:
            continue
        except OSError:
            break
"""


class ProcessGuard:
    """A process that ends others if this one dies without doing so; begun when it is needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def watch(self, group: int) -> None:
        """Guards a process group, which does not outlive us then; a negative one ends that."""
        with self._lock:
            if self._process is None:
                self._process = _started()
            stdin = self._process.stdin
            assert stdin is not None
            try:
                stdin.write(f"{group}\n")
                stdin.flush()
            except (OSError, ValueError):  # it is gone, or was closed
                pass

    def close(self) -> None:
        """Ends it, and with it what is still watched."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=ENDS_WITHIN_S)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _GUARD],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )


async def terminate_group(
    process: asyncio.subprocess.Process, guard: ProcessGuard, grace_s: float
) -> None:
    """Ends a child that leads a process group, and whatever it started: politely, then not.

    Args:
        guard: Watches the group until it is gone.
        grace_s: Time to exit by itself, before it gets a signal.
    """
    try:
        for seconds, number in ((grace_s, signal.SIGTERM), (ENDS_WITHIN_S, signal.SIGKILL)):
            if await _has_ended(process, seconds):
                return
            signal_group(process.pid, number)
        await _has_ended(process, ENDS_WITHIN_S)  # or the loop might end before it is reaped
    finally:
        signal_group(process.pid, signal.SIGKILL)
        guard.watch(-process.pid)


async def _has_ended(process: asyncio.subprocess.Process, within_s: float) -> bool:
    """Whether a child has ended; its `wait` also waits for pipes that a grandchild may hold."""
    deadline = time.monotonic() + within_s
    while process.returncode is None and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    return process.returncode is not None
