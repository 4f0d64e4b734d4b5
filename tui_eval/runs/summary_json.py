"""The summary of a run as plain JSON data, for `--json` and metadata.json."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tui_eval import __version__
from tui_eval.errors import Fault
from tui_eval.fold.run_state import RunState
from tui_eval.fold.summary import Summary, begun_examples, summarize
from tui_eval.runs.layout import RunDir
from tui_eval.runs.plain_json import Cleaner
from tui_eval.stats.intervals import Interval
from tui_eval.stats.mean import Mean
from tui_eval.stats.passk import PassRate

VERSION = 1
"""Grows when a key of the JSON summary is removed or changes its meaning."""


def summary_object(state: RunState) -> dict[str, Any]:
    """The whole summary of one run; `docs/results.md` describes every key."""
    summary = summarize(state)
    run, end = summary.run, summary.end
    return {
        "version": VERSION,
        "status": summary.status,
        "exit_code": end.exit_code if end is not None else None,
        "error": end.text or None if end is not None and not summary.stopped_early else None,
        "stopped_early": summary.stopped_early or None,
        "settings": {
            "env_id": run.env_id,
            "env_args": run.env_args,
            "model": run.model,
            "base_url": run.base_url,
            "num_examples": run.num_examples,
            "rollouts_per_example": run.rollouts_per_example,
            "max_concurrent": run.max_concurrent,
            "sampling_args": run.sampling_args,
            "pass_threshold": summary.threshold,
            "until": run.until or None,
        },
        **numbers_object(summary),
        "per_example": list(_examples(state)),
        "refused_requests": summary.refused_requests,
        "last_cause": summary.last_cause or None,
        "missing_columns": summary.missing_columns,
        "contradictions": end.contradictions if end is not None else [],
        "time_s": summary.seconds or None,
        "path": str(Path(run.path).absolute()),
        "saved": run.saved,
        "resumable": summary.status != "finished" and RunDir(Path(run.path)).plan.exists(),
    }


def numbers_object(summary: Summary) -> dict[str, Any]:
    """Counted and computed part of the summary."""
    return {
        "counts": _counts(summary),
        "reward": mean_object(summary.reward),
        "reward_by_example": {"mean": summary.example_mean, "examples": summary.scored_examples},
        "reward_anytime": summary.reward_anytime and summary.reward_anytime._asdict(),
        "reward_with_errors_as_0": summary.reward_with_errors,
        "metrics": {name: mean_object(mean) for name, mean in summary.metrics.items()},
        "metrics_no_number": summary.metrics_no_number,
        "pass_at_k": {
            str(rate.k): _pass_rate(rate, rate.any_passes, rate.any_interval, rate.any_weight)
            for rate in summary.pass_rates
        },
        "pass_all_k": {
            str(rate.k): _pass_rate(rate, rate.all_pass, rate.all_interval, rate.all_weight)
            for rate in summary.pass_rates
        },
        "equal_groups": {"equal": summary.equal_groups, "of": summary.groups},
        "stop_conditions": summary.stop_conditions,
        "finish_reasons": summary.finish_reasons,
        "errors": summary.errors,
        "error_classes": summary.error_classes,
        "tokens": _tokens(summary),
        "cost": _cost(summary),
        "latency": {
            "rollout_s": summary.rollout_s._asdict(),
            "model_call_s": summary.model_call_s._asdict(),
        },
        "tool_calls": {
            name: {"calls": calls, "errors": errors}
            for name, (calls, errors) in summary.tools.items()
        },
        "models": summary.models,
        "code_versions": [one._asdict() for one in summary.code_versions],
    }


def _counts(summary: Summary) -> dict[str, int]:
    return {
        "examples": summary.examples,
        "examples_complete": summary.complete_examples,
        "rollouts": summary.total,
        "finished": summary.finished,
        "used": summary.used,
        "errored": summary.errored,
        "no_number": summary.no_number,
        "missing": summary.missing,
        "truncated": summary.truncated,
        "refused": summary.finish_reasons.get("refusal", 0),
        "filtered": summary.finish_reasons.get("content_filter", 0),
        "failed_tools": summary.failed_tools,
    }


def _examples(state: RunState) -> Iterator[dict[str, Any]]:
    for example_id, one in begun_examples(state):
        yield {
            "example_id": example_id,
            "mean": one.mean,
            "std": one.std,
            "used": one.n,
            "errored": one.errored,
            "passed": one.passed,
            "all_equal": one.all_equal,
        }


def mean_object(mean: Mean) -> dict[str, Any]:
    """A mean, its spread and its 95 % interval; null where there is nothing to say."""
    return {
        "mean": mean.mean,
        "std": mean.std,
        "se": mean.se,
        "low": mean.low,
        "high": mean.high,
        "method": mean.method,
        "weight": mean.weight,
        "n": mean.n,
        "examples": mean.groups,
    }


def _pass_rate(rate: PassRate, value: float, interval: Interval, weight: float) -> dict[str, Any]:
    return {
        "value": value,
        "low": interval[0],
        "high": interval[1],
        "method": "wilson",
        "weight": weight,
        "examples": rate.examples,
        "left_out": rate.left_out,
    }


def _tokens(summary: Summary) -> dict[str, Any]:
    n = summary.with_usage
    read, written = summary.known_tokens
    each = {"input": summary.used_in / n or None, "output": summary.used_out / n} if n else None
    return {
        "input": read,
        "output": written,
        "total": None if written is None else (read or 0) + written,
        **summary.kinds,
        "lost": {"input": summary.lost_in, "output": summary.lost_out},
        "per_rollout": each,
        "rollouts_with_usage": n,
    }


def _cost(summary: Summary) -> dict[str, Any]:
    return {
        "usd": summary.cost,
        "input_price": summary.prices.input,
        "output_price": summary.prices.output,
        "cached_input_price": summary.prices.cached,
        "cache_write_price": summary.prices.cache_write,
        "list_price": summary.prices.listed or None,
    }


def refused_object(faults: Iterable[Fault]) -> dict[str, Any]:
    """Object in place of a summary where nothing was run: every fault."""
    found = [{"where": one.where, "what": one.what, "hint": one.hint} for one in faults]
    return {"version": VERSION, "status": "refused", "exit_code": 2, "faults": found}


def unstarted_object(status: str, exit_code: int | None, text: str) -> dict[str, Any]:
    """Object in place of a summary where the run never began: stopped, or failed."""
    return {"version": VERSION, "status": status, "exit_code": exit_code, "error": text or None}


def several_object(evaluations: Iterable[Mapping[str, Any]], exit_code: int) -> dict[str, Any]:
    """The summaries of several runs, or what is in place of one, as one object."""
    return {"version": VERSION, "exit_code": exit_code, "evaluations": list(evaluations)}


def json_line(value: Mapping[str, Any]) -> str:
    """One line of JSON in plain ASCII; what is no finite number is null."""
    return json.dumps(_finite(Cleaner().clean(value)), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def build_metadata(state: RunState, known: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata in the key order of verifiers 0.1.11, then what we add; a mean of nothing is
    None.

    Args:
        known: What no event has, by the same keys, as an engine or a file has it: `time_ms` over
            all sessions, `state_columns`, `env_version` in `version_info`, `tools` where every
            rollout has the same; further keys are added.
    """
    run = state.run
    if run is None:
        raise ValueError("a run that has not started has no metadata")
    summary = summarize(state)
    reward, rates = summary.reward, summary.pass_rates
    metadata = {
        "env_id": run.env_id,
        "env_args": run.env_args,
        "model": run.model,
        "base_url": run.base_url,
        "num_examples": run.num_examples,
        "rollouts_per_example": run.rollouts_per_example,
        "sampling_args": run.sampling_args,
        "time_ms": float(known.get("time_ms") or 0.0),
        "avg_reward": reward.mean,
        "avg_metrics": {name: metric.mean for name, metric in summary.metrics.items()},
        "avg_error": state.errored / state.finished if state.finished else None,
        "pass_at_k": {str(rate.k): rate.any_passes for rate in rates},
        "pass_all_k": {str(rate.k): rate.all_pass for rate in rates},
        "pass_threshold": state.threshold,
        "usage": _usage(state),
        "version_info": _versions((known.get("version_info") or {}).get("env_version")),
        "state_columns": known.get("state_columns") or [],
        "tools": known.get("tools"),
        "date": datetime.fromtimestamp(run.at, UTC).isoformat(timespec="seconds"),
        "reward": reward.mean,
        "reward_std": reward.std,
        "n_used": summary.used,
        "n_errored": state.errored,
        "n_missing": summary.missing,
        "n_total": state.total,
        "status": summary.status,
        "missing_columns": summary.missing_columns,
        "refused_requests": summary.refused_requests,
        "concurrency_limits": list(state.limits),
        "numbers": numbers_object(summary),
    }
    if state.end is not None and state.end.text:
        metadata["stopped_because"] = state.end.text
    return metadata | {name: known[name] for name in known if name not in metadata}


def _versions(env_version: str | None) -> dict[str, str | None]:
    return {
        "vf_version": None,
        "vf_commit": None,
        "env_version": env_version,
        "env_commit": None,
        "tui_eval_version": __version__,
    }


def _usage(state: RunState) -> dict[str, float] | None:
    """Average usage of a rollout, of those that reported it."""
    if not state.usage.with_usage:
        return None
    return {
        "input_tokens": state.usage.used_in / state.usage.with_usage,
        "output_tokens": state.usage.used_out / state.usage.with_usage,
    }
