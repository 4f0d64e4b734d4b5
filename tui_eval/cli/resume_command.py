"""The command that resumes a run or several evaluations, as it can be pasted."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.config.options import BUDGETS, BY_NAME, NO_BUDGET, TYPED_KEY_VAR
from tui_eval.errors import RefusedError
from tui_eval.events import OUT_OF_BUDGET
from tui_eval.runs.layout import RunDir
from tui_eval.stats.cost import budget_spent

if TYPE_CHECKING:
    from tui_eval.config.plan import RunPlan
    from tui_eval.fold.run_state import RunState
    from tui_eval.runs.unsaved import Incomplete

AGENT = "osmosis-agent"
"""Environment of the runs of `tui-eval agent`; the agent loop is behind an `@`."""


def is_of_agent(env_id: str) -> bool:
    """Whether an environment is that of an agent loop."""
    return env_id.partition("@")[0] == AGENT


def newest_here(is_sought: Callable[[str], bool]) -> tuple[Incomplete | None, str]:
    """The newest incomplete run that was begun in this folder.

    For a command that names no environment; where one is named, the engine's `resumed_run` looks
    for the run, and says why it has its own.

    Args:
        is_sought: Whether a run of this environment is.

    Returns:
        The run, and where there is none, a sentence on one that is at work or was begun elsewhere,
        if there is.
    """
    from tui_eval.runs.run_info import read_requested
    from tui_eval.runs.unsaved import incomplete_runs

    another = ""
    for one in incomplete_runs(all_of_them=True):
        requested = read_requested(one.run)
        unfit = not requested or requested.get("given_inputs") or one.is_complete
        if unfit or not is_sought(one.env_id):
            continue
        folder = requested.get("folder")
        if not one.at_work and (not one.unsaved or folder == str(Path.cwd())):
            return one, ""
        how = f"is resumed with {resuming(one.env_id, one.run)}"
        if one.at_work:
            how = f"is at work: tui-eval open {shlex.quote(str(one.run.path))}"
        which = f"One that was begun in {folder}" if folder else "Another one"
        another = another or f". {which} {how}"
    return None, another


def resuming(env_id: str, run: RunDir) -> str:
    """The command that resumes a run."""
    command = "agent" if is_of_agent(env_id) else "run"
    return f"tui-eval {command} --resume {shlex.quote(str(run.path.absolute()))}"


def resume_lines(run: RunDir, status: str) -> Iterator[str]:
    """Lines on resuming a run with this `status`; none where it cannot be resumed."""
    from tui_eval.config.plan import read_plan

    try:
        plan = read_plan(run.plan)
    except RefusedError:
        return
    if plan.given_inputs:
        yield f"Resume: give this directory to generate() as results_path: {run.path.absolute()}"
        return
    yield f"Resume: {resuming(plan.env_id, run)}"
    if again := _secrets_of(plan):
        yield f"Add what is secret and not kept: {' '.join(again)}"
    if status == OUT_OF_BUDGET:
        yield _without([name for name in BUDGETS if getattr(plan, name) is not None])


def _without(names: Sequence[str]) -> str:
    """A sentence on lifted budgets, with their names where known."""
    flags = " and ".join(BY_NAME[name].shown for name in names) or "a budget"
    return f"That is without {flags}. To have one, type it again; what is spent counts."


def _secrets_of(plan: RunPlan) -> list[str]:
    """Options beside the path that no file has."""
    from tui_eval.config.resumed_endpoints import needed_again
    from tui_eval.config.secret_values import HIDDEN, hidden_names

    tables = {"-a": plan.env_args, "-x": plan.extra_env_kwargs, "-S": plan.sampling_args}
    words = [f"{flag} JSON" for flag, table in tables.items() if any(hidden_names(table, ""))]
    words += needed_again(plan)
    if HIDDEN in (plan.heartbeat_url or ""):
        words.append("--heartbeat-url URL")
    if any(one.key_var == TYPED_KEY_VAR for one in plan.served_at):
        words.append("--api-key KEY")
    return words


def suite_resume_lines(
    file: Path, words: Sequence[str], ended: str, runs: Sequence[RunState | None]
) -> Iterator[str]:
    """Lines on resuming the evaluations of a file.

    Args:
        words: Further options of the command.
        ended: Common end of all of them.
        runs: State of each on disk; None where it never began.
    """
    lifted = _own_budgets_spent(runs)
    for name in lifted:
        words = [*words, BY_NAME[name].flags[0], NO_BUDGET]
    yield f"Resume: {shlex.join(['tui-eval', 'run', short_path(file), '--resume', *words])}"
    if ended == OUT_OF_BUDGET:
        yield _without(lifted)


def _own_budgets_spent(runs: Sequence[RunState | None]) -> list[str]:
    """Budgets of the file that evaluations have reached and would stop at again."""
    from tui_eval.runs.run_info import read_requested

    found: dict[str, None] = {}
    for state in runs:
        if state is None or state.run is None or state.finished == state.total:
            continue
        requested = read_requested(RunDir(Path(state.run.path)))
        for name in BUDGETS:
            limit: Any = requested.get(name)
            if limit is not None and budget_spent(state.tokens, state.cost, **{name: limit}):
                found[name] = None
    return list(found)


def short_path(path: Path) -> str:
    """The shortest form of a path here."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
