"""A program in a pseudo-terminal: what it writes, with the moment of each piece."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.figure import NotMeasuredError

COLUMNS, LINES = 120, 40
ENDS_WITHIN_S = 10.0
QUERY, ANSWER = b"\x1b[c", b"\x1b[?62;22c"
"""The request for what a terminal is, which all of them answer at once, and an answer."""


class Terminal:
    """Starts a program on a terminal of 120 x 40 cells; a context manager that ends it.

    Args:
        written: Called with the unix time and the bytes of every piece that was read.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: dict[str, str],
        folder: Path,
        written: Callable[[float, bytes], None] = lambda at, data: None,
    ) -> None:
        self._written = written
        self.output = bytearray()
        self._end, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.spawned_at = time.time()
        self.process = subprocess.Popen(
            command,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            cwd=folder,
            env=variables,
            start_new_session=True,
        )
        os.close(inside)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._end)

    def read(self, seconds: float) -> bool:
        """Reads what comes within a time; False once the program has closed the terminal."""
        ready, _, _ = select.select([self._end], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._end, 1 << 16)
        except OSError:
            return False
        if QUERY in data:
            os.write(self._end, ANSWER)
        self.output += data
        self._written(time.time(), data)
        return bool(data)

    def read_until(self, done: Callable[[], bool], seconds: float) -> None:
        """Reads until something holds.

        Raises:
            NotMeasuredError: It did not hold in time, or the program ended before.
        """
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise NotMeasuredError(f"nothing after {seconds:.0f} s; {self._tail()}")
            if not self.read(0.05):
                raise NotMeasuredError(f"the program ended too early; {self._tail()}")

    def type(self, keys: bytes) -> None:
        """Sends keys."""
        os.write(self._end, keys)

    def wait(self) -> float:
        """Reads to the end of the program; returns the seconds that it took from now.

        Raises:
            NotMeasuredError: It has not ended within ten seconds.
        """
        began = time.monotonic()
        while self.process.poll() is None:
            if time.monotonic() - began > ENDS_WITHIN_S:
                raise NotMeasuredError(f"it does not end; {self._tail()}")
            self.read(0.005)
        took = time.monotonic() - began
        while self.read(0.0) and select.select([self._end], [], [], 0.0)[0]:
            pass
        return took

    def _tail(self) -> str:
        return f"the last output: {bytes(self.output[-300:])!r}"
