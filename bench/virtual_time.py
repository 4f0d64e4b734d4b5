"""A loop whose clock jumps over every wait, so that minutes of a schedule are tried in no time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from selectors import DefaultSelector
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Jumping(DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Jumping()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run_in_virtual_time(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs work that waits for nothing but the loop's clock."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
