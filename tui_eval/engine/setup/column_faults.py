"""State columns that are slips of a name that is known before any rollout."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from tui_eval.engine.setup.offered_models import ANYWAY
from tui_eval.errors import Fault, Notice, warning
from tui_eval.runs.row import COLUMN_NAMES
from tui_eval.types import RolloutInput
from tui_eval.worker.describing.info import EnvironmentInfo

FLAG = "-C"

CLOSE = 0.8
"""From which likeness on a name looks like a slip of another one, from 0 to 1."""

_STATE_KEYS = frozenset(
    {
        *RolloutInput.__annotations__, "answer", "info", "model", "sampling_args", "completion",
        "trajectory", "trajectory_id", "reward", "advantage", "metrics", "timing", "error",
        "is_completed", "is_truncated", "stop_condition", "tool_defs", "usage", "judge_response",
        "judge_usage", *COLUMN_NAMES,
    }
)  # fmt: skip
"""Keys that states of bundled classes have."""


def column_faults(
    columns: Sequence[str], info: EnvironmentInfo | None, where: str = FLAG
) -> list[Fault]:
    """One fault for each column that is nearly, but not quite, the name of a key or a metric.

    Environments set keys of their own, which only a rollout shows: a column that is like nothing
    known, or that the environment's code writes out, is no fault.

    Args:
        info: None where the environment could not be loaded.
        where: Where faults are reported.
    """
    found = []
    for name in _written_nowhere(columns, info):
        close = difflib.get_close_matches(name, _known(info), n=1, cutoff=CLOSE)
        if close:
            hint = f"Did you mean {close[0]}? {ANYWAY}"
            found.append(Fault(f"{where} {name}", "a state has no such key", hint))
    return found


def column_notices(columns: Sequence[str], info: EnvironmentInfo | None) -> list[Notice]:
    """A sentence on columns that may be in no state; only a rollout shows whether they are."""
    names = ", ".join(_written_nowhere(columns, info))
    if not names or info is None:
        return []
    what = "the environment's own files name no such key of a state; a rollout may have it anyway"
    return [warning(f"-C {names}: {what}")]


def _known(info: EnvironmentInfo | None) -> frozenset[str]:
    """Keys that states of bundled classes have, and the metrics of the environment."""
    return _STATE_KEYS.union(info.metrics if info is not None else ())


def _written_nowhere(columns: Sequence[str], info: EnvironmentInfo | None) -> list[str]:
    """The columns that are neither known nor written out in the environment's code."""
    unknown = [name for name in columns if name not in _known(info)]
    return [name for name in unknown if info is None or name in info.unwritten]
