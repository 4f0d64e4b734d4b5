"""Checks of a plan against its environment and the machine, before they cost anything."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tui_eval.config.plan import RunPlan
from tui_eval.config.settings import place_of
from tui_eval.config.values import parse_size
from tui_eval.engine.setup.endpoint_checks import ANYWAY
from tui_eval.errors import Fault, Notice, warning
from tui_eval.fold.anytime import REWARD, anytime_means
from tui_eval.fold.query.condition_parser import check_names, parse_condition
from tui_eval.fold.query.conditions import ConditionError
from tui_eval.processes import free_memory, private_memory
from tui_eval.runs.layout import RunDir, is_unsaved, outputs_root, unsaved_root
from tui_eval.runs.rescue import find_rescued
from tui_eval.runs.row import COLUMN_NAMES
from tui_eval.runs.saved_run import read_run
from tui_eval.types import RolloutInput
from tui_eval.worker.description.info import EnvironmentInfo

INDEPENDENT = "-i/--independent-scoring"
COLUMNS = "-C"

CLOSE = 0.8
"""Similarity, from 0 to 1, from which a name looks like a slip of another one."""

_STATE_KEYS = frozenset(
    {
        *RolloutInput.__annotations__, "answer", "info", "model", "sampling_args", "completion",
        "trajectory", "trajectory_id", "reward", "advantage", "metrics", "timing", "error",
        "is_completed", "is_truncated", "stop_condition", "tool_defs", "usage", "judge_response",
        "judge_usage", *COLUMN_NAMES,
    }
)  # fmt: skip
"""Keys that states of bundled classes have."""
FIRST_FILES = 4096
"""Bytes of room that a new run needs."""
MAKE_ROOM = "Make room there, or make it writable, and resume it again: nothing of it is lost"
"""The hint where a run that is there already cannot be written."""


def environment_faults(plan: RunPlan, info: EnvironmentInfo | None) -> list[Fault]:
    """Faults of reward functions that fail for every rollout.

    Args:
        info: None where the environment could not be loaded.
    """
    faults = [] if info is None else list(info.faults)
    if info is not None and plan.independent_scoring:
        where = place_of(plan.sources, "independent_scoring", INDEPENDENT)
        hint = f"Leave {INDEPENDENT} out: the rollouts of an example are then scored together"
        faults += [
            Fault(where, f"reward function {name} needs all rollouts of an example", hint)
            for name in info.group_functions
        ]
    return faults


def column_faults(plan: RunPlan, info: EnvironmentInfo | None) -> list[Fault]:
    """One fault for each column that is nearly, but not quite, the name of a key or a metric.

    Environments set keys of their own, which only a rollout shows: a column that is like no known
    key, or that the environment's code names, is no fault.

    Args:
        info: None where the environment could not be loaded.
    """
    found = []
    where = place_of(plan.sources, "state_columns", COLUMNS)
    for name in _written_nowhere(plan.state_columns, info):
        close = difflib.get_close_matches(name, _known(info), n=1, cutoff=CLOSE)
        if close:
            hint = f"Did you mean {close[0]}? {ANYWAY}"
            found.append(Fault(f"{where} {name}", "a state has no such key", hint))
    return found


def column_notices(plan: RunPlan, info: EnvironmentInfo | None) -> list[Notice]:
    """A notice of columns that may be in no state; only a rollout shows whether they are."""
    names = ", ".join(_written_nowhere(plan.state_columns, info))
    if not names or info is None:
        return []
    what = "the environment's own files name no such key of a state; a rollout may have it anyway"
    return [warning(f"-C {names}: {what}")]


def _known(info: EnvironmentInfo | None) -> frozenset[str]:
    """Keys that states of bundled classes have, and the metrics of the environment."""
    return _STATE_KEYS.union(info.metrics if info is not None else ())


def _written_nowhere(columns: Sequence[str], info: EnvironmentInfo | None) -> list[str]:
    """The columns that are neither known nor named in the environment's code."""
    unknown = [name for name in columns if name not in _known(info)]
    return [name for name in unknown if info is None or name in info.unwritten]


