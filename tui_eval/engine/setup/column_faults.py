"""State columns that are slips of a name that is known before any rollout."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.engine.setup.offered_models import ANYWAY
from tui_eval.engine.setup.scoring_faults import rubrics_of
from tui_eval.environments.env_group import EnvGroup
from tui_eval.errors import Fault, Notice, is_ours, warning
from tui_eval.rubrics.calling import metric_names
from tui_eval.runs.row import COLUMN_NAMES
from tui_eval.types import RolloutInput

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment

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
    columns: Sequence[str], env: Environment | None, where: str = FLAG
) -> list[Fault]:
    """One fault for each column that is nearly, but not quite, the name of a key or a metric.

    Environments set keys of their own, which only a rollout shows: a column that is like nothing
    known, or that the environment's code writes out, is no fault.

    Args:
        env: None where it could not be loaded.
        where: Where faults are reported.
    """
    found = []
    for name in _written_nowhere(columns, env):
        close = difflib.get_close_matches(name, _known(env), n=1, cutoff=CLOSE)
        if close:
            hint = f"Did you mean {close[0]}? {ANYWAY}"
            found.append(Fault(f"{where} {name}", "a state has no such key", hint))
    return found


def column_notices(columns: Sequence[str], env: Environment | None) -> list[Notice]:
    """A sentence on columns that may be in no state; only a rollout shows whether they are."""
    names = ", ".join(_written_nowhere(columns, env))
    if not names or env is None:
        return []
    what = "the environment's own files name no such key of a state; a rollout may have it anyway"
    return [warning(f"-C {names}: {what}")]


def _known(env: Environment | None) -> frozenset[str]:
    """Keys that states of bundled classes have, and the metrics of the environment."""
    rubrics = rubrics_of(env) if env is not None else ()
    return _STATE_KEYS.union(*(metric_names(rubric.funcs) for rubric in rubrics))


def _written_nowhere(columns: Sequence[str], env: Environment | None) -> list[str]:
    """The columns that are neither known nor written out in the environment's code."""
    unknown = [name for name in columns if name not in _known(env)] if columns else []
    code = "".join(_sources(env)) if unknown and env is not None else ""
    return [name for name in unknown if not any(f"{quote}{name}{quote}" in code for quote in "\"'")]


def _sources(env: Environment) -> Iterator[str]:
    """The text of each file of people's that holds a class or a reward function."""
    for member in env.members if isinstance(env, EnvGroup) else ():
        yield from _sources(member)
    rubrics = list(rubrics_of(env))
    parts: list[Any] = [kind for one in (env, *rubrics) for kind in type(one).__mro__]
    parts += [func for rubric in rubrics for func in rubric.funcs]
    files: set[str | None] = set()
    for part in parts:
        with contextlib.suppress(TypeError):  # written in C, or no function
            files.add(inspect.getsourcefile(part))
    for file in files:
        if file is not None and not is_ours(file):
            with contextlib.suppress(OSError):
                yield Path(file).read_text("utf-8-sig", "replace")
