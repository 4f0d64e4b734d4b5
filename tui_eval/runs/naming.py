"""Which run a path on the command line means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.layout import RunDir, runs_below
from tui_eval.runs.opening import find_run, results_files

MOST_NAMED = 5


def named_run(path: Path) -> RunDir:
    """The run that a path names: a run, a file in it, or a folder of results that holds one run.

    Raises:
        RefusedError: There is no run, or there are several.
    """
    try:
        return find_run(path)
    except RefusedError:
        below = runs_below(path)
        if not below or results_files(path):
            raise
        if len(below) == 1:
            return below[0]
    hint = "Name one: " + ", ".join(str(one.path) for one in below[:MOST_NAMED])
    fault = Fault(str(path), f"this folder holds {len(below)} runs", hint)
    raise RefusedError([fault])


def named_runs(paths: Sequence[Path]) -> list[RunDir]:
    """The runs that paths name.

    Raises:
        RefusedError: Something is no run; says all that is wrong.
    """
    found: list[RunDir] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            found.append(named_run(path))
        except RefusedError as error:
            faults += error.faults
    if faults:
        raise RefusedError(faults)
    return found
