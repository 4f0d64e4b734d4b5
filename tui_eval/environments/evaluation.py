"""Runs an environment's rollouts in a program's own process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tui_eval.environments.datasets.example_table import as_dataset
from tui_eval.environments.datasets.prompt_rules import PromptRules
from tui_eval.environments.datasets.rows import Group, read_groups
from tui_eval.errors import Fault, RefusedError
from tui_eval.types import (
    GenerateOutputs,
    LogCallback,
    ProgressCallback,
    SamplingArgs,
    StartCallback,
)

if TYPE_CHECKING:
    from tui_eval.environments.direct_rollouts import SomeClient


logger = logging.getLogger(__name__)


class GenerateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of a call of `Environment.generate` or `evaluate`, as they describe them.

    Args:
        groups: The inputs that were given; None for the environment's evaluation examples.
        workers: Processes that run the rollouts; 0 for the program's own.
    """

    client: Any
    model: str
    groups: list[Group] | None = None
    num_examples: int = -1
    rollouts_per_example: int = 1
    sampling_args: SamplingArgs | None = None
    max_concurrent: int = -1
    results_path: str | Path | None = None
    state_columns: list[str] = msgspec.field(default_factory=list)
    save_results: bool = False
    push_to_hf_hub: bool = False
    hf_hub_dataset_name: str | None = None
    independent_scoring: bool = False
    max_retries: int = 0
    call_timeout: float | None = None
    workers: int = 0
    on_start: StartCallback | None = None
    on_progress: Sequence[ProgressCallback] = ()
    on_log: LogCallback | None = None


class Evaluating:
    """The part of `Environment` that makes runs."""

    env_client: Any
    prompt_rules: Callable[[], PromptRules]

    # Many rollouts, each a row of a run directory

    async def generate(
        self,
        inputs: Any,
        client: SomeClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
        max_concurrent: int = -1,
        results_path: str | Path | None = None,
        state_columns: Sequence[str] | None = None,
        save_results: bool = False,
        push_to_hf_hub: bool = False,
        hf_hub_dataset_name: str | None = None,
        independent_scoring: bool = False,
        max_retries: int = 0,
        on_start: StartCallback | None = None,
        on_progress: ProgressCallback | Sequence[ProgressCallback] | None = None,
        on_log: LogCallback | None = None,
        call_timeout: float | None = None,
    ) -> GenerateOutputs:
        """Runs and scores one rollout for each input, in the caller's process and loop.

        Every run has a run directory, written rollout by rollout, which `tui-eval open` shows at
        any time. What people's code raises is the error of its rollout, in the outputs. Cancelling
        ends the run cleanly: cleanup handlers run, and what has finished is on disk.

        Args:
            inputs: Rows, each with `prompt` (taken as it is) or `question`, as a list of dicts, an
                `ExampleTable` or a Hugging Face `Dataset`. Rows of the same `example_id` are the
                rollouts of one group; rows without one are groups of their own.
            client: A `Client` or a client of a provider's SDK, which stays open, or a
                `ClientConfig`; the endpoints of one with several take turns, a group at a time
                where it is scored together.
            model: The model's name at the endpoint.
            sampling_args: Parameters of every model call, over the environment's own.
            max_concurrent: Maximum number of concurrent rollouts; 0 or less for no limit.
            results_path: The run's directory. A run that it holds is resumed: what is
                done is kept, what errored or is missing runs.
            state_columns: Keys of the state that are saved with each output. For `advantage` the
                rollouts of one example are scored as a group.
            save_results: Put the run where saved runs are. Otherwise, without `results_path`, it
                is kept for two weeks in the user's state directory.
            push_to_hf_hub: Push the outputs as a dataset to the Hugging Face hub at the end. A
                fault there is logged.
            hf_hub_dataset_name: The dataset's name; by default from environment and model.
            independent_scoring: Score each rollout by itself; functions that need the whole group
                fail then.
            max_retries: How often a rollout runs again after a fault of endpoint or
                infrastructure.
            on_start: Called once, with all inputs and those that are still to run.
            on_progress: One function or several, called after each finished group, or after each
                rollout with `independent_scoring`: with all outputs so far (in order of
                completion), the new ones and the metadata. Nothing is shown without it.
            on_log: Called with sentences for people. What a callback raises is logged.
            call_timeout: Seconds that one call of the environment's code may take, above 0; one
                that takes longer is cancelled, and is its rollout's error. What holds the process
                can be ended in workers alone (see `evaluate`): here it is an error once it is over.

        Returns:
            `outputs`: for each rollout its row as it is on disk, sorted by example. `metadata`:
            settings and summary, as in metadata.json, with `path_to_save`, the run's directory.

        Raises:
            RefusedError: The run cannot begin: inputs, client, directory or the settings of the
                run in it are at fault. Carries every fault.
            RuntimeError: It did not reach its end; what has finished is on disk.
        """
        request = GenerateRequest(
            groups=read_groups(inputs, self.prompt_rules()),
            client=client,
            model=model,
            sampling_args=sampling_args,
            max_concurrent=max_concurrent,
            results_path=results_path,
            state_columns=list(state_columns or []),
            save_results=save_results,
            push_to_hf_hub=push_to_hf_hub,
            hf_hub_dataset_name=hf_hub_dataset_name,
            independent_scoring=independent_scoring,
            max_retries=max_retries,
            on_start=on_start,
            on_progress=_several(on_progress),
            on_log=on_log,
            call_timeout=call_timeout,
        )
        return await _run(self, request)

    async def evaluate(
        self,
        client: SomeClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
        num_examples: int = -1,
        rollouts_per_example: int = 1,
        max_concurrent: int = -1,
        results_path: str | Path | None = None,
        state_columns: Sequence[str] | None = None,
        save_results: bool = False,
        push_to_hf_hub: bool = False,
        hf_hub_dataset_name: str | None = None,
        independent_scoring: bool = False,
        max_retries: int = 0,
        on_start: StartCallback | None = None,
        on_progress: ProgressCallback | Sequence[ProgressCallback] | None = None,
        on_log: LogCallback | None = None,
        workers: int = 0,
        call_timeout: float | None = None,
        **kwargs: Any,
    ) -> GenerateOutputs:
        """Runs rollouts of the evaluation examples, as `generate` does.

        Args:
            num_examples: The first so many; 0 or less for all.
            rollouts_per_example: Rollouts of each, at least 1; they are one group.
            workers: Processes that run the rollouts, -1 for another one whenever a core is full,
                up to one on each; 0 for the caller's own. Each loads the environment, so that it
                has to come from `load_environment`, and the client has to be a `ClientConfig`.
            client, model, sampling_args, max_concurrent, results_path, state_columns: See
                `generate`, like all others.
            kwargs: Not used; a warning names them.

        Raises:
            RefusedError, RuntimeError: As for `generate`.
        """
        if kwargs:
            logger.warning("evaluate has no use for %s", ", ".join(kwargs))
        request = GenerateRequest(
            num_examples=num_examples if num_examples > 0 else -1,
            rollouts_per_example=rollouts_per_example,
            client=client,
            model=model,
            sampling_args=sampling_args,
            max_concurrent=max_concurrent,
            results_path=results_path,
            state_columns=list(state_columns or []),
            save_results=save_results,
            push_to_hf_hub=push_to_hf_hub,
            hf_hub_dataset_name=hf_hub_dataset_name,
            independent_scoring=independent_scoring,
            max_retries=max_retries,
            workers=workers,
            on_start=on_start,
            on_progress=_several(on_progress),
            on_log=on_log,
            call_timeout=call_timeout,
        )
        return await _run(self, request)

    def generate_sync(
        self, inputs: Any, client: SomeClient, *args: Any, **kwargs: Any
    ) -> GenerateOutputs:
        """`generate` for code that is not async; also where a loop runs already (Jupyter)."""
        return run_to_end(self.generate(inputs, client, *args, **kwargs))

    def evaluate_sync(self, client: SomeClient, *args: Any, **kwargs: Any) -> GenerateOutputs:
        """`evaluate` for code that is not async; also where a loop runs already (Jupyter)."""
        return run_to_end(self.evaluate(client, *args, **kwargs))

    @staticmethod
    def make_dataset(results: GenerateOutputs | Sequence[dict[str, Any]]) -> Any:
        """Outputs as a dataset, one row each.

        Args:
            results: The result of `generate`, or a list of outputs or rows.

        Returns:
            A Hugging Face `Dataset` where `datasets` is installed, else an `ExampleTable`.

        Raises:
            ValueError: The values of a column have no type in common.
        """
        found = results["outputs"] if isinstance(results, dict) else results
        return as_dataset([dict(row) for row in found])


