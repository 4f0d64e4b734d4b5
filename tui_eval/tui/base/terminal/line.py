"""The line to a terminal: the amount of output that is still on its way."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

ON_ITS_WAY = 2_000
"""The most bytes that may be on their way when a frame is made."""
HELD = 20_000
"""Bytes that a pseudo-terminal of Linux buffers; others buffer less."""
PATIENCE_S = 2.0
"""Seconds to wait for a frame without an answer, or by estimate."""
MOST_PATIENCE_S = 8.0
"""The same where several answers come late: the output waits in some buffer."""
MOST_LATE = 9
"""Late answers, about a minute, after which no more are expected."""
UNANSWERED_MOST = 5
"""Unanswered requests after which no more are sent."""
ROW, MARKS = 1, 20
"""The line, from 0, and the columns of the cursor in requests for its place."""
GROWS = 1.1
"""The growth of the estimated buffer after each frame that was taken at once."""
SAMPLE = 500
"""The fewest bytes for an estimate of the speed."""
LEAST = 500.0
"""Bytes a second of the slowest estimate."""
SLOW_S = 0.25
"""Seconds for the answer to a frame above which a line is slow."""
FAST = 1_000_000
"""Bytes a second of a line that needs no estimate."""


class _Query(NamedTuple):
    mark: int
    size: int
    at: float


class Line:
    """Says when a frame may be made: once the one before is out.

    A terminal that answers requests for its cursor reports its progress by that. Of another one
    only a full buffer is noticed: from then on the output on its way is estimated from the speed
    of the rest. All methods may be called from any thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._changed = threading.Condition()
        self._writing = 0
        self._query: _Query | None = None
        self._answers = self._has_answered = self._lags = False
        self._unanswered = self._late = 0
        self._mark = 0
        self._took_s = 0.0
        self._rate = float("inf")
        self._reckoned, self._reckoned_at = 0.0, 0.0
        self._waits: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Notes that a write begins."""
        with self._changed:
            self._writing += 1

    def question_after(self, frame: str, columns: int) -> str:
        """The request for the cursor behind a frame; empty if the terminal never answers.

        No request is sent before the last one is answered: an answer that comes after the
        program's end is typed to the next one.
        """
        with self._changed:
            size = len(frame.encode("utf-8", "replace"))
            if self._query is not None:
                self._query = self._query._replace(size=self._query.size + size)
            elif self._answers or self._unanswered < UNANSWERED_MOST:
                self._unanswered += 1
                self._mark = self._mark % min(MARKS, columns) + 1
                self._query = _Query(self._mark, size, time.monotonic())
                return f"\x1b[{ROW + 1};{self._mark}H\x1b[6n"
        return ""

    def written(self, size: int, waited: int, seconds: float) -> None:
        """Notes that a write was taken, by the terminal or a buffer before it.

        Args:
            size: In bytes.
            waited: Bytes that were taken after a wait for room; 0 where there was room
                enough.
            seconds: The duration of that.
        """
        with self._changed:
            self._writing = max(self._writing - 1, 0)
            if waited:
                if waited >= SAMPLE or self._rate > FAST:
                    self._rate = max(waited / max(seconds, 0.001), LEAST)
                self._reckoned = float(HELD)
            else:
                self._reckoned = self._left() + size
                self._rate = float("inf") if self._rate > FAST else self._rate * GROWS
            self._reckoned_at = time.monotonic()
        self._call_soon()

    def answered(self, x: int, y: int) -> bool:
        """Takes the cursor's place, from 0; returns whether it had been requested."""
        with self._changed:
            if y != ROW:
                return False
            if self._query is None or x + 1 != self._query.mark:
                was_late = self._late > 0
                self._late -= was_late
                if was_late:  # the line is back
                    self._answers, self._unanswered = True, 0
                self._changed.notify_all()
                return was_late
            self._took_s = time.monotonic() - self._query.at
            self._query, self._answers, self._has_answered = None, True, True
            self._lags, self._unanswered = False, 0
            self._changed.notify_all()
        self._call_soon()
        return True

    def wait_for_answers(self, seconds: float) -> None:
        """Waits until the terminal has answered all requests, if it answers any."""
        with self._changed:
            if self._has_answered:
                is_over = self._changed.wait_for(lambda: not (self._late or self._query), seconds)
                self._lags |= not is_over
            self._query, self._late = None, 0

    @property
    def writes_waiting(self) -> int:
        """The number of writes that wait behind a begun one."""
        with self._changed:
            return max(self._writing - 1, 0)

    @property
    def is_free(self) -> bool:
        """Whether a frame made now would be shown at once."""
        with self._changed:
            return self._seconds_left() == 0

    @property
    def is_behind(self) -> bool:
        """Whether the terminal may be far behind the output; see `wait_for_answers`."""
        with self._changed:
            return bool(self._writing or self._lags or self._left())

    @property
    def is_silent(self) -> bool:
        """Whether the terminal has never answered, so that its progress is unknown.

        That it takes all output says nothing of a line that has just become slower.
        """
        return not self._has_answered

    @property
    def is_slow(self) -> bool:
        """Whether a frame takes so long that one sees it being drawn."""
        with self._changed:
            return self._took_s > SLOW_S or self._rate < FAST

    def when_free(self, call: Callable[[], None]) -> None:
        """Calls something once the line is free, in place of an earlier callback."""
        self._waits = call
        self._look()

    @property
    def _patience(self) -> float:
        """Seconds to wait for an answer: more where the last ones were late."""
        return float(min(PATIENCE_S * 2**self._late, MOST_PATIENCE_S))

    def _left(self) -> float:
        """An estimate of the bytes on their way."""
        return max(self._reckoned - self._rate * (time.monotonic() - self._reckoned_at), 0.0)

    def _seconds_left(self) -> float:
        """The most seconds to wait; 0 where the line is free."""
        if self._writing:
            return PATIENCE_S
        now = time.monotonic()
        if self._answers:
            if self._query is None or self._query.size <= ON_ITS_WAY:
                return 0.0
            if (left := self._query.at + self._patience - now) > 0:
                return left
        if self._query is not None and now - self._query.at > self._patience:
            self._query = None
            self._late += 1
            self._answers = self._has_answered and self._late < MOST_LATE
            if self._answers:
                return 0.0
        waited = now - self._reckoned_at
        if (more := self._left() - ON_ITS_WAY) <= 0 or waited > PATIENCE_S:
            return 0.0
        return min(more / self._rate, PATIENCE_S - waited) + 0.001

    def _call_soon(self) -> None:
        with contextlib.suppress(RuntimeError):  # there is no loop any more
            self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waits is None:
            return
        with self._changed:
            left = self._seconds_left()
        if left:
            self._timer = self._loop.call_later(left, self._look)
        else:
            call, self._waits = self._waits, None
            call()
