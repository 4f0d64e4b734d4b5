"""metadata.json: the summary of a run, derived from the fold that everyone reads."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tui_eval import __version__
from tui_eval.fold.run_state import RunState
from tui_eval.fold.summary import summarize
from tui_eval.runs.summary_json import numbers_object


def build_metadata(
    state: RunState,
    *,
    time_ms: float,
    state_columns: list[str],
    env_version: str | None,
    tools: list[dict[str, Any]] | None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The metadata in the key order of verifiers 0.1.11, then what we add.

    A mean of nothing is None.

    Args:
        time_ms: Milliseconds that the run has been worked on, over all its sessions.
        env_version: Version of the environment's package, where it has one.
        tools: Definitions of the tools, where every rollout has the same.
        extra: Further keys of ours.

    Raises:
        ValueError: The run has not started.
    """
    run = state.run
    if run is None:
        raise ValueError("a run that has not started has no metadata")
    summary = summarize(state)
    reward, rates = summary.reward, summary.pass_rates
    finished, errored = state.finished, state.errored
    return {
        "env_id": run.env_id,
        "env_args": run.env_args,
        "model": run.model,
        "base_url": run.base_url,
        "num_examples": run.num_examples,
        "rollouts_per_example": run.rollouts_per_example,
        "sampling_args": run.sampling_args,
        "time_ms": time_ms,
        "avg_reward": reward.mean,
        "avg_metrics": {name: metric.mean for name, metric in summary.metrics.items()},
        "avg_error": errored / finished if finished else None,
        "pass_at_k": {str(rate.k): rate.any_passes for rate in rates},
        "pass_all_k": {str(rate.k): rate.all_pass for rate in rates},
        "pass_threshold": state.threshold,
        "usage": _usage(state),
        "version_info": _versions(env_version),
        "state_columns": state_columns,
        "tools": tools,
        "date": datetime.fromtimestamp(run.at, UTC).isoformat(timespec="seconds"),
        "reward": reward.mean,
        "reward_std": reward.std,
        "n_used": summary.used,
        "n_errored": errored,
        "n_missing": summary.missing,
        "n_total": state.total,
        "status": summary.status,
        "missing_columns": summary.missing_columns,
        "refused_requests": summary.refused_requests,
        "concurrency_limits": list(state.limits),
        "numbers": numbers_object(summary),
        **(extra or {}),
    }


def _usage(state: RunState) -> dict[str, float] | None:
    """What a rollout used on average, of those that reported it."""
    if not state.usage.with_usage:
        return None
    return {
        "input_tokens": state.usage.used_in / state.usage.with_usage,
        "output_tokens": state.usage.used_out / state.usage.with_usage,
    }


def _versions(env_version: str | None) -> dict[str, str | None]:
    return {
        "vf_version": None,
        "vf_commit": None,
        "env_version": env_version,
        "env_commit": None,
        "tui_eval_version": __version__,
    }
