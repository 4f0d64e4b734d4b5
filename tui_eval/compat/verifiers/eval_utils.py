"""`verifiers.utils.eval_utils` and `import_utils`: evaluations from settings, and their results."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO

from tui_eval.compat.loading import load_environment
from tui_eval.compat.verifiers.async_utils import EventLoopLagMonitor, Heartbeat
from tui_eval.compat.verifiers.logging_utils import print_time
from tui_eval.compat.verifiers.path_utils import get_eval_results_path
from tui_eval.compat.verifiers.results_printing import get_task_outputs as get_task_outputs
from tui_eval.compat.verifiers.results_printing import print_info as print_info
from tui_eval.compat.verifiers.results_printing import print_lines
from tui_eval.compat.verifiers.results_printing import print_results as print_results
from tui_eval.compat.verifiers.results_printing import print_rewards as print_rewards
from tui_eval.compat.verifiers.results_printing import print_timing as print_timing
from tui_eval.compat.verifiers.results_printing import print_usage as print_usage
from tui_eval.compat.verifiers.results_printing import to_col_order as to_col_order
from tui_eval.config.endpoints import read_registry
from tui_eval.config.eval_file import read_eval_file
from tui_eval.types import (
    Endpoint,
    Endpoints,
    EvalConfig,
    EvalRunConfig,
    GenerateOutputs,
    LogCallback,
    ProgressCallback,
    RolloutInput,
    RolloutOutput,
    StartCallback,
)

logger = logging.getLogger(__name__)
_LAGS = ("med", "p90", "max")


# Settings


def resolve_endpoints_file(endpoints_path: str) -> Path | None:
    """The registry that a path means: itself, or the one in a folder; None where it has none."""
    path = Path(endpoints_path)
    if not path.is_dir():
        return path
    names = (path / name for name in ("endpoints.toml", "endpoints.py"))
    return next((file for file in names if file.exists()), None)


def load_endpoints(endpoints_path: str) -> Endpoints:
    """The endpoints of a registry by id; empty, with a warning, where it cannot be read.

    A registry in Python is read, not run.
    """
    file = resolve_endpoints_file(endpoints_path)
    reported = [f"there is no registry at {endpoints_path}"]
    if file is not None and file.exists():
        found, faults = read_registry(file)
        reported = [str(fault) for fault in faults]
        if not faults:
            return {
                alias: [_endpoint(one) for one in replicas]
                for alias, replicas in found.items()
                if replicas[0].source.startswith(str(file))
            }
    logger.warning("No endpoints were read: %s", "; ".join(reported))
    return {}


def _endpoint(one: Any) -> Endpoint:
    found = Endpoint(model=one.model, url=one.url, key=one.key_var)
    if one.client_type != "openai_chat_completions":
        found["api_client_type"] = one.client_type
    return found


def load_toml_config(path: Path) -> list[dict[str, Any]]:
    """The settings of each evaluation of a TOML file: of `[[eval]]` tables, then of `[[ablation]]`.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: Something in it is wrong; says all that is.
    """
    if not path.exists():
        raise FileNotFoundError(f"Config file not found: {path}")
    file, faults = read_eval_file(path)
    if faults:
        raise ValueError("\n".join(map(str, faults)))
    return [
        {name: setting.value for name, setting in {**file.top, **own}.items()} for own in file.own
    ]


def get_log_level(verbose: bool) -> str:
    """The level of logs: DEBUG, or what `VF_LOG_LEVEL` says, or INFO."""
    return "DEBUG" if verbose else os.environ.get("VF_LOG_LEVEL", "INFO")


@contextlib.contextmanager
def quiet_datasets() -> Iterator[None]:
    """Within the block, the package `datasets` shows warnings and errors only."""
    from datasets.utils import disable_progress_bar, enable_progress_bar
    from datasets.utils import logging as levels

    before = levels.get_verbosity()
    levels.set_verbosity(levels.WARNING)
    disable_progress_bar()
    try:
        yield
    finally:
        levels.set_verbosity(before)
        enable_progress_bar()


# Evaluations


async def run_evaluation(
    config: EvalConfig,
    on_start: StartCallback | None = None,
    on_log_file: Callable[[Path], None] | None = None,
    on_progress: ProgressCallback | list[ProgressCallback] | None = None,
    on_log: LogCallback | None = None,
) -> GenerateOutputs:
    """Loads an environment and evaluates a model in it, in the caller's process.

    Args:
        on_start, on_progress, on_log: See `Environment.generate`.
        on_log_file: Gets the path of the run's log.

    Raises:
        RefusedError: The environment cannot be loaded, or the run cannot begin.
    """
    env = load_environment(config.env_id, **config.env_args)
    if config.extra_env_kwargs:
        env.set_kwargs(**config.extra_env_kwargs)
    results_path = Path(config.resume_path or get_eval_results_path(config))
    if on_log_file is not None:
        on_log_file(results_path / "engine.log")
    return await env.evaluate(
        client=config.client_config,
        model=config.model,
        sampling_args=config.sampling_args,
        num_examples=config.num_examples,
        rollouts_per_example=config.rollouts_per_example,
        max_concurrent=config.max_concurrent,
        results_path=results_path if config.save_results or config.resume_path else None,
        state_columns=config.state_columns,
        save_results=config.save_results,
        push_to_hf_hub=config.save_to_hf_hub,
        hf_hub_dataset_name=config.hf_hub_dataset_name,
        independent_scoring=config.independent_scoring,
        max_retries=config.max_retries,
        on_start=on_start,
        on_progress=on_progress,
        on_log=on_log,
    )


async def run_evaluations(config: EvalRunConfig) -> None:
    """Runs evaluations at the same time and prints their results, and how late the loop was."""
    monitor = EventLoopLagMonitor()
    measuring = monitor.run_in_background()
    heart = None if config.heartbeat_url is None else Heartbeat(config.heartbeat_url)
    beats: set[asyncio.Task[None]] = set()

    def beat(*_: Any) -> None:
        if heart is not None:
            beats.add(task := asyncio.ensure_future(heart.beat()))
            task.add_done_callback(beats.discard)

    began = time.time()
    try:
        runs = (run_evaluation(one, on_progress=[beat]) for one in config.evals)
        found = await asyncio.gather(*runs)
    finally:
        measuring.cancel()
        await asyncio.gather(*beats, measuring, return_exceptions=True)
        if heart is not None:
            await heart.close()
    logger.info("Evaluations completed in %.2f seconds", time.time() - began)
    for results in found:
        print_results(results)
    if lags := sorted(monitor.lags):
        late = (median(lags), lags[round(0.9 * (len(lags) - 1))], lags[-1])
        shown = ", ".join(f"{n} - {print_time(s)}" for n, s in zip(_LAGS, late, strict=True))
        print_lines("", "Performance:", f"event_loop_lag: {shown}")


async def run_evaluations_tui(
    config: EvalRunConfig, tui_mode: bool = True, compact: bool = False
) -> None:
    """As `run_evaluations`: the screen is the program `tui-eval`'s, not a script's.

    Args:
        tui_mode, compact: Of no effect.
    """
    await run_evaluations(config)


def filter_inputs(
    inputs: Sequence[RolloutInput], outputs: Sequence[RolloutOutput], rollouts_per_example: int
) -> list[RolloutInput]:
    """The inputs that are left to do: of each example as many as it lacks outputs."""
    waiting: dict[Any, list[RolloutInput]] = defaultdict(list)
    for one in inputs:
        waiting[one["example_id"]].append(one)
    done = Counter(output["example_id"] for output in outputs)
    return [
        one
        for example_id, rows in waiting.items()
        for one in rows[: max(rollouts_per_example - done[example_id], 0)]
    ]


def load_toml(file_obj: BinaryIO) -> dict[str, Any]:
    """The table of a TOML file that is open in binary mode."""
    return tomllib.load(file_obj)
