"""Runs that are read from disk to be compared, in a thread that tells how far it is."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.text.figures import letter_of

if TYPE_CHECKING:
    from tui_eval.fold.comparison import Comparison
    from tui_eval.runs.comparing import ComparedRun


class ComparedRuns(NamedTuple):
    """All that there is to show: the runs, each but the first beside it, and where they differ."""

    runs: list[ComparedRun]
    settings: dict[str, list[Any]]

    def beside(self, place: int) -> Comparison:
        """A run that is not the first, beside the first."""
        found = self.runs[place].comparison
        assert found is not None, "the first run is compared with nothing"
        return found


class _CancelledError(Exception):
    """Nobody wants the runs any more."""


class Reading:
    """Reads and compares; `over` once there is something in `found`, or `faults` says why not.

    Args:
        paths: What people named: a run, a file in it, or a folder that holds one run.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self.place = 0
        self.share = 0.0
        self.found: ComparedRuns | None = None
        self.faults: list[str] = []
        self.over = False
        self.took_s = 0.0
        self._sizes: dict[Path, int] = {}
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._work, name="comparing", daemon=True)

    @property
    def text(self) -> str:
        """How far it is: reading B 41 %."""
        if self.place >= len(self.paths):
            return "comparing…"
        return f"reading {letter_of(self.place)} {self.share:.0%}".replace("%", " %")

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    @property
    def again(self) -> Reading | None:
        """The same runs to be read once more; None where nothing was written to them since."""
        from tui_eval.runs.opening import size_of

        is_changed = any(size_of(one) != size for one, size in self._sizes.items())
        return Reading(self.paths) if is_changed else None

    def cancel(self) -> None:
        """Ends the reading at the next row; nothing is found then."""
        self._cancelled.set()

    def _work(self) -> None:
        from tui_eval.errors import RefusedError

        began = time.monotonic()
        gc.disable()  # each collection would go through all that was read, and stop the screen
        try:
            self.found = self._compare()
        except RefusedError as error:
            self.faults = [str(fault) for fault in error.faults]
        except OSError as error:
            self.faults = [f"{self.paths[self.place]}: this cannot be read: {error.strerror}"]
        except _CancelledError:
            self.faults = ["Cancelled."]
        except Exception as error:  # the screen waits for a word, whatever went wrong
            self.faults = [f"These runs cannot be compared: {type(error).__name__}: {error}"]
        finally:
            gc.freeze()
            gc.enable()
            self.took_s = time.monotonic() - began
            self.over = True

    def _compare(self) -> ComparedRuns:
        from tui_eval.fold.compared_side import differing_settings
        from tui_eval.runs.comparing import compared, read_one
        from tui_eval.runs.opening import named_runs, size_of

        runs: list[ComparedRun] = []
        for path, run in zip(self.paths, named_runs(self.paths), strict=True):
            self.place, self.share = len(runs), 0.0
            self._sizes[run.results] = size_of(run.results)
            runs.append(read_one(path, run, self.place, self._look))
        self.place = len(runs)
        return ComparedRuns(compared(runs), differing_settings([one.side for one in runs]))

    def _look(self, share: float) -> None:
        if self._cancelled.is_set():
            raise _CancelledError
        self.share = max(self.share, share)
