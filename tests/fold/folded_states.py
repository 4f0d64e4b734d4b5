"""A run folded from its events, and the figures that are shown of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tui_eval.events import Event
from tui_eval.fold.columns import Columns
from tui_eval.fold.run_state import RunState


def folded(*events: Event) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def figures(state: RunState) -> dict[str, Any]:
    """Everything that a run's listeners show and that does not depend on the order."""
    reward = state.reward_mean.result()
    return {
        "by_stage": state.by_stage,
        "counts": (state.finished, state.errored, state.running, state.waiting),
        "tokens": (state.usage.tokens_in, state.usage.tokens_out),
        "usage": (state.usage.with_usage, state.usage.used_in, state.usage.used_out),
        "columns": [list(column) for column in (state.stage, state.turns, state.offset)],
        "rewards": [None if math.isnan(value) else value for value in state.reward],
        "mean": (reward.n, pytest.approx(reward.mean), pytest.approx(reward.se, abs=1e-9)),
        "metrics": {
            name: (metric.n, pytest.approx(metric.result().mean))
            for name, metric in state.metrics.items()
        },
        "errors": (state.errors, dict(state.outcomes.errors), dict(state.outcomes.stops)),
        "passes": [
            (rate.k, pytest.approx(rate.any_passes), pytest.approx(rate.all_pass), rate.examples)
            for rate in state.pass_rates.result(3)
        ],
        "truncated": state.outcomes.truncated,
        "ids": state.example_ids,
        "seconds": (state.times.rollout_s.result(), state.times.model_call_s.result()),
        "tools": (state.outcomes.tools, state.outcomes.failed_tools),
        "ends": (state.outcomes.finishes, state.outcomes.classes, state.outcomes.models),
        "examples": [
            (one.n, one.errored, one.passed, one.all_equal, pytest.approx(one.mean))
            for one in map(state.examples.result, range(3))
        ],
        "equal": (state.examples.equal, state.examples.with_several, state.examples.complete),
    }


def everything(state: RunState) -> dict[str, Any]:
    """All figures, and what is not shown of a run that only grows."""
    columns = Columns(state)
    searched = {
        name: [column.texts[code] for code in column.codes]
        for name in ("stop", "finish", "error", "class", "model", "tool", "answer")
        for column in (columns.text(name),)
    }
    return {
        **figures(state),
        "searched": searched,
        "lost": (state.usage.lost_in, state.usage.lost_out, state.cost),
        "more columns": [list(one) for one in (state.attempt, state.length, state.tool_calls)],
        "times": [None if math.isnan(ms) else ms for ms in (*state.total_ms, *state.since)],
        "sizes": (state.usage.rollout_in.result(), state.usage.rollout_out.result()),
        "trend": state.trend.result(),
    }
