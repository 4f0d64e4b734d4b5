"""What would make a run fail once it costs something, looked for before it begins."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tui_eval.config.endpoints import EMBEDDED
from tui_eval.config.plan import PlannedEndpoint, RunPlan
from tui_eval.config.secret_values import HIDDEN
from tui_eval.config.settings import place_of
from tui_eval.config.values import is_url
from tui_eval.engine.setup.column_faults import FLAG as COLUMNS
from tui_eval.engine.setup.column_faults import column_faults
from tui_eval.engine.setup.offered_models import unknown_model
from tui_eval.engine.setup.reachability import unreachable
from tui_eval.errors import Fault, Notice
from tui_eval.processes import free_memory, private_memory
from tui_eval.runs.layout import outputs_root, unsaved_root
from tui_eval.types import ClientConfig
from tui_eval.worker.describing.info import EnvironmentInfo

INDEPENDENT = "-i/--independent-scoring"

WITHIN_S = 5.0
"""What all endpoints together may take; who has not answered by then is left alone."""

FIRST_FILES = 4096
"""Bytes for which there has to be room where a run begins."""


def environment_faults(plan: RunPlan, info: EnvironmentInfo | None) -> list[Fault]:
    """Reward functions that would fail for every rollout, and columns that no state has.

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
    where = place_of(plan.sources, "state_columns", COLUMNS)
    return faults + column_faults(plan.state_columns, info, where)


def ask_endpoints(plans: Iterable[RunPlan], notices: list[Notice]) -> list[Fault]:
    """Asks all endpoints of plans at a time, each once for each model.

    Args:
        notices: What endpoints warn of is added to these.
    """
    requested: dict[tuple[str, ...], tuple[RunPlan, PlannedEndpoint]] = {}
    for plan in plans:
        for one in plan.served_at:
            if one.url != EMBEDDED and is_url(one.url):
                key = (plan.model, plan.client_type, one.url, one.key_var, str(one.headers))
                requested.setdefault(key, (plan, one))
    found = _in_parallel([lambda one=one: _answer_of(*one) for one in requested.values()])  # type: ignore[misc]
    reported = list(dict.fromkeys(one for answers in found for one in answers))
    notices += [one for one in reported if isinstance(one, Notice)]
    return [one for one in reported if isinstance(one, Fault)]


def _answer_of(plan: RunPlan, endpoint: PlannedEndpoint) -> list[Fault | Notice]:
    faults: list[Fault | Notice] = [*unreachable(endpoint.url)]
    if faults or HIDDEN in endpoint.headers.values():
        return faults
    config = ClientConfig(
        api_key_var=endpoint.key_var, api_base_url=endpoint.url, extra_headers=endpoint.headers
    )
    return unknown_model(config, plan.client_type, plan.model, endpoint.key_var)


def _in_parallel(
    checks: Sequence[Callable[[], list[Fault | Notice]]],
) -> list[list[Fault | Notice]]:
    """What checks find within their time, in their order."""
    found: list[list[Fault | Notice]] = [[] for _ in checks]

    def run(place: int) -> None:
        found[place] = checks[place]()

    # Daemons: an endpoint that sends a byte now and then must not hold the process's end.
    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(len(checks))]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + WITHIN_S
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0.0))
    return list(found)


def worker_faults(plan: RunPlan, first: int | None) -> list[Fault]:
    """Why there are more workers than memory carries: each takes about what the first does.

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


def outputs_fault(plan: RunPlan) -> list[Fault]:
    """Why the directory of a new run cannot be made."""
    root = unsaved_root()
    if plan.save:
        root = outputs_root(plan.env_id, plan.output_dir, Path(plan.env_dir_path))
    there = root.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    why = _unwritable(there) if there.is_dir() else f"{there} is no folder"
    if not why:
        return []
    what = f"the run cannot be written here: {why}"
    return [Fault(str(root), what, elsewhere(plan))]


def elsewhere(plan: RunPlan) -> str:
    """What to do where the directory of a run cannot be written."""
    if plan.save:
        return "Name another folder with -o"
    return "Set TUI_EVAL_STATE_DIR to a folder that you can write to, or name one with -s -o"


def _unwritable(folder: Path) -> str:
    """Why nothing can be written there; empty where it can."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(bytes(FIRST_FILES))
    except OSError as error:
        return error.strerror or str(error)
    return ""
