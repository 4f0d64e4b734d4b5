"""Signals: a clean stop that happens also while people's code blocks the loop."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

LAST_WORDS_AFTER_S = 1.4


class StopSignals:
    """Turns SIGINT and SIGTERM into a stop.

    A signal asks the loop to stop. Where the loop does not come to it in time, because
    synchronous code holds it, a thread says the last words and ends the process.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stop: Callable[[], None],
        last_words: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._stop = stop
        self._last_words = last_words
        self._timer: threading.Timer | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._received)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._timer is None:
            self._timer = threading.Timer(LAST_WORDS_AFTER_S, self._end)
            self._timer.daemon = True
            self._timer.start()
        self._loop.call_soon_threadsafe(self._stop)

    def _end(self) -> None:
        try:
            self._last_words()
        finally:
            os._exit(130)

    def over(self) -> None:
        """The run has ended by itself: nothing is left to force."""
        if self._timer is not None:
            self._timer.cancel()
