"""The scores of an agent's run by eval function: as a table, and as the JSON of `-o`."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tui_eval.config.plan import RunPlan, read_plan
from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.saved_values import metrics_of, number_of
from tui_eval.fold.trajectory import from_row
from tui_eval.runs.layout import RunDir
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.scan import scan
from tui_eval.stats.mean import NO_MEAN, Mean, RunningMean
from tui_eval.stats.passk import pass_at_k
from tui_eval.stats.rewards import is_number, passes
from tui_eval.text.figures import NONE, decimal_text, plural

KS = (1, 3, 5, 10)
"""The k of pass@k that are printed, and the number of runs a row beside."""
FAILED_SCORE = 0.0
"""Score of a run without one, as in the SDK."""


class FunctionScores(msgspec.Struct, frozen=True):
    """Results of one eval function over all finished runs.

    Args:
        mean, std, low, high: Over all finished runs, those without a score counted as 0.0; `std`
            is of the population. None where nothing has finished.
        pass_at: pass@k by k, over rows with at least k finished runs.
        failed: Runs without a score.
        mean_without_failed: Over the others; None where there are none.
        interval: `mean` with its 95 % interval.
    """

    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    pass_at: dict[int, float]
    failed: int
    mean_without_failed: float | None
    interval: Mean = NO_MEAN

    def to_dict(self) -> dict[str, Any]:
        """Its object in the JSON."""
        return {
            "mean": self.mean,
            "std": self.std,
            "min": self.low,
            "max": self.high,
            **{f"pass_at_{k}": value for k, value in self.pass_at.items()},
            "failed_runs": self.failed,
            "mean_without_failed": self.mean_without_failed,
            "interval": {
                "low": self.interval.low,
                "high": self.interval.high,
                "method": self.interval.method,
                "weight": self.interval.weight,
            },
        }


class AgentResults(msgspec.Struct, frozen=True):
    """Contents of the file of `-o`.

    Args:
        rows: The finished runs of each row of the dataset, in order.
        missing: Runs that have not finished.
    """

    plan: RunPlan
    run: RunDir
    functions: dict[str, FunctionScores]
    rows: list[dict[str, Any]]
    missing: int
    duration_ms: float

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Every finished run."""
        return [run for row in self.rows for run in row["runs"]]

    def to_json(self, model: str | None = None) -> bytes:
        """The whole file.

        Args:
            model: The model's name as it was requested; by default as the plan has it.
        """
        args, runs = self.plan.env_args, self.runs
        config = {
            "model": model or self.plan.alias,
            "n_runs": self.plan.rollouts_per_example,
            "pass_threshold": args.get("pass_threshold", 1.0),
            "eval_fns": list(self.functions),
            "module": args.get("module"),
            "dataset": args.get("dataset"),
            "limit": self.plan.num_examples if self.plan.num_examples > 0 else None,
            "offset": args.get("offset", 0),
            "max_turns": args.get("max_turns", 10),
            "batch_size": self.plan.max_concurrent,
            "base_url": self.plan.base_url,
            "sampling": self.plan.sampling_args,
        }
        summary = {
            "total_rows": len(self.rows),
            "total_runs": len(runs),
            "eval_fns": {name: scores.to_dict() for name, scores in self.functions.items()},
            "total_tokens": sum(run["tokens"] for run in runs),
            "total_duration_ms": self.duration_ms,
            "failed_runs": sum(not run["success"] for run in runs),
            "failed_runs_count_as": FAILED_SCORE,
            "missing_runs": self.missing,
        }
        conversations = str(self.run.results)
        whole = {
            "config": config,
            "summary": summary,
            "rows": self.rows,
            "conversations": conversations,
        }
        return json.dumps(whole, indent=2, ensure_ascii=False).encode() + b"\n"


def read_results(run: RunDir) -> AgentResults:
    """The scores of a run that nobody writes now.

    Raises:
        RefusedError: It is no run of an agent, or its plan cannot be read.
    """
    plan = read_plan(run.plan)
    names = plan.env_args.get("eval_fns")
    if not isinstance(names, list):
        raise RefusedError([Fault(str(run.path), "this is no run of tui-eval agent")])
    rows: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for line in scan(run.results):
        if line.row is not None:
            rows[line.row["example_id"]].append(_run_of(line.row, names))
    for runs in rows.values():
        runs.sort(key=lambda one: one["run_index"])
    metadata = read_metadata(run)
    planned = int(metadata.get("num_examples") or 0) * plan.rollouts_per_example
    finished = sum(map(len, rows.values()))
    threshold = float(plan.env_args.get("pass_threshold", 1.0))
    per_row = list(rows.values())
    return AgentResults(
        plan=plan,
        run=run,
        functions={
            name: _scores(name, per_row, threshold, plan.rollouts_per_example) for name in names
        },
        rows=[{"row_index": index, "runs": rows[index]} for index in sorted(rows)],
        missing=max(planned - finished, 0),
        duration_ms=float(metadata.get("time_ms") or 0.0),
    )


