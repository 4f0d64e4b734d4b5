"""A terminal behind a slow line: it reads a program's output at a rate, and keeps a screen."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte

from bench.figure import NotMeasuredError
from bench.terminal import COLUMNS, LINES, Terminal

PIECES_A_SECOND = 50
POSITION_QUERY = b"\x1b[6n"
KEPT = 4_000
"""Bytes of the output that are kept, for what went wrong and for what was written last."""


class SlowTerminal(Terminal):
    """A program on a terminal that takes so many bytes a second.

    Args:
        bytes_a_second: Speed of the line; 0 while it takes nothing. It may be changed at any time.
        answers: Whether the terminal answers where its cursor is, as all but the poorest do.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: dict[str, str],
        folder: Path,
        bytes_a_second: float,
        *,
        answers: bool = False,
    ) -> None:
        super().__init__(command, variables, folder, self._take)
        self.bytes_a_second = bytes_a_second
        self.count = 0
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self.screen)
        self._answers = answers
        self._queries = b""
        self._may_read, self._looked_at = 0.0, time.monotonic()

    def __enter__(self) -> SlowTerminal:
        return self

    def _take(self, at: float, data: bytes) -> None:
        self.count += len(data)
        self.output += data
        del self.output[:-KEPT]
        if not self._answers:
            self._stream.feed(data)
            return
        *queries, self._queries = (self._queries + data).split(POSITION_QUERY)
        for piece in queries:
            self._stream.feed(piece)
            cursor = self.screen.cursor
            self.type(f"\x1b[{cursor.y + 1};{cursor.x + 1}R".encode())
        kept = next((n for n in (3, 2, 1) if self._queries.endswith(POSITION_QUERY[:n])), 0)
        whole = len(self._queries) - kept
        self._stream.feed(self._queries[:whole])
        self._queries = self._queries[whole:]

    def read(self, seconds: float) -> bool:
        """Reads what the line takes within a time, one piece at most."""
        until = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            self._may_read += (now - self._looked_at) * self.bytes_a_second
            self._may_read = min(self._may_read, max(self.bytes_a_second / PIECES_A_SECOND, 64))
            self._looked_at = now
            if self._may_read >= 64 or now >= until:
                break
            time.sleep(min(1 / PIECES_A_SECOND, until - now))
        if self._may_read < 64:
            return True
        before = self.count
        is_open = self._read_at_most(int(self._may_read), max(until - now, 0))
        self._may_read -= self.count - before
        return is_open

    def _read_at_most(self, most: int, seconds: float) -> bool:
        if not select.select([self._end], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._end, most)
        except OSError:
            return False
        self._written(time.time(), data)
        return bool(data)

    def seconds_until(self, done: Callable[[], bool], seconds: float) -> float:
        """Reads until something holds; returns how long that took.

        Raises:
            NotMeasuredError: It did not hold in time, or the program ended before.
        """
        began = time.monotonic()
        self.read_until(done, seconds)
        return time.monotonic() - began

    def read_for(self, seconds: float) -> int:
        """Reads for so long; returns how many bytes came."""
        before, until = self.count, time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.read(min(left, 0.05))
        return self.count - before

    def seconds_to_end(self, within: float) -> float:
        """Reads as the line does until the program has ended; returns how long that took."""
        began = time.monotonic()
        while self.process.poll() is None:
            if time.monotonic() - began > within:
                raise NotMeasuredError(f"it does not end within {within:.0f} s")
            with contextlib.suppress(OSError):
                self.read(0.005)
        return time.monotonic() - began

    @property
    def echoes(self) -> bool:
        """Whether keys are echoed, as they are before and after a program of the whole screen."""
        return bool(termios.tcgetattr(self._end)[3] & termios.ECHO)

    @property
    def lines(self) -> list[str]:
        """Text on the screen now."""
        return list(self.screen.display)

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far of the program's threads that live, without what it started.

        By the scheduler, in nanoseconds: clock ticks of 10 ms charge a whole one to whoever wakes
        with the clock, as a program at rest does.
        """
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(one.read_text().split()[0]) for one in threads) / 1e9