def until_faults(
    plan: RunPlan, info: EnvironmentInfo, run: RunDir | None, notices: list[Notice]
) -> list[Fault]:
    """Faults of the condition that is to stop a run.

    Args:
        run: The one that it resumes; None for a new one.
        notices: Gets its assumptions.
    """
    if not plan.until:
        return []
    if not plan.shuffle:
        text = "--until takes the order of the dataset as random; --shuffle makes it so"
        notices.append(Notice(text))
    where = place_of(plan.sources, "until", "--until")
    if plan.score_at_end:
        what = "no reward is known before all rollouts are generated"
        return [Fault(where, what, "Leave out -N, or --until")]
    if not info.has_more_metrics:
        try:
            check_names(parse_condition(plan.until, where), [REWARD, *info.metrics])
        except ConditionError as error:
            return error.faults
    return _outside(plan.until, where, run) if run is not None else []


def _outside(until: str, where: str, run: RunDir) -> list[Fault]:
    """Faults of rewards on disk outside of every range that has an interval."""
    state, _ = read_run(run)
    if state.run is not None:
        state.run.until = until
    means = anytime_means(state)
    found = means.unusable if means is not None else {}
    hint = "Leave the condition out: it needs rewards from 0 to 1"
    return [Fault(where, f"in the run a {name} of {why}", hint) for name, why in found.items()]


def worker_faults(plan: RunPlan, first: int | None) -> list[Fault]:
    """The fault of more workers than memory carries: each takes about what the first does.

    Args:
        first: The process id of the first, which has loaded the environment; None for none.
    """
    more = plan.worker_count - 1
    each, free = private_memory(first) if first is not None else None, free_memory()
    if plan.grows or each is None or free is None or more * each <= free:
        return []
    where = place_of(plan.sources, "num_workers", "-w/--num-workers")
    what = f"{more + 1:,} workers of {each / 1e6:,.0f} MB each do not fit into {free / 1e9:.1f} GB"
    return [Fault(where, what, f"-w {free // each + 1} would")]


def memory_faults(plan: RunPlan, workers: Iterable[int]) -> list[Fault]:
    """The fault of a limit that a worker has passed before it has begun.

    Args:
        workers: Process ids of those that have loaded the environment.
    """
    if not plan.worker_memory:
        return []
    taken = max((private_memory(one) or 0 for one in workers), default=0)
    if taken <= parse_size(plan.worker_memory):
        return []
    where = place_of(plan.sources, "worker_memory", "--worker-memory")
    what = f"a worker takes {taken / 1e6:,.0f} MB once it has loaded {plan.env_id}"
    return [Fault(where, what, "Give it more")]


def root_of(plan: RunPlan) -> Path:
    """The folder that the directory of a new run will be in."""
    if plan.save:
        return outputs_root(plan.env_id, plan.output_dir, Path(plan.env_dir_path))
    return unsaved_root()


def outputs_fault(plan: RunPlan) -> list[Fault]:
    """The fault that the directory of a new run cannot be made."""
    root = root_of(plan)
    there = root.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    why = _unwritable(there) if there.is_dir() else f"{there} is no folder"
    if not why:
        return []
    what = f"the run cannot be written here: {why}"
    return [Fault(str(root), what, elsewhere(plan))]


def room_faults(plan: RunPlan, run: RunDir) -> list[Fault]:
    """The fault that the directory in which a resume writes takes no more."""
    if plan.save and is_unsaved(run):  # it is moved before anything is written
        return outputs_fault(plan)
    needed = sum(len(line) for one in find_rescued(run) for line in (*one.rows, *one.records))
    if why := _unwritable(run.path, max(needed, 1)):
        return [Fault(str(run.path), f"the run cannot be written here: {why}", MAKE_ROOM)]
    return []


def elsewhere(plan: RunPlan) -> str:
    """The hint where the directory of a run cannot be written."""
    if plan.save:
        return "Name another folder with -o"
    return "Set TUI_EVAL_STATE_DIR to a folder that you can write to, or name one with -s -o"


def _unwritable(folder: Path, size: int = FIRST_FILES) -> str:
    """Why so many bytes cannot be written there; empty where they can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:  # leaves the folder's date as it is
            file.write(bytes(size))
    except OSError as error:
        return error.strerror or str(error)
    return ""
