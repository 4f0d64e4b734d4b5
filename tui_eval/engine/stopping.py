"""A clean stop, and an end in time, also while people's code holds the loop or hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from tui_eval.errors import ctrl_c_raises_nothing

LAST_WORDS_AFTER_S = 1.4
LEAVES_WITHIN_S = 0.5
FILES_WITHIN_S = 8.0
"""For the files of a run; its disk may not answer at all."""


class TimelyEnd:
    """Turns SIGINT and SIGTERM into a stop, and ends a process that does not end by itself.

    Args:
        stop: Called on the loop after a signal.
        emergency_close: Called from another thread where a stop was not over in time; returns the
            exit code that the process ends with then.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stop: Callable[[], None],
        emergency_close: Callable[[], int],
    ) -> None:
        self._loop = loop
        self._stop = stop
        self._emergency_close = emergency_close
        self._timer: threading.Timer | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._received)
        ctrl_c_raises_nothing()

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.count_down()
        self._loop.call_soon_threadsafe(self._stop)

    def count_down(self) -> None:
        """A stop began: what it takes longer than it may is cut off."""
        if self._timer is None:
            self._start_timer(LAST_WORDS_AFTER_S, self._end)

    def over(self, code: int) -> None:
        """The run is over; tasks and threads that people's code left running are not waited for."""
        if self._timer is not None:
            self._timer.cancel()
        self._start_timer(LEAVES_WITHIN_S, os._exit, code)

    def _start_timer(self, seconds: float, function: Callable[..., Any], *args: Any) -> None:
        self._timer = threading.Timer(seconds, function, args)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        code = 130
        self._start_timer(FILES_WITHIN_S, os._exit, code)
        try:
            code = self._emergency_close()
        finally:
            os._exit(code)