def _run_of(row: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    ours = row.get("tui_eval") or {}
    usage, timing = row.get("token_usage") or {}, row.get("timing") or {}
    failures = {one["name"]: one["error"] for one in ours.get("scores") or () if one.get("error")}
    reported = {name: number_of(value) for name, value in metrics_of(row).items()}
    metrics = {name: n for name, n in reported.items() if n is not None and is_number(n)}
    scoring_errors = {name: failures[name] for name in names if name in failures}
    error = None
    if row.get("error") and not scoring_errors:
        error = from_row(0, dict(row)).error or "error"
    found: dict[str, Any] = {
        "run_index": int(ours.get("rollout") or 0),
        "success": error is None,
        "scores": {name: metrics[name] for name in names if name in metrics},
        "duration_ms": timing.get("generation_ms") or 0.0,
        "tokens": int((usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)),
    }
    if error is not None:
        found["error"] = error
    if scoring_errors:
        found["scoring_errors"] = scoring_errors
    return found


def _scores(
    name: str, rows: list[list[dict[str, Any]]], threshold: float, n: int
) -> FunctionScores:
    given = [[run["scores"].get(name) for run in runs] for runs in rows]
    scored = [value for row in given for value in row if value is not None]
    values = [FAILED_SCORE if value is None else value for row in given for value in row]
    count = len(values)
    mean = math.fsum(values) / count if count else None
    std = None
    if mean is not None:
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / count)
    sure = RunningMean()
    for place, row in enumerate(given):
        for value in row:
            sure.add(place, FAILED_SCORE if value is None else value)
    return FunctionScores(
        mean=mean,
        std=std,
        low=min(values, default=None),
        high=max(values, default=None),
        pass_at=pass_rates(given, threshold, n),
        failed=count - len(scored),
        mean_without_failed=math.fsum(scored) / len(scored) if scored else None,
        interval=sure.result(),
    )


def pass_rates(given: list[list[float | None]], threshold: float, n: int) -> dict[int, float]:
    """pass@k by k, over rows with at least k scores; one that is None counts as 0."""
    rates: dict[int, float] = {}
    if n == 1:
        return rates
    passed = [
        (len(row), sum(passes(FAILED_SCORE if v is None else v, threshold) for v in row))
        for row in given
    ]
    for k in sorted({*(k for k in KS if k <= n), n}):
        counts = [(runs, good) for runs, good in passed if runs >= k]
        if counts:
            chances = [pass_at_k(runs, good, k) for runs, good in counts]
            rates[k] = math.fsum(chances) / len(chances)
    return rates


def score_lines(results: AgentResults) -> Iterator[str]:
    """A table of all functions, with how many runs count how."""
    ks = sorted({k for scores in results.functions.values() for k in scores.pass_at})
    heads = ["Eval function", "Mean", "Min", "Max", "Std", *(f"pass@{k}" for k in ks)]
    table = [heads]
    for name, one in results.functions.items():
        numbers = [one.mean, one.low, one.high, one.std, *(one.pass_at.get(k) for k in ks)]
        table.append([name, *(NONE if x is None else decimal_text(x, 3) for x in numbers)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    runs = results.runs
    yield ""
    failed = sum(not run["success"] for run in runs)
    of_each = results.plan.rollouts_per_example
    missing = f", {results.missing} not done" if results.missing else ""
    yield (
        f"Examples: {len(results.rows)}, rollouts of each: {of_each}, in all: {len(runs)}, "
        f"{failed} failed{missing}"
    )
    yield ""
    for line in table:
        first, *rest = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join([first, *rest])
    for name, one in results.functions.items():
        sure = one.interval
        if sure.low is not None and sure.high is not None:
            ends = f"{decimal_text(sure.low, 3)} to {decimal_text(sure.high, 3)}"
            yield f"{name}: 95% interval {ends} ({sure.interval_name})"
        if one.failed and one.mean_without_failed is not None:
            rest_mean = f"without them the mean is {decimal_text(one.mean_without_failed, 3)}"
            which = f"{plural(one.failed, 'rollout')} without a score"
            yield f"{name}: {which}, counted as 0; {rest_mean}"
        elif one.failed:
            yield f"{name}: no rollout has a score; they are counted as 0"
