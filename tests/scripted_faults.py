"""A run in which much goes wrong: errors of several classes, failing tools, answers cut or refused.

Its code was mended on the way, its costs come from a list of prices.
"""

from __future__ import annotations

from typing import Any

from made_once import made_once
from scripted_conversation import BY_ZERO, completion
from scripted_rows import row_of, saved_error, saved_row
from scripted_run import (
    NOW,
    STARTED,
    TOTAL,
    ScriptedFeed,
    finished,
    run_started,
    running_events,
    staged,
)

from tui_eval import events as ev

LISTED = "2026-06-03, genai-prices 0.0.64"
RATE_LIMIT = (
    "status 429: Rate limit reached for gpt-4.1-mini on tokens per min (TPM): "
    "Limit 200000, Used 198214, Requested 3120"
)
WAITING = range(30, 35)
"""The rollouts that wait at the rate limit."""

FAULTS = (
    ("endpoint", "ModelError -> APIConnectionError -> ConnectError", range(12, 21)),
    ("tool", "ToolCallError -> ZeroDivisionError", (9, 22)),
    ("judge", "ScoringError -> JudgeError -> APITimeoutError", (26, 27, 35)),
    ("environment", "KeyError", (30, 38)),
    ("model", "PromptRefusedError -> BadRequestError", (5,)),
)
"""Classes of errors, the exceptions of each, and the rollouts that have it."""
ERRORS = {row: (kind, names) for kind, names, rows in FAULTS for row in rows}
ENDINGS = {
    2: "length",
    6: "length",
    24: "length",
    7: "refusal",
    31: "refusal",
    40: "content_filter",
}
"""Finish reasons of the last answers of some."""
MENDED_FROM = 36
"""The first rollout of the mended code."""
TRACEBACK = f"""Traceback (most recent call last):
  File "environments/calculator/calculator.py", line 88, in divide
    return broken_by(boxes, divisor=b)
  File "environments/calculator/calculator.py", line 61, in broken_by
    raise ZeroDivisionError(BY_ZERO.format(a, b))
{BY_ZERO}
"""
PRINTED = "divide: 108 by 0\nWARNING calculator: b is 0, was it meant to be 4?\n"


def outcome(row: int) -> ev.RolloutFinished:
    """The outcome of a rollout."""
    changes: dict[str, Any] = {"code": 2 if row >= MENDED_FROM else 1}
    if row in ERRORS:
        kind, names = ERRORS[row]
        changes |= {"error": names, "error_class": kind, "reward": None, "metrics": {}}
        return finished(row, stop_condition="has_error", scoring_ms=0.0, **changes)
    reason = ENDINGS.get(row, "stop")
    return finished(row, finish_reason=reason, truncated=reason == "length", **changes)


@made_once
def faulty_events() -> list[ev.Event]:
    """The run, finished: more than a third of it errored."""
    prices = {"list_price": LISTED, "base_url": "https://api.openai.com/v1"}
    end = ev.RunFinished(0, NOW, "finished", 3)
    return [run_started(**prices), *(outcome(row) for row in range(TOTAL)), end]


def raised_row(row: int) -> dict[str, Any]:
    """A line of a rollout in which a tool raised, with what it printed."""
    kept = row_of(finished(row), completion(row))
    for one in kept["tui_eval"]["tool_calls"]:
        if one["error"]:
            one |= {"error": BY_ZERO, "traceback": TRACEBACK, "output": PRINTED}
    return kept


def errored_row(row: int) -> dict[str, Any]:
    kind, names = ERRORS[row]
    return saved_row(row, error=saved_error(names, names) | {"class": kind})


def faulty_feed() -> ScriptedFeed:
    """The finished run with its rows."""
    rows = {row: errored_row(row) if row in ERRORS else raised_row(row) for row in range(TOTAL)}
    return ScriptedFeed(faulty_events(), rows, live=False)


def limited_feed() -> ScriptedFeed:
    """A run whose endpoint lets through less than is requested: most of its rollouts wait."""
    first, *others = running_events()
    assert isinstance(first, ev.RunStarted)
    first.max_concurrent, first.list_price = 16, LISTED
    waits = [
        staged(
            row,
            ev.Stage.SLEEPING,
            at=NOW - 2 - row % 5,
            turns=1,
            note=f"{RATE_LIMIT}, again in {12 + row % 5}s",
            again_at=NOW + 12 + row % 5,
        )
        for row in WAITING
    ]
    others = [one for one in others if not isinstance(one, ev.RolloutStaged)]
    moved = ev.ConcurrencyMoved(0, STARTED + 60, 0, 4, 16, 31)
    prompt = saved_row(0)["prompt"]
    trajectories: dict[int, list[ev.Event]] = {
        row: [ev.MessagesAdded(0, NOW - 8, row, 1, 0, 2, prompt)] for row in WAITING
    }
    return ScriptedFeed([first, *others, *waits, moved], trajectories=trajectories)
