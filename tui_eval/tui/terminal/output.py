"""What is written to a terminal, also to one that takes nothing for a while or is gone."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import time
from collections.abc import Callable
from typing import TextIO

STALLS_AFTER_S = 1.0
"""So long a terminal may take nothing before what is written to it is left out."""
LOOKS_AGAIN_S = 0.02


class TerminalOutput:
    """A file for the thread that writes to a terminal; its errors lead nowhere.

    The thread would die of an error, and stay in the kernel while the terminal takes nothing; in
    both cases its queue fills up, and the loop waits for room in it, deaf to signals. So the
    terminal is opened anew, with writes that do not wait; where that cannot be they do.

    Args:
        file: Where the terminal is.
        stalled: Called by the thread that writes when the terminal takes no more. From then on
            all is left out until `flows` is called; `has_left_out` stays.
    """

    def __init__(self, file: TextIO, stalled: Callable[[], None]) -> None:
        self._file = file
        self._stalled = stalled
        self._fd = -1
        self.has_stalled = self.has_left_out = False
        with contextlib.suppress(OSError):
            name = os.ttyname(file.fileno())
            self._fd = os.open(name, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)

    def fileno(self) -> int:
        """The terminal's number."""
        return self._fd if self._fd >= 0 else self._file.fileno()

    def write(self, text: str) -> None:
        """Writes as far as there is a terminal that takes it."""
        if self.has_stalled:
            return
        with contextlib.suppress(OSError):
            if self._fd < 0:
                self._file.write(text)
            elif not self._takes(text.encode("utf-8", "replace")):
                self.has_stalled = self.has_left_out = True
                self._stalled()

    def _takes(self, data: bytes) -> bool:
        """Writes all there is; False where the terminal takes nothing for too long."""
        until, has_waited = time.monotonic() + STALLS_AFTER_S, False
        while data:
            try:
                data = data[os.write(self._fd, data) :]
                until, has_waited = time.monotonic() + STALLS_AFTER_S, False
            except BlockingIOError:
                if time.monotonic() > until:
                    return False
                if has_waited:  # it may have room for less than the next character
                    time.sleep(LOOKS_AGAIN_S)
                select.select([], [self._fd], [], STALLS_AFTER_S)
                has_waited = True
        return True

    def flush(self) -> None:
        """Flushes as far as there is a terminal."""
        if self._fd < 0:
            with contextlib.suppress(OSError):
                self._file.flush()

    def flows(self) -> None:
        """The terminal takes something again."""
        self.has_stalled = False

    def write_last(self, text: str) -> None:
        """Writes at once; where nothing is taken, in place of what was not taken before."""
        data, fd = text.encode(), self.fileno()
        with contextlib.suppress(OSError, termios.error):
            if self._fd >= 0 and not self.has_stalled and self._takes(data):
                return
            if self._fd >= 0:
                termios.tcflush(fd, termios.TCOFLUSH)
            os.write(fd, data)

    def close(self) -> None:
        """Lets go of the terminal."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
