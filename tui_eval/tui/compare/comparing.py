"""Runs that are read from disk to be compared, in a thread that tells how far it is."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tui_eval.text.figures import letter_of

if TYPE_CHECKING:
    from tui_eval.fold.compared_side import Side
    from tui_eval.fold.comparison import Comparison, PairedExample
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.runs.comparing import ExampleContent
    from tui_eval.runs.layout import RunDir

ROWS_SHARE = 0.3
"""Of the time that a run takes: its rows, before what its examples ask."""


class ComparedRun(msgspec.Struct, frozen=True):
    """One run that was read.

    Args:
        name: What people call it: the last part of the path that they named.
        questions: How the question of each example begins, by the example's place.
    """

    letter: str
    name: str
    run: RunDir
    side: Side
    questions: dict[int, str]

    @property
    def state(self) -> RunState:
        """The run's fold."""
        return self.side.state

    def read(self, row: int) -> Rollout | None:
        """A rollout from disk, for a thread; None where it cannot be read."""
        from tui_eval.runs.opening import read_rollout

        return read_rollout(self.run, row, self.state.offset[row], self.state.length[row])


class ComparedRuns(msgspec.Struct, frozen=True):
    """All that there is to show: `comparisons` has every run but the first, beside the first."""

    runs: list[ComparedRun]
    comparisons: list[Comparison]
    settings: dict[str, list[Any]]

    def question(self, example: PairedExample) -> str:
        """How the question of an example begins."""
        first = self.runs[0]
        return first.questions.get(example.first_rows[0] // first.state.per_example, "")


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
        self._began = 0.0
        self._sizes: dict[RunDir, int] = {}
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
        self._began = time.monotonic()
        self._thread.start()

    @property
    def again(self) -> Reading | None:
        """The same runs to be read once more; None where nothing was written to them since."""
        changed = [one for one in self._sizes if _size(one) != self._sizes[one]]
        return Reading(self.paths) if changed else None

    def cancel(self) -> None:
        """Ends the reading at the next row; nothing is found then."""
        self._cancelled.set()

    def _work(self) -> None:
        from tui_eval.errors import RefusedError

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
            self.took_s = time.monotonic() - self._began
            self.over = True

    def _compare(self) -> ComparedRuns:
        from tui_eval.fold.compared_side import differing_settings
        from tui_eval.fold.comparison import compare_runs
        from tui_eval.runs.opening import named_runs

        runs = [self._read(place, run) for place, run in enumerate(named_runs(self.paths))]
        self.place = len(runs)
        sides = [one.side for one in runs]
        return ComparedRuns(runs, compare_runs(sides), differing_settings(sides))

    def _read(self, place: int, run: RunDir) -> ComparedRun:
        from tui_eval.runs.comparing import read_contents, side_of

        self.place, self.share = place, 0.0
        state = self._rows(run)
        examples = max(state.total // state.per_example, 1)
        contents: list[tuple[int, ExampleContent]] = []
        questions: dict[int, str] = {}
        for at, content in read_contents(run, state):
            self._look(ROWS_SHARE + (1 - ROWS_SHARE) * len(contents) / examples)
            contents.append((at, content))
            questions[at] = content.question
        named = self.paths[place]
        is_own = named.is_dir() or run.place != run.path
        name = named.name if named.name and is_own else run.path.resolve().name
        return ComparedRun(
            letter_of(place), name, run, side_of(run, state, iter(contents)), questions
        )

    def _rows(self, run: RunDir) -> RunState:
        from tui_eval.events import RolloutFinished, RunFinished
        from tui_eval.fold.run_state import RunState
        from tui_eval.runs.lock import holder
        from tui_eval.runs.opening import saved_events

        held = holder(run.lock)
        self._sizes[run] = _size(run)
        size = max(self._sizes[run], 1)
        state = RunState()
        for event in saved_events(run):
            if isinstance(event, RolloutFinished):
                self._look(ROWS_SHARE * min(event.offset / size, 1.0))
            if held is None or not isinstance(event, RunFinished):
                state.apply(event)
        return state

    def _look(self, share: float) -> None:
        if self._cancelled.is_set():
            raise _CancelledError
        self.share = max(self.share, share)


def _size(run: RunDir) -> int:
    """Bytes of a run's results; 0 where there are none."""
    try:
        return run.results.stat().st_size
    except OSError:
        return 0
