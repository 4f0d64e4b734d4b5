"""A run that a program requests: checked and prepared on disk like any other."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from pydantic import ValidationError

from tui_eval.config.adopted_plan import plan_to_resume
from tui_eval.config.compatibility import ARGUMENT, call_faults, continued_faults
from tui_eval.config.plan import RunPlan, read_plan
from tui_eval.config.secret_values import hidden_names
from tui_eval.engine.limits.limits import open_file_notices
from tui_eval.engine.setup.prepare import (
    cannot_write,
    initialize_run,
    make_directory,
    run_started,
)
from tui_eval.engine.setup.prepared import LoadedHere, Prepared
from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.layout import RunDir, is_unsaved
from tui_eval.runs.plain_json import Cleaner
from tui_eval.types import ClientConfig, RolloutInput
from tui_eval.worker.description.describe import describe
from tui_eval.worker.description.info import Wanted
from tui_eval.worker.examples import Examples, GivenExamples, read_table

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment
    from tui_eval.environments.evaluation import GenerateRequest

log = logging.getLogger("tui_eval.engine")

_COMPARED = {"model", "base_url", "env_args", "sampling_args", "num_examples",
             "rollouts_per_example"}  # fmt: skip
ELSEWHERE = "Name another folder as results_path, or set TUI_EVAL_STATE_DIR"


def prepare_call(env: Environment, request: GenerateRequest, base_url: str) -> Prepared:
    """Checks a program's request and makes the run's directory, or resumes the one there.

    Args:
        base_url: Of the model's endpoint, for the record.

    Raises:
        RefusedError: With everything that is wrong.
    """
    run = RunDir(Path(request.results_path)) if request.results_path is not None else None
    left = [] if run is None else continued_faults(run, "Name that one as results_path")
    if faults := [*_worker_faults(env, request), *left]:
        raise RefusedError(faults)
    before = _before(run, env, request, base_url) if run is not None and run.is_run() else None
    plan = _plan(env, request, base_url, run, before)
    examples = _examples(env, request)
    plan.rollouts_per_example = examples.per_example
    plan.groups = examples.groups
    wanted = Wanted(looks=False)
    if run is not None and before is not None:
        wanted = replace(wanted, resumes=str(run.path), digest_before=before.examples_digest)
    inputs = _Inputs(plan, examples)
    info = describe(env, inputs, wanted, plan.env_id, Path(plan.env_dir_path))
    plan.examples_taken, plan.examples_digest = len(examples), info.digest
    if run is not None and before is not None and info.before is not None:
        plan.changes = list(before.changes)
        given = plan.model_dump(include=_COMPARED)
        if request.sampling_args is None:
            del given["sampling_args"]
        if faults := call_faults(plan, given, run, before, info.before, info.code):
            raise RefusedError(faults)
    run, lock = make_directory(plan, run, "", ELSEWHERE)
    try:
        started, loaded = run_started(plan, info, run, examples), LoadedHere(env, examples)
        prepared = Prepared(plan, info, run, lock, examples, started, loaded)
        args = plan.sampling_args if request.sampling_args is None else request.sampling_args
        prepared.sampling_args = {**env.sampling_args, **args}
        prepared.notices = lock.notices
        for one in open_file_notices(plan.max_concurrent, examples.total, "max_concurrent"):
            log.warning("%s", one.text)
        initialize_run(prepared, is_resumed=before is not None, keep_errors=False)
    except OSError as error:
        lock.release()
        raise cannot_write(run, error, ELSEWHERE) from error
    except BaseException:
        lock.release()
        raise
    return prepared


def _worker_faults(env: Environment, request: GenerateRequest) -> Iterator[Fault]:
    """Why other processes cannot run the rollouts."""
    where = f"workers={request.workers}"
    if request.workers < -1:
        yield Fault(where, "it is too small: 0 is for this process, -1 for more as cores are full")
    if request.workers == 0:
        return
    if not env.env_id or Cleaner().clean(env.env_args) != env.env_args:
        hint = "Make it with vf.load_environment(NAME, ...), its arguments as JSON has them"
        yield Fault(where, "a worker loads the environment again, and this one has no name", hint)
    if not isinstance(request.client, ClientConfig):
        hint = "Give a ClientConfig"
        yield Fault(where, f"a worker cannot have a {type(request.client).__name__}", hint)


def _before(run: RunDir, env: Environment, request: GenerateRequest, base_url: str) -> RunPlan:
    """The plan of the run that is in the directory already, whichever program began it."""
    if run.plan.exists():
        return read_plan(run.plan)
    known: dict[str, Any] = {"api_base_url": base_url or "given", "api_key_var": ""}
    known |= {"model": request.model, "env_args": {}, "sampling_args": request.sampling_args or {}}
    before = plan_to_resume(run, env.env_id or type(env).__name__, known)
    before.given_inputs = request.groups is not None
    before.base_url = base_url
    return before


def _plan(
    env: Environment,
    request: GenerateRequest,
    base_url: str,
    run: RunDir | None,
    before: RunPlan | None,
) -> RunPlan:
    sampling_args = request.sampling_args
    if sampling_args is None:
        sampling_args = _kept_sampling_args(before) if before else {}
    config = request.client if isinstance(request.client, ClientConfig) else ClientConfig()
    has_key_var = "api_key_var" in config.model_fields_set
    values: dict[str, Any] = {
        "env_id": env.env_id or type(env).__name__,
        "env_args": Cleaner().clean(env.env_args),
        "alias": request.model,
        "model": request.model,
        "base_url": base_url,
        "key_var": config.api_key_var if has_key_var else "",
        "client_type": config.client_type,
        "num_examples": request.num_examples if request.groups is None else len(request.groups),
        "rollouts_per_example": request.rollouts_per_example,
        "max_concurrent": request.max_concurrent,
        "sampling_args": Cleaner().clean(sampling_args),
        "state_columns": request.state_columns,
        "max_retries": request.max_retries,
        "independent_scoring": request.independent_scoring,
        "save": request.save_results if run is None else not is_unsaved(run),
        "given_inputs": request.groups is not None,
        "num_workers": request.workers,
        "call_timeout": request.call_timeout,
    }
    try:
        return RunPlan(**values)
    except ValidationError as error:
        faults = [Fault(".".join(map(str, e["loc"])), e["msg"]) for e in error.errors()]
        raise RefusedError(faults) from None


def _kept_sampling_args(before: RunPlan) -> dict[str, Any]:
    """The sampling arguments of a run that is resumed as it was.

    Raises:
        RefusedError: Some of them are secret, so that the run does not have them.
    """
    hint = "Give sampling_args again, with all that was given then"
    faults = [
        Fault(ARGUMENT, f"the value of {name} is not kept with the run", hint)
        for name in hidden_names(before.sampling_args, "sampling_args")
    ]
    if faults:
        raise RefusedError(faults)
    return before.sampling_args


def _examples(env: Environment, request: GenerateRequest) -> Examples:
    if request.groups is not None:
        return GivenExamples(request.groups)
    table = read_table(env, request.num_examples)
    return Examples(table, request.rollouts_per_example)


class _Inputs:
    """One input of each example, or all that a program gave; can be read several times."""

    def __init__(self, plan: RunPlan, examples: Examples) -> None:
        step = 1 if plan.given_inputs else examples.per_example
        self._rows = range(0, examples.total, step)
        self._examples = examples

    def __iter__(self) -> Iterator[RolloutInput]:
        return map(self._examples.input, self._rows)
