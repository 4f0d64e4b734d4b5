"""Reads runs from disk for a comparison, in a thread that reports its progress."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.text.figures import letter_of

if TYPE_CHECKING:
    from tui_eval.runs.compared_runs import ComparedRun


class _CancelledError(Exception):
    """The reading was cancelled."""


class Reading:
    """Reads and compares; `over` once `runs` or `faults` are set.

    Args:
        paths: Each a run, a file in it, or a folder with one run.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self.place = 0
        self.share = 0.0
        self.runs: Sequence[ComparedRun] = ()
        """All runs, each compared with the first; empty until all were read."""
        self.settings: dict[str, list[Any]] = {}
        """The settings that differ."""
        self.faults: list[str] = []
        self.over = False
        self.took_s = 0.0
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._work, name="comparing", daemon=True)

    @property
    def text(self) -> str:
        """The progress: reading B 41 %."""
        if self.place >= len(self.paths):
            return "comparing…"
        return f"reading {letter_of(self.place)} {self.share:.0%}".replace("%", " %")

    def start(self) -> None:
        self._thread.start()

    @property
    def again(self) -> Reading | None:
        """A new reading of the same runs; None where these have not changed."""
        from tui_eval.runs.saved_run import size_of

        is_changed = any(size_of(one.run.results) != one.size for one in self.runs)
        return Reading(self.paths) if is_changed else None

    def cancel(self) -> None:
        """Ends the reading at the next row, without a result."""
        self._cancelled.set()

    def _work(self) -> None:
        from tui_eval.errors import RefusedError

        began = time.monotonic()
        gc.disable()  # each collection would go through all that was read, and stop the screen
        try:
            from tui_eval.fold.compare.compared_side import differing_settings
            from tui_eval.runs.compared_runs import read_runs

            runs = read_runs(self.paths, self._look)
            self.settings = differing_settings([one.side for one in runs])
            self.runs = runs
        except RefusedError as error:
            self.faults = [str(fault) for fault in error.faults]
        except OSError as error:
            self.faults = [f"{self.paths[self.place]}: this cannot be read: {error.strerror}"]
        except _CancelledError:
            self.faults = ["Cancelled."]
        except Exception as error:  # the screen waits for `over`, whatever went wrong
            self.faults = [f"These runs cannot be compared: {type(error).__name__}: {error}"]
        finally:
            gc.freeze()
            gc.enable()
            self.took_s = time.monotonic() - began
            self.over = True

    def _look(self, place: int, share: float) -> None:
        if self._cancelled.is_set():
            raise _CancelledError
        self.place, self.share = place, share
