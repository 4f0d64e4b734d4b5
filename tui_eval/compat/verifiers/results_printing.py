"""The printed part of `verifiers.utils.eval_utils`, and its `metric_utils`: results as text."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any

from tui_eval.compat.verifiers.logging_utils import print_prompt_completions_sample, print_time
from tui_eval.stats.passk import pass_at_k, pass_hat_k
from tui_eval.types import GenerateOutputs


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
    """Prints the mean of tokens a rollout; nothing where no answer told any."""
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
