"""Rows of a run that another program began, and that would have no place in it here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tui_eval.errors import Fault
from tui_eval.runs.layout import RunDir
from tui_eval.runs.row_places import example_id_of
from tui_eval.runs.scan import scan

MOST_NAMED = 5
"""Rows that cannot stay and are named."""


def misplaced_rows(run: RunDir, examples: Iterable[Any], per_example: int) -> list[Fault]:
    """Rows that would have to leave the file: of no example, or more than there are rollouts.

    Args:
        examples: The ids of the examples that there are.
    """
    ids = set(examples)
    seen: Counter[int | str] = Counter()
    faults: list[Fault] = []
    for line in scan(run.results):
        if line.row is None:
            continue
        id_, where = example_id_of(line.row), f"{run.results}:{line.number}"
        if not isinstance(id_, int | str) or id_ not in ids:
            what = f"example {id_!r} is none of the {len(ids)} that the environment has here"
            faults.append(Fault(where, what, "Give -n and the arguments that the run had"))
            continue
        seen[id_] += 1
        if seen[id_] == per_example + 1:
            what = f"example {id_!r} has more than {per_example} rows"
            faults.append(Fault(where, what, "Give -r as the run had it"))
    more = len(faults) - MOST_NAMED
    return faults if more <= 1 else [*faults[:MOST_NAMED], Fault(where, f"{more} more like these")]
