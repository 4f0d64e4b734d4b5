"""Signals that end an app: its loop is told of them, and nothing is cut short."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class EndingSignals:
    """Has a function called on the loop when one comes.

    An exception in its place would come from wherever the loop is just then, also from the middle
    of taking the terminal or of giving it back.

    Args:
        end: Is called for each of them.
    """

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._before: dict[int, Any] = {}

    def handle(self) -> None:
        """From now on; asked again it takes back what others took meanwhile."""
        loop = asyncio.get_running_loop()
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                self._before.setdefault(number, signal.getsignal(number))
                loop.add_signal_handler(number, self._end)

    def let_go(self) -> None:
        """They mean again what they meant before."""
        loop = asyncio.get_running_loop()
        while self._before:
            number, handler = self._before.popitem()
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
