"""Stamps of results files: whether one changed, and when it is read again."""

from __future__ import annotations

import time
from typing import NamedTuple

from tui_eval.runs.layout import RunDir
from tui_eval.runs.run_info import modified

SETTLED_S = 1.0
"""A file that another program writes again from its beginning is read when it rests for so long,"""
PATIENCE_S = 5.0
"""or after so long, if it never does."""


class Stamp(NamedTuple):
    """Size, time of change and inode of a file."""

    size: int
    changed_ns: int
    inode: int


def stamp_of(run: RunDir) -> Stamp | None:
    """The stamp of a run's results; None where there are none."""
    try:
        status = run.results.stat()
    except OSError:
        return None
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)


class Settling:
    """The wait for results that are written again; our own are replaced by a whole file."""

    def __init__(self, run: RunDir) -> None:
        self._run = run
        self._since = 0.0

    def is_over(self) -> bool:
        """Whether the file is to be read now; the wait begins with the first call."""
        now = time.monotonic()
        self._since = self._since or now
        is_whole = self._run.is_ours or time.time() - modified(self._run.results) > SETTLED_S
        if not is_whole and now - self._since < PATIENCE_S:
            return False
        self.end()
        return True

    def end(self) -> None:
        """Ends the wait: the file only grows."""
        self._since = 0.0
