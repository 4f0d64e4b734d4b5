"""Lines of engine.log: what is printed has its time and its rollout in front of each line."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

_LINE = re.compile(rb"^(?=[^\n])", re.MULTILINE)


class LogLines:
    """The end of a log. Who prints may do so in bits, several rollouts at once.

    Args:
        put: Appends to the log.
    """

    def __init__(self, put: Callable[[bytes], object]) -> None:
        self._put = put
        self._lock = threading.RLock()
        self._missing, self._why = 0, ""
        self._is_within = False
        self._whose: int | None = None
        """Of which rollout the last line is, where it has not ended."""
        self._cut: set[int | None] = set()
        """Rollouts whose last line was ended by somebody else: the end that they print is late."""

    def print(self, data: bytes, row: int | None) -> None:
        """Appends what was printed, which may be part of a line.

        Args:
            row: Of the rollout whose code did; None for others.
        """
        with self._lock:
            begun = b""
            if self._is_within and row != self._whose:
                self._cut.add(self._whose)
                self._is_within, begun = False, b"\n"
            if row in self._cut:
                self._cut.discard(row)
                data = data.removeprefix(b"\n")
            if self._is_within:
                begun, end, data = data.partition(b"\n")
                begun += end
                self._is_within = not end
            if data:
                self._is_within, self._whose = not data.endswith(b"\n"), row
                data = _LINE.sub(_stamp(row), data)
            self._append(begun + data)

    def log(self, record: bytes) -> None:
        """Appends whole lines as they are."""
        with self._lock:
            self._append(b"\n" + record if self._is_within else record)
            self._is_within = False

    def _append(self, data: bytes) -> None:
        """Appends; what the disk refuses is lost, and who printed it goes on."""
        missing = b""
        if self._missing:
            text = f"{self._missing:,} bytes could not be written here: {self._why}\n"
            missing = b"\n" + _stamp(None) + text.encode()
        try:
            self._put(missing + data)
            self._missing = 0
        except OSError as error:
            self._missing += len(data)
            self._why = error.strerror or str(error)


def _stamp(row: int | None) -> bytes:
    now = time.time()
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    return f"{date},{int(now % 1 * 1000):03d} PRINT{place(row)} ".encode()


def place(row: int | None) -> str:
    """How a line of the log names the rollout that it belongs to, by its row."""
    return "" if row is None else f"[{row}]"
