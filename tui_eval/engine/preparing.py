"""Everything that must hold before the first request: checked at once, then laid out on disk."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.config.endpoints import EMBEDDED
from tui_eval.config.options import parse_values
from tui_eval.config.plan import Request, RunPlan, make_plan, plan_to_toml, read_plan
from tui_eval.engine.examples import Examples
from tui_eval.engine.prepared import Prepared
from tui_eval.engine.reaching import unreachable
from tui_eval.engine.resuming import run_to_resume, take_up
from tui_eval.environments.loading import load_environment
from tui_eval.errors import Fault, RefusedError
from tui_eval.events import RunStarted
from tui_eval.runs.layout import (
    RunDir,
    is_unsaved,
    new_run,
    outputs_root,
    unsaved_root,
)
from tui_eval.runs.lock import LockHeldError, RunLock
from tui_eval.runs.opening import read_metadata
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.unsaved import save_run
from tui_eval.runs.writer import write_atomically

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment


def prepare(request: Request, socket: str) -> Prepared:
    """Checks the whole request and makes the run's directory.

    Raises:
        RefusedError: With everything that is wrong.
    """
    notices: list[str] = []
    run = run_to_resume(request, notices)
    before = read_plan(run.plan) if run else None
    plan, faults = make_plan(request, before)
    env, examples, wrong = _environment(request, plan, before)
    faults += wrong
    if plan is not None and plan.base_url != EMBEDDED:
        faults += unreachable(plan.base_url)
    if faults or plan is None or env is None or examples is None:
        raise RefusedError(faults)
    run, lock = _make_directory(plan, run, socket)
    meta = read_metadata(run)
    write_atomically(run.plan, plan_to_toml(plan).encode())
    started = _started(plan, env, run, examples)
    prepared = Prepared(plan, env, run, lock, examples, started, notices=notices)
    if before is not None:
        prepared.time_before_ms = float(meta.get("time_ms") or 0.0)
        take_up(prepared, keep_errors=bool(request.raw.get("keep_errors")))
    done = {event.row for event in prepared.done} | prepared.journal.keys()
    prepared.todo = [row for row in range(prepared.started.total) if row not in done]
    return prepared


def _environment(
    request: Request, plan: RunPlan | None, before: RunPlan | None
) -> tuple[Environment | None, Examples | None, list[Fault]]:
    """Loads the environment also where the plan is at fault, to tell all faults at once."""
    named = plan or before
    env_id = request.env_id or (named.env_id if named else None)
    if not env_id:
        return None, None, []
    values, _ = parse_values(request.raw)
    env_args = plan.env_args if plan else values.get("env_args", {})
    folder = Path(plan.env_dir_path if plan else values.get("env_dir_path", "environments"))
    try:
        env = load_environment(env_id, environments_dir=folder, **env_args)
        most = plan.num_examples if plan else -1
        return env, Examples(env, most), []
    except RefusedError as error:
        return None, None, error.faults


def _make_directory(plan: RunPlan, run: RunDir | None, socket: str) -> tuple[RunDir, RunLock]:
    root = unsaved_root()
    if plan.save:
        root = outputs_root(plan.env_id, plan.output_dir, Path(plan.env_dir_path))
    fresh = new_run(root, plan.env_id, plan.model)
    if run is None:
        run = fresh
    elif plan.save and is_unsaved(run):
        run = save_run(run, RunDir(fresh.path.with_name(run.path.name)))
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        lock = RunLock(run.lock, socket)
        run.results.touch()
    except LockHeldError as error:
        hint = "Join it with tui-eval open"
        raise RefusedError([Fault(str(run.path), str(error), hint)]) from None
    except OSError as error:
        what = f"the run cannot be written here: {error.strerror}"
        raise RefusedError([Fault(str(run.path), what, "Name another folder with -o")]) from None
    return RunDir(run.path.resolve()), lock


def _started(plan: RunPlan, env: Environment, run: RunDir, examples: Examples) -> RunStarted:
    return RunStarted(
        seq=0,
        at=time.time(),
        path=str(run.path),
        env_id=plan.env_id,
        model=plan.model,
        base_url=plan.base_url,
        num_examples=len(examples),
        rollouts_per_example=plan.rollouts_per_example,
        total=len(examples) * plan.rollouts_per_example,
        max_concurrent=max(plan.max_concurrent, 0),
        saved=not is_unsaved(run),
        sampling_args=Cleaner().clean({**env.sampling_args, **plan.sampling_args}),
        env_args=plan.env_args,
        pass_threshold=examples.pass_threshold,
    )


def key_of(plan: RunPlan) -> list[str]:
    """The secrets that the run uses."""
    value = os.environ.get(plan.key_var) if plan.key_var else None
    return [value] if value else []
