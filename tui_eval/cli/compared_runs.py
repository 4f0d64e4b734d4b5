"""Runs that the command line names, read to be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from tui_eval.cli.report import read_run
from tui_eval.fold.comparison import compare_runs
from tui_eval.runs.comparing import read_side
from tui_eval.runs.export.comparison import ComparedRun
from tui_eval.runs.opening import named_runs
from tui_eval.text.figures import letter_of


def read_runs(paths: Sequence[Path]) -> list[ComparedRun]:
    """Reads runs and compares all but the first with the first.

    Raises:
        RefusedError: Something is no run; says all that is wrong.
    """
    found = [
        ComparedRun(run, read_side(run, read_run(run)[0]), letter_of(place))
        for place, run in enumerate(named_runs(paths))
    ]
    compared = compare_runs([one.side for one in found])
    return [found[0], *(replace(a, comparison=b) for a, b in zip(found[1:], compared, strict=True))]
