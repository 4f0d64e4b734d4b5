"""Output to a terminal, also to one that stalls for a while or is gone."""

from __future__ import annotations

import contextlib
import math
import os
import select
import termios
import time
from collections.abc import Callable
from typing import TextIO

LOOKS_AGAIN_S = 0.02
STALLS_S = 0.5
"""Seconds without progress after which a line stalls."""
POLL_INTERVAL_S = 0.1
"""Seconds between checks whether stalled output is still wanted."""


class TerminalOutput:
    """A file for the thread that writes to a terminal; its errors lead nowhere.

    The thread would die of an error, and stay in the kernel while the terminal takes nothing; in
    both cases its queue fills up, and the loop waits for room in it, deaf to signals. So the
    terminal is opened again, with writes that do not wait; where that is impossible they do.

    Args:
        written: Called by the thread that writes after each write: the bytes of it, those that
            were taken after it had waited for room, and the seconds that these took.
    """

    def __init__(self, file: TextIO, written: Callable[[int, int, float], None]) -> None:
        self._file = file
        self._written = written
        self._fd = -1
        self._until = math.inf
        self.leaves_out = self.has_left_out = False
        """Whether all output is left out from now on, and whether some was."""
        with contextlib.suppress(OSError):
            name = os.ttyname(file.fileno())
            self._fd = os.open(name, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)

    def fileno(self) -> int:
        return self._fd if self._fd >= 0 else self._file.fileno()

    def write(self, text: str) -> None:
        """Writes as long as a terminal takes it."""
        data, waited, seconds = text.encode("utf-8", "replace"), 0, 0.0
        if not self.leaves_out:
            with contextlib.suppress(OSError):
                if self._fd < 0:
                    self._file.write(text)
                else:
                    waited, seconds = self._write(data)
        self._written(len(data), waited, seconds)

    def _write(self, data: bytes) -> tuple[int, float]:
        """Writes all data, unless that is no longer wanted.

        Returns:
            The bytes written since there was no room first, and the seconds of that.
        """
        waits, waited, began, taken_at = False, 0, 0.0, time.monotonic()
        while data:
            try:
                taken = os.write(self._fd, data)
                data = data[taken:]
                waits, now = False, time.monotonic()
                if now - taken_at > STALLS_S:  # that says nothing of how much it takes at a time
                    waited, began = 0, now
                elif began:
                    waited += taken
                taken_at = now
            except BlockingIOError:
                now = time.monotonic()
                began = began or now
                if self.leaves_out or now > self._until:
                    self.has_left_out = True
                    break
                if waits:  # it may have room for less than the next character
                    time.sleep(LOOKS_AGAIN_S)
                select.select([], [self._fd], [], POLL_INTERVAL_S)
                waits = True
        return waited, time.monotonic() - began if began else 0.0

    def end_within(self, seconds: float) -> None:
        """Leaves out the output that the terminal has not taken after so long."""
        self._until = min(self._until, time.monotonic() + seconds)

    def begin(self) -> None:
        """Waits for all output again."""
        self._until, self.has_left_out = math.inf, False

    def flush(self) -> None:
        if self._fd < 0:
            with contextlib.suppress(OSError):
                self._file.flush()

    def write_last(self, text: str, in_place: bool) -> None:
        """Writes at once; `in_place`: instead of the output that was not taken."""
        with contextlib.suppress(OSError, termios.error):
            if in_place and self._fd >= 0:
                termios.tcflush(self._fd, termios.TCOFLUSH)
            os.write(self.fileno(), text.encode())

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
