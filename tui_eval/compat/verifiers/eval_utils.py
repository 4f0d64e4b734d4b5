"""`verifiers.utils.eval_utils`, `metric_utils`, `import_utils`: evaluations and their results."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any, BinaryIO

from tui_eval.compat.loader import load_environment
from tui_eval.compat.verifiers.async_utils import EventLoopLagMonitor, Heartbeat
from tui_eval.compat.verifiers.logging_utils import print_prompt_completions_sample, print_time
from tui_eval.compat.verifiers.path_utils import get_eval_results_path
from tui_eval.config.endpoints import read_registry
from tui_eval.config.eval_file import read_eval_file
from tui_eval.stats.passk import pass_at_k, pass_hat_k
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


def load_toml(file_obj: BinaryIO) -> dict[str, Any]:
    """The table of a TOML file that is open in binary mode."""
    return tomllib.load(file_obj)


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
    """`run_evaluations` without a screen: the screen is the program `tui-eval`'s, not a script's.

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


# Results


def compute_pass_at_k(
    outputs: Sequence[Mapping[str, Any]], rollouts_per_example: int, threshold: float = 0.5
) -> tuple[dict[str, float], dict[str, float]]:
    """pass@k and pass^k by k, averaged over the examples that have all their rollouts.

    Args:
        outputs: Rows with `example_id` and `reward`.
        rollouts_per_example: n; k is every power of 2 up to it. Both are empty for 1 or less.
        threshold: The reward from which on a rollout passes.
    """
    n = rollouts_per_example
    passing: dict[Any, list[bool]] = defaultdict(list)
    for output in outputs:
        passing[output.get("example_id", 0)].append(output.get("reward", 0.0) >= threshold)
    counts = [sum(each) for each in passing.values() if len(each) == n]
    if n <= 1 or not counts:
        return {}, {}
    ks = [1 << power for power in range(n.bit_length()) if 1 << power <= n]
    return tuple(  # type: ignore[return-value]
        {str(k): sum(rate(n, c, k) for c in counts) / len(counts) for k in ks}
        for rate in (pass_at_k, pass_hat_k)
    )


def to_col_order(list_of_dicts: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """The values of each key of the first mapping, one a mapping."""
    keys = list_of_dicts[0] if list_of_dicts else ()
    return {key: [one[key] for one in list_of_dicts] for key in keys}


def get_task_outputs(results: GenerateOutputs, task: str) -> GenerateOutputs:
    """The results of one task; the metadata stay those of all."""
    rows = [output for output in results["outputs"] if output["task"] == task]
    return GenerateOutputs(outputs=rows, metadata=results["metadata"])


def print_results(results: GenerateOutputs, num_samples: int = 1) -> None:
    """Prints settings, first rollouts and all summaries of an evaluation, and of each task."""
    reported, outputs = results["metadata"], results["outputs"]
    print_lines(
        "--- Evaluation ---",
        f"Environment: {reported['env_id']}",
        f"Model: {reported['model']}",
        f"Provider: {reported['base_url']}",
        f"Examples: {reported['num_examples']}",
        f"Rollouts per example: {reported['rollouts_per_example']}",
        "--- Example ---",
    )
    print_prompt_completions_sample(
        [output.get("prompt") or [] for output in outputs],
        [output.get("completion") or [] for output in outputs],
        [output.get("error") for output in outputs],
        [output.get("reward") for output in outputs],
        step=0,
        num_samples=num_samples,
    )
    print_lines("--- All ---")
    _print_summaries(results)
    tasks = dict.fromkeys(output["task"] for output in outputs)
    for task in tasks if len(tasks) > 1 else ():
        print_lines("", f"--- {task} ---")
        _print_summaries(get_task_outputs(results, task))


def _print_summaries(results: GenerateOutputs) -> None:
    print_rewards(results)
    print_info(results)
    print_timing(results)
    print_usage(results)


def print_rewards(results: GenerateOutputs) -> None:
    """Prints rewards, pass rates and metrics: their mean, deviation, and each trial."""
    reported, outputs = results["metadata"], results["outputs"]
    trials = reported["rollouts_per_example"]
    print_lines("Rewards:", *_column("reward", [output["reward"] for output in outputs], trials))
    rates = compute_pass_at_k(outputs, trials, reported.get("pass_threshold", 0.5))
    for name, by_k in zip(("pass@k", "pass^k"), rates, strict=True):
        if by_k:
            print_lines(f"{name}: " + ", ".join(f"{k}={rate:.3f}" for k, rate in by_k.items()))
    names = dict.fromkeys(name for output in outputs for name in output.get("metrics") or {})
    for name in names:
        values = [(output.get("metrics") or {}).get(name) for output in outputs]
        print_lines(*_column(name, [value for value in values if value is not None], trials))


def print_info(results: GenerateOutputs) -> None:
    """Prints how many were truncated, why rollouts stopped, and which errors there were."""
    outputs = results["outputs"]
    stops = Counter(str(output.get("stop_condition")) for output in outputs)
    shares = ", ".join(f"{name}: {count / len(outputs):.3f}" for name, count in stops.items())
    cut = [float(output["is_truncated"]) for output in outputs]
    print_lines("Info:", _summary("is_truncated", cut), f"stop_conditions: {shares}")
    errors = [output["error"] for output in outputs if output.get("error") is not None]
    if errors:
        kinds = Counter(error["error_chain_str"] for error in errors)
        failed = [float(output.get("error") is not None) for output in outputs]
        of_kinds = (f" - {name}: {count / len(errors):.3f}" for name, count in kinds.items())
        print_lines(_summary("errors", failed), *of_kinds)


def print_timing(results: GenerateOutputs) -> None:
    """Prints how long rollouts took: least, mean and most."""
    print_lines("Timing:")
    for name in ("generation", "scoring", "total"):
        timings = (output.get("timing") or {} for output in results["outputs"])
        seconds = [timing.get(f"{name}_ms", 0.0) / 1000 for timing in timings]
        if seconds:
            least, mean, most = map(print_time, (min(seconds), _mean(seconds), max(seconds)))
            print_lines(f"{name}: min - {least}, mean - {mean}, max - {most}")


def print_usage(results: GenerateOutputs) -> None:
    """Prints the mean of tokens a rollout; nothing where no answer reported any."""
    rows = (output.get("token_usage") for output in results["outputs"])
    reported: list[Mapping[str, Any]] = [one for one in rows if isinstance(one, Mapping)]
    whole: Any = results["metadata"].get("usage")
    if not reported and whole is not None:
        reported = [whole]
    if reported:
        names = ("input_tokens", "output_tokens")
        means = {name: _mean([one.get(name, 0.0) for one in reported]) for name in names}
        print_lines("Usage:", *(f"{name} (avg): {mean:.3f}" for name, mean in means.items()))


def print_lines(*lines: str) -> None:
    """Writes lines to standard output."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _column(name: str, values: list[float], trials: int) -> Iterator[str]:
    yield _summary(name, values)
    for trial in range(trials):
        yield f"r{trial + 1}: {[round(value, 3) for value in values[trial::trials]]}"


def _summary(name: str, values: Sequence[float]) -> str:
    deviation = pstdev(values) if values else 0.0
    return f"{name}: avg - {_mean(values):.3f}, std - {deviation:.3f}"


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
