"""Everything that must hold before the first request: checked at once, then laid out on disk."""

from __future__ import annotations

import importlib.metadata
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.config.endpoints import EMBEDDED
from tui_eval.config.options import NEWEST, parse_values
from tui_eval.config.plan import Request, RunPlan, make_plan, plan_to_toml, read_plan
from tui_eval.engine.examples import Examples
from tui_eval.engine.reaching import unreachable
from tui_eval.environments.loading import load_environment
from tui_eval.errors import Fault, RefusedError
from tui_eval.events import RolloutFinished, RunStarted
from tui_eval.messages import to_messages
from tui_eval.runs.journal import read_journal
from tui_eval.runs.layout import (
    RunDir,
    is_unsaved,
    new_run,
    outputs_root,
    saved_roots,
    unsaved_root,
)
from tui_eval.runs.lock import LockHeldError, RunLock
from tui_eval.runs.opening import find_run, read_metadata
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.repair import repair
from tui_eval.runs.scan import scan
from tui_eval.runs.unsaved import Incomplete, incomplete_runs, save_run
from tui_eval.runs.writer import write_atomically
from tui_eval.state import State

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment


@dataclass(slots=True)
class Prepared:
    """A run that can begin.

    Args:
        done: Rows that are on disk already.
        todo: Places of the rollouts to generate, in order.
        journal: Generated rollouts that wait for their group, by place.
        saved_members: Rollouts that are on disk, of groups that are not complete.
        notices: Sentences for people.
    """

    plan: RunPlan
    env: Environment
    run: RunDir
    lock: RunLock
    examples: Examples
    started: RunStarted
    done: list[RolloutFinished] = field(default_factory=list)
    todo: list[int] = field(default_factory=list)
    journal: dict[int, dict[str, Any]] = field(default_factory=dict)
    saved_members: dict[int, State] = field(default_factory=dict)
    time_before_ms: float = 0.0
    notices: list[str] = field(default_factory=list)

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The definitions of the environment's tools, if it has any."""
        return [tool.model_dump() for tool in self.env.tool_defs or []] or None

    @property
    def env_version(self) -> str | None:
        """Version of the environment's package, if it is installed as one."""
        try:
            return importlib.metadata.version(self.plan.env_id.split("/")[-1].split("@")[0])
        except (importlib.metadata.PackageNotFoundError, ValueError):
            return None

    def fresh_state(self, row: int) -> State:
        """A state of a rollout that has not begun."""
        example = self.examples.input(row // self.plan.rollouts_per_example)
        return State(input=example, prompt=to_messages(example["prompt"]))


def prepare(request: Request, socket: str) -> Prepared:
    """Checks the whole request and makes the run's directory.

    Raises:
        RefusedError: With everything that is wrong.
    """
    notices: list[str] = []
    run = _run_to_resume(request, notices)
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
        _take_up(prepared, keep_errors=bool(request.raw.get("keep_errors")))
    done = {event.row for event in prepared.done} | prepared.journal.keys()
    prepared.todo = [row for row in range(prepared.started.total) if row not in done]
    return prepared


def _run_to_resume(request: Request, notices: list[str]) -> RunDir | None:
    asked = request.resume_path or request.raw.get("resume")
    if not asked:
        return None
    if asked != NEWEST:
        return find_run(Path(asked))
    plan, _ = make_plan(request)
    roots = saved_roots(Path(plan.env_dir_path)) if plan else saved_roots()
    if plan is not None and plan.output_dir:
        roots.append(Path(plan.output_dir))
    candidates = incomplete_runs(roots)
    for one in candidates:
        if plan is not None and _matches(one, plan, request.raw):
            kind = "unsaved run" if one.unsaved else "run"
            notices.append(f"Resuming the {kind} {one.run.path}: {one.done} of {one.total} done")
            return one.run
    notices.append("No incomplete run matches; starting a new one.")
    for one in candidates:
        kind = ", unsaved" if one.unsaved else ""
        notices.append(
            f"Incomplete: {one.env_id} with {one.model}, {one.done} of {one.total}{kind}: "
            f"{one.run.path}"
        )
    return None


def _matches(one: Incomplete, plan: RunPlan, raw: dict[str, Any]) -> bool:
    asked_r = plan.rollouts_per_example if raw.get("rollouts_per_example") else None
    return (
        one.env_id == plan.env_id
        and one.model == plan.model
        and asked_r in (None, one.rollouts_per_example)
        and one.run.plan.exists()
    )


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


def _take_up(prepared: Prepared, keep_errors: bool) -> None:
    plan = prepared.plan
    repaired = repair(
        prepared.run,
        rollouts_per_example=plan.rollouts_per_example,
        examples=len(prepared.examples),
        positions=prepared.examples.positions(),
        keep_errors=keep_errors,
    )
    prepared.done = repaired.kept
    prepared.notices += repaired.dropped
    done = {event.row for event in prepared.done}
    if prepared.env.rubric.has_group_funcs:
        records = read_journal(prepared.run)
        prepared.journal = {
            row: record
            for row, record in records.items()
            if row not in done and row < prepared.started.total
        }
        _take_up_members(prepared)
    else:
        prepared.run.journal.unlink(missing_ok=True)


def _take_up_members(prepared: Prepared) -> None:
    """States of saved rollouts whose group has members left to do."""
    size = prepared.plan.rollouts_per_example
    places = {event.offset: event.row for event in prepared.done}
    members: dict[int, int] = {}
    for row in places.values():
        members[row // size] = members.get(row // size, 0) + 1
    for line in scan(prepared.run.results):
        row = places.get(line.offset, -1)
        if row < 0 or line.row is None or members[row // size] == size:
            continue
        state = prepared.fresh_state(row)
        state["completion"] = to_messages(line.row.get("completion") or [])
        state["reward"] = line.row.get("reward")
        state["metrics"] = line.row.get("metrics") or {}
        if line.row.get("error"):
            state["error"] = RuntimeError("errored in an earlier session")
        prepared.saved_members[row] = state


def key_of(plan: RunPlan) -> list[str]:
    """The secrets that the run uses."""
    value = os.environ.get(plan.key_var) if plan.key_var else None
    return [value] if value else []
