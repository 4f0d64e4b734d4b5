"""The rollouts of a command: a run, a filter and a column to sort by."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from tui_eval.cli.console.report import print_damage
from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.columns import Notes
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.notes import read_notes
from tui_eval.runs.saved_run import named_run, read_run
from tui_eval.runs.selection import SearchProgress, select_rows
from tui_eval.runs.unsaved import newest_run


class ChosenRows(msgspec.Struct, frozen=True):
    """A run on disk, and its requested rows in their order."""

    run: RunDir
    state: RunState
    notes: Notes
    rows: list[int]


def choose(path: Path | None, where: str, sort: str = "") -> ChosenRows:
    """Reads a run, the newest one without a path, and chooses among its rows.

    Raises:
        RefusedError: There is no run, or what was requested makes no sense.
    """
    run = newest_run() if path is None else named_run(path)
    if run is None:
        hint = "Make one: tui-eval demo"
        raise RefusedError(
            [Fault("run", "there is none under ./outputs, nor an unsaved one", hint)]
        )
    state, _ = read_run(run)
    print_damage(state)
    notes = read_notes(run)
    revealing = sys.stderr.isatty()
    progressed = _publish if revealing else lambda _: None
    rows = select_rows(run, state, where, sort, notes=notes, progressed=progressed)
    if revealing:
        print("\r\x1b[K", end="", file=sys.stderr)
    return ChosenRows(run, state, notes, rows)


def _publish(progress: SearchProgress) -> None:
    if progress.searched % 50 == 0:
        text = f"searching {progress.searched:,} of {progress.total:,}"
        print(f"\r{text}", end="", file=sys.stderr, flush=True)
