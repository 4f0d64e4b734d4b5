"""Rows of results.jsonl and trajectories of the scripted run."""

from __future__ import annotations

from typing import Any

from made_once import made_once
from scripted_conversation import BY_ZERO, EXPECTED, SYSTEM, USER, completion, conversation, used
from scripted_run import (
    ERRORS,
    FAILED,
    NOW,
    SELECTED,
    STYLE,
    TOTAL,
    UNSCORED,
    WEIGHTS,
    failed,
    finished,
    judged,
    unscored,
)

from tui_eval import events as ev


def step_of(turn: int, ms: float, calls: bool) -> dict[str, Any]:
    """The record of a model call in a row."""
    return {
        "model_ms": ms,
        "input_tokens": 390 + 160 * turn,
        "output_tokens": 48 + 9 * turn,
        "finish_reason": "tool_calls" if calls else "stop",
    }


def row_of(done: ev.RolloutFinished, said: list[dict[str, Any]]) -> dict[str, Any]:
    """The line of results.jsonl of what is done."""
    answers = [one for one in said if one["role"] == "assistant"]
    scores = [
        {"name": name, "weight": weight, "raw": done.metrics[name], "error": None}
        for name, weight in (WEIGHTS | {STYLE: WEIGHTS["closeness"]}).items()
        if name in done.metrics
    ]
    steps = [
        step_of(turn, done.model_ms[turn], bool(answer.get("tool_calls")))
        for turn, answer in enumerate(answers)
    ]
    return {
        "example_id": done.example_id,
        "prompt": [SYSTEM, USER],
        "completion": said,
        "answer": str(EXPECTED),
        "reward": done.reward or 0.0,
        "error": None,
        "stop_condition": done.stop_condition,
        "is_truncated": done.truncated,
        "metrics": done.metrics,
        "timing": {"generation_ms": done.generation_ms, "scoring_ms": done.scoring_ms},
        "tui_eval": {"attempt": 1, "scores": scores, "steps": steps, "tool_calls": used(said)},
    }


def saved_row(row: int, **changes: Any) -> dict[str, Any]:
    """A line of results.jsonl."""
    return row_of(finished(row), completion(row)) | changes


def saved_error(names: str, text: str) -> dict[str, str]:
    """An error as results.jsonl has it."""
    return {
        "error": names.partition(" ")[0],
        "error_chain_repr": text,
        "error_chain_str": names,
    }


TRACEBACK = f"""Traceback (most recent call last):
  File "environments/calculator/calculator.py", line 88, in divide
    raise ZeroDivisionError(BY_ZERO.format(a, b))
{BY_ZERO}

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "tui_eval/environments/tool_env.py", line 141, in call_tool
    result = await maybe_await(tool(**arguments))
tui_eval.errors.ToolCallError: Tool 'divide' raised {BY_ZERO}
"""
FAILED_TEXT = (
    f"ToolCallError(\"Tool 'divide' raised {BY_ZERO}\") -> "
    f"ZeroDivisionError({BY_ZERO.partition(': ')[2]!r})"
)


def failed_row(row: int) -> dict[str, Any]:
    kept = row_of(failed(row), conversation()[2:])
    kept["error"] = saved_error(FAILED, FAILED_TEXT)
    kept["tui_eval"]["traceback"] = TRACEBACK
    return kept


JUDGED = """\
The response works out every step with a tool of its own, and says what it is for.

- the candles of a day and of five days: one call each
- what broke: divided by 0 first, and then mended
- what is left: one call

Grade: 9 of 10. One point is lost for the failed call."""
TIMED_OUT = (
    "Judge 'gpt-4.1' at http://127.0.0.1:41873/v1 failed: APITimeoutError: Request timed out."
)
JUDGE_FAILED = f"""\
JudgeError: {TIMED_OUT}
  File "environments/calculator/calculator.py", line 131, in style
    verdict = await judge(prompt, completion, answer, state)
  File "tui_eval/rubrics/judge_rubric.py", line 174, in judge
    verdict, usage = await self._ask(filled)
caused by APITimeoutError: Request timed out."""
UNSCORED_TEXT = (
    f"ScoringError(\"Reward function 'style' failed: JudgeError: {TIMED_OUT}\") -> "
    f'JudgeError("{TIMED_OUT}") -> '
    "APITimeoutError('Request timed out.')"
)


def judged_row(row: int) -> dict[str, Any]:
    """A line with what a judge said."""
    kept = row_of(judged(row), completion(row))
    kept["tui_eval"]["judge"] = [JUDGED]
    return kept


def unscored_row(row: int) -> dict[str, Any]:
    """A line of a rollout that one reward function failed for."""
    kept = row_of(unscored(row), completion(row))
    failure = {"name": STYLE, "raw": None, "weight": WEIGHTS["closeness"], "error": JUDGE_FAILED}
    kept["tui_eval"]["scores"].append(failure)
    kept["error"] = saved_error(UNSCORED, UNSCORED_TEXT)
    return kept


def trajectory() -> list[ev.Event]:
    """Events for a subscriber to the selected rollout."""
    messages = conversation()
    model_turns = [one for one in messages[:6] if one["role"] == "assistant"]
    steps = [step_of(turn, 1000 + 300 * turn, True) for turn in range(len(model_turns))]
    return [
        ev.MessagesAdded(0, NOW - 8, SELECTED, 1, 0, 2, messages[:6], 0, steps),
        ev.ToolFinished(0, NOW - 7, SELECTED, "c1", "multiply", 4.1, None, "504"),
        ev.ToolFinished(0, NOW - 7, SELECTED, "c2", "multiply", 3.2, None, "2520"),
        ev.ToolFinished(0, NOW - 6, SELECTED, "c3", "multiply", 3.4, None, "108"),
        ev.ToolFinished(
            0, NOW - 5, SELECTED, "c4", "divide", 2.0, "ToolCallError", messages[7]["content"]
        ),
    ]


def recorded_trajectory() -> list[ev.Event]:
    """The same, and its last tool is done too."""
    return [*trajectory(), ev.ToolFinished(0, NOW - 4, SELECTED, "c5", "note", 1.4, None, "noted")]


@made_once
def saved_rows() -> dict[int, dict[str, Any]]:
    return {row: failed_row(row) if row in ERRORS else saved_row(row) for row in range(TOTAL)}
