"""A thread that calls the disk: one that does not answer holds up nobody for longer than 2 s.

A server's file system whose server is gone answers no call, for hours, and nothing ends that call.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from queue import SimpleQueue

PATIENCE_S = 2.0
"""Seconds; a disk that takes less is only slow."""


class _Call:
    __slots__ = ("error", "is_over", "work")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.error: Exception | None = None
        self.is_over = threading.Lock()
        """Held until it is."""
        self.is_over.acquire()


class DiskThread:
    """Makes calls one after the other, in a thread that is there once there is one."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._late: _Call | None = None

    @property
    def is_held(self) -> bool:
        """Whether a call that was given up is not over yet."""
        late = self._late
        return late is not None and late.is_over.locked()

    def take_late(self) -> bool:
        """Whether a call that was given up is over: once for each, whatever it has done."""
        is_over = self._late is not None and not self.is_held
        if is_over:
            self._late = None
        return is_over

    def run(self, work: Callable[[], None]) -> None:
        """Makes a call, and waits for its end.

        Raises:
            TimeoutError: The disk does not answer; the call goes on, or one before does.
            Exception: What the call raises.
        """
        if self._late is not None:
            raise _no_answer()
        if self._thread is None:
            calls = self._calls
            self._thread = threading.Thread(target=_make, args=(calls,), name="disk", daemon=True)
            self._thread.start()
        call = _Call(work)
        self._calls.put(call)
        if not call.is_over.acquire(timeout=PATIENCE_S):
            self._late = call
            raise _no_answer()
        if call.error is not None:
            raise call.error

    def end(self) -> None:
        """Ends the thread once its calls are over; a later call has another one."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread, self._calls = None, SimpleQueue()


def _make(calls: SimpleQueue[_Call | None]) -> None:
    while (call := calls.get()) is not None:
        try:
            call.work()
        except Exception as error:
            call.error = error
        call.is_over.release()


def _no_answer() -> OSError:
    return OSError(errno.ETIMEDOUT, "the disk does not answer")