def _several(
    callbacks: ProgressCallback | Sequence[ProgressCallback] | None,
) -> Sequence[ProgressCallback]:
    if callbacks is None:
        return ()
    return (callbacks,) if callable(callbacks) else tuple(callbacks)


async def _run(env: Evaluating, request: GenerateRequest) -> GenerateOutputs:
    if env.env_client is not None:
        what = "an environment that runs elsewhere has no run here"
        hint = "Set env_client to None, or call run_rollout and run_group"
        raise RefusedError([Fault("env_client", what, hint)])
    from tui_eval import run_in_process  # type: ignore[attr-defined]

    outputs: GenerateOutputs = await run_in_process(env, request)
    return outputs


T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on a loop of its own, in this thread, and returns its result.

    A loop that runs in this thread already, as in Jupyter, is blocked meanwhile. Functions that
    need the main thread have it in either case, where this is called there.
    """
    with _loop_suspended():
        return asyncio.run(_with_its_end(work))


@contextmanager
def _loop_suspended() -> Iterator[None]:
    """Lets another loop run in this thread while one does, whose task waits for it."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        yield
        return
    # Nothing public does it. Tasks belong to loops, but from Python 3.14 on to threads too.
    swap = getattr(asyncio.tasks, "_swap_current_task", None)
    task = swap(loop, None) if swap is not None else None
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
        if swap is not None:
            swap(loop, task)


async def _with_its_end(work: Coroutine[Any, Any, T]) -> T:
    from tui_eval.clients.given_clients import leave_loop

    try:
        return await work
    finally:
        await leave_loop()
