"""The line to a terminal: how much of what was written is still on its way."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

ON_ITS_WAY = 2_000
"""So many bytes may be on their way when another frame is made."""
HELD = 20_000
"""What a pseudo-terminal of Linux takes before somebody reads it; others take less."""
PATIENCE_S = 2.0
"""How long a frame is waited for that the terminal does not tell of, or that is reckoned with."""
MOST_PATIENCE_S = 8.0
"""The same where answers come late one after the other: what is written waits in some buffer."""
MOST_LATE = 9
"""After so many late answers, about a minute, none is believed to come any more."""
UNANSWERED_MOST = 5
"""After so many questions without an answer the terminal is not asked any more."""
ROW, MARKS = 1, 20
"""The line, from 0, and the columns where the cursor is when the terminal is asked for it."""
GROWS = 1.1
"""By how much more a line is believed to take after each frame that it took at once."""
SAMPLE = 500
"""From so many bytes it can be said how fast a line is."""
LEAST = 500.0
"""Bytes a second of the slowest line that is reckoned with."""
SLOW_S = 0.25
"""A line is slow on which the answer for a frame takes longer than this."""
FAST = 1_000_000
"""Bytes a second of a line that needs no reckoning."""


class _Query(NamedTuple):
    mark: int
    size: int
    at: float


class Line:
    """Says when a frame may be made: once the one before is out.

    A terminal tells how far it has come where it answers questions for its cursor. Of one that
    does not, it is only seen when it takes no more: from then on what is on its way is reckoned
    from how fast it took the rest. All methods may be called from any thread.
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
        """Something is about to be written."""
        with self._changed:
            self._writing += 1

    def question_after(self, frame: str, columns: int) -> str:
        """What asks the terminal, behind a frame, how far it has come; empty if it never says.

        No question is asked before the last one is answered: an answer that comes once the
        program has ended is typed to the next.
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
        """What had begun was taken, by whatever stands between the program and the terminal.

        Args:
            size: In bytes.
            waited: Bytes that were taken after it had to be waited for room; 0 where there was
                room enough.
            seconds: How long that took.
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
        """The terminal told where its cursor was, from 0; returns whether it had been asked."""
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
        """Waits until the terminal has answered all questions, if it answers any."""
        with self._changed:
            if self._has_answered:
                is_over = self._changed.wait_for(lambda: not (self._late or self._query), seconds)
                self._lags |= not is_over
            self._query, self._late = None, 0

    @property
    def writes_waiting(self) -> int:
        """How many writes wait behind one that was begun."""
        with self._changed:
            return max(self._writing - 1, 0)

    @property
    def is_free(self) -> bool:
        """Whether a frame that is made now follows what the terminal shows."""
        with self._changed:
            return self._seconds_left() == 0

    @property
    def is_behind(self) -> bool:
        """Whether the terminal may be far behind what was written; see `wait_for_answers`."""
        with self._changed:
            return bool(self._writing or self._lags or self._left())

    @property
    def is_silent(self) -> bool:
        """Whether the terminal has never answered: how far it has come is not known.

        That it takes all says nothing of a line that has just become slower.
        """
        return not self._has_answered

    @property
    def is_slow(self) -> bool:
        """Whether a frame takes so long to come out that one sees it being drawn."""
        with self._changed:
            return self._took_s > SLOW_S or self._rate < FAST

    def when_free(self, call: Callable[[], None]) -> None:
        """Has something called once the line is free; what was to be called before is not."""
        self._waits = call
        self._look()

    @property
    def _patience(self) -> float:
        """How long an answer is waited for: longer where the last ones are late."""
        return float(min(PATIENCE_S * 2**self._late, MOST_PATIENCE_S))

    def _left(self) -> float:
        """Bytes that are reckoned to be on their way."""
        return max(self._reckoned - self._rate * (time.monotonic() - self._reckoned_at), 0.0)

    def _seconds_left(self) -> float:
        """How long to wait at most; 0 where the line is free."""
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
