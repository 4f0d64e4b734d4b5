"""A run as a script: events, rows of results.jsonl, and a feed that tells them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable
from typing import Any

from tui_eval import events as ev
from tui_eval.commands import Command, Subscribe
from tui_eval.fold.transcript import Rollout, from_row

NOW = 1_760_000_100.0
STARTED = NOW - 74
EXAMPLES, EACH = 12, 4
TOTAL = EXAMPLES * EACH


LOG = """\
2026-10-09 10:53:46,012 INFO tui_eval.run: calculator with gpt-4.1-mini, 12 examples x 4
calculator: 48 problems, seed 7
2026-10-09 10:53:46,480 DEBUG tui_eval.rollout: example 7 #3, attempt 1: {'role': 'system', \
'content': 'You are a careful calculator. Work in small steps and use the tools for every \
operation: never compute in your head.'}
2026-10-09 10:53:47,391 DEBUG tui_eval.rollout: example 7 #3, attempt 1: answered, 390 + 48 tokens
2026-10-09 10:53:47,394 DEBUG tui_eval.rollout: example 7 #3, attempt 1: tool multiply took 4 ms, \
error: None
2026-10-09 10:53:49,020 WARNING tui_eval.clients: RateLimitError (429) from \
http://127.0.0.1:41873/v1: again in 4 s, attempt 2 of 10
2026-10-09 10:53:53,871 DEBUG tui_eval.rollout: example 7 #3, attempt 1: answered, 550 + 57 tokens
2026-10-09 10:53:53,880 ERROR tui_eval.environments: tool divide failed in example 7 #3
Traceback (most recent call last):
  File "environments/calculator/calculator.py", line 88, in divide
    return str(Fraction(a) / Fraction(b))
ZeroDivisionError: Fraction(108, 0)
note: per day 504, five days 2520, fallen 108
2026-10-09 10:53:55,102 DEBUG tui_eval.rollout: example 7 #1, attempt 1: reward 1.00 in 41 ms
"""


class ScriptedFeed:
    """A feed that tells what it was given, and a running rollout's story once it is wanted."""

    def __init__(
        self,
        events: Iterable[ev.Event] = (),
        saved: dict[int, dict[str, Any]] | None = None,
        *,
        live: bool = True,
        starts: bool = True,
        stories: dict[int, list[ev.Event]] | None = None,
    ) -> None:
        self.events = list(events)
        self.stories = stories or {}
        self.rows = saved or {}
        self.live = live
        self.sent: list[Command] = []
        self.read: list[int] = []
        self.closed = False
        self.logged = LOG.encode()
        self._starts = starts

    async def start(self) -> None:
        if not self._starts:
            await asyncio.Event().wait()

    def drain(self, most: int = 5000) -> list[ev.Event]:
        found, self.events = self.events[:most], self.events[most:]
        return found

    def send(self, command: Command) -> None:
        self.sent.append(command)
        if isinstance(command, Subscribe):
            for row in command.rows:
                self.events += self.stories.get(row, [])

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        self.read.append(row)
        found = self.rows.get(row)
        return None if found is None else from_row(row, found)

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        return self.logged[at : at + most], len(self.logged)

    async def close(self) -> None:
        self.closed = True


def run_started(**changes: Any) -> ev.RunStarted:
    facts: dict[str, Any] = {
        "seq": 1,
        "at": STARTED,
        "path": "outputs/evals/calculator--gpt-4.1-mini/3f9a2c10",
        "env_id": "calculator",
        "model": "gpt-4.1-mini",
        "base_url": "http://127.0.0.1:41873/v1",
        "num_examples": EXAMPLES,
        "rollouts_per_example": EACH,
        "total": TOTAL,
        "max_concurrent": 4,
        "saved": True,
        "sampling_args": {"temperature": 0.7},
        "env_args": {},
        "input_price": 0.4,
        "output_price": 1.6,
    }
    return ev.RunStarted(**(facts | changes))


def staged(row: int, stage: ev.Stage, **changes: Any) -> ev.RolloutStaged:
    facts: dict[str, Any] = {
        "seq": 0,
        "at": NOW - 9.4,
        "row": row,
        "stage": stage,
        "attempt": 1,
        "turns": 2,
        "tool_calls": 1,
        "input_tokens": 812,
        "output_tokens": 96,
    }
    return ev.RolloutStaged(**(facts | changes))


def finished(row: int, **changes: Any) -> ev.RolloutFinished:
    """A rollout that is done; what is random about it depends on its row only."""
    dice = random.Random(row * 7919)
    exact = float(dice.random() < 0.68)
    close = 1.0 if exact else round(dice.random(), 2)
    shape = float(dice.random() < 0.85)
    turns = dice.randint(2, 6)
    ms = dice.uniform(2_000, 14_000)
    facts: dict[str, Any] = {
        "seq": 0,
        "at": STARTED + 4 + row * 1.9,
        "row": row,
        "example_id": row // EACH,
        "number": row % EACH,
        "attempt": 1,
        "offset": row * 4096,
        "length": 4096,
        "reward": 0.7 * exact + 0.2 * close + 0.1 * shape,
        "error": None,
        "stop_condition": "no_tools_called" if turns < 6 else "max_turns_reached",
        "truncated": False,
        "turns": turns,
        "tool_calls": turns - 1,
        "input_tokens": 420 * turns,
        "output_tokens": 61 * turns,
        "started_at": STARTED + row * 1.9,
        "generation_ms": ms,
        "scoring_ms": 41.0,
        "total_ms": ms + 63.0,
        "tools": {"multiply": (turns - 2, 0), "divide": (1, int(row % 5 == 0))},
        "model_ms": [ms / turns * 0.7] * turns,
        "metrics": {
            "exact_match": exact,
            "closeness": close,
            "answer_format": shape,
            "num_turns": float(turns),
        },
    }
    return ev.RolloutFinished(**(facts | changes))


def failed(row: int, error: str = "ToolCallError -> ZeroDivisionError") -> ev.RolloutFinished:
    return finished(row, reward=None, error=error, stop_condition="has_error", metrics={})


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": json.dumps(arguments)}


SYSTEM = {
    "role": "system",
    "content": (
        "You are a careful calculator. Work in small steps and use the tools for every "
        "operation: never compute in your head.\n\n"
        "Tools\n"
        "- add(a, b), subtract(a, b), multiply(a, b), divide(a, b)\n"
        "- power(base, exponent)\n"
        "- note(text) keeps an intermediate result\n\n"
        "When you are done, answer with the number alone inside <answer></answer>."
    ),
}
USER = {
    "role": "user",
    "content": (
        "A workshop makes 14 boxes of 36 candles a day. On Friday 3 boxes fall and every "
        "fourth candle in them breaks. How many whole candles does it have after five days?"
    ),
}


def conversation() -> list[dict[str, Any]]:
    """A conversation with tool calls of several kinds."""
    return [
        SYSTEM,
        USER,
        {
            "role": "assistant",
            "content": "First the candles of one day, and those of five.",
            "reasoning_content": (
                "14 boxes of 36 is the daily number. Five days of it, then take away a quarter "
                "of three boxes. I should use the tools for each step."
            ),
            "tool_calls": [
                call("c1", "multiply", a=14, b=36),
                call("c2", "multiply", a=504, b=5),
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "504"},
        {"role": "tool", "tool_call_id": "c2", "content": "2520"},
        {
            "role": "assistant",
            "content": "Now what broke: a quarter of three boxes.",
            "tool_calls": [
                call("c3", "multiply", a=3, b=36),
                call("c4", "divide", a=108, b=0),
                call("c5", "note", text="per day 504\nfive days 2520\nfallen 108"),
            ],
        },
        {"role": "tool", "tool_call_id": "c3", "content": "108"},
        {
            "role": "tool",
            "tool_call_id": "c4",
            "content": "ZeroDivisionError: cannot divide 108 by 0; b must not be zero",
        },
        {"role": "tool", "tool_call_id": "c5", "content": "noted"},
    ]


def ending_messages() -> list[dict[str, Any]]:
    return [
        {
            "role": "assistant",
            "content": "The divisor was wrong, it is 4.",
            "tool_calls": [
                call("c6", "divide", a=108, b=4),
                call("c7", "subtract", a=2520, b=27),
            ],
        },
        {"role": "tool", "tool_call_id": "c6", "content": "27"},
        {"role": "tool", "tool_call_id": "c7", "content": "2493"},
        {
            "role": "assistant",
            "content": "It has 2493 whole candles after five days.\n\n<answer>2493</answer>",
        },
    ]


def saved_row(row: int, **changes: Any) -> dict[str, Any]:
    """A line of results.jsonl."""
    done = finished(row)
    messages = conversation() + ending_messages()
    scores = [
        {"name": "exact_match", "weight": 0.7},
        {"name": "closeness", "weight": 0.2},
        {"name": "answer_format", "weight": 0.1},
    ]
    facts: dict[str, Any] = {
        "example_id": done.example_id,
        "prompt": messages[:2],
        "completion": messages[2:],
        "answer": "2493",
        "reward": done.reward,
        "error": None,
        "stop_condition": done.stop_condition,
        "is_truncated": False,
        "metrics": done.metrics,
        "timing": {"generation_ms": done.generation_ms, "scoring_ms": 41.0},
        "tui_eval": {
            "attempt": 1,
            "scores": [{**s, "raw": done.metrics[s["name"]], "error": None} for s in scores],
            "steps": [
                {
                    "model_ms": 900.0 + 310 * number,
                    "input_tokens": 390 + 160 * number,
                    "output_tokens": 48 + 9 * number,
                    "finish_reason": "tool_calls",
                }
                for number in range(4)
            ],
            "tool_calls": [
                {
                    "id": f"c{number}",
                    "ms": 3.0 + number * 2,
                    "error": "ToolCallError" if number == 4 else None,
                }
                for number in range(1, 8)
            ],
        },
    }
    return facts | changes


TRACEBACK = """Traceback (most recent call last):
  File "environments/calculator/calculator.py", line 88, in divide
    return str(Fraction(a) / Fraction(b))
ZeroDivisionError: Fraction(108, 0)

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "tui_eval/environments/tool_env.py", line 141, in call_tool
    result = await maybe_await(tool(**arguments))
tui_eval.errors.ToolCallError: divide(a=108, b=0) raised ZeroDivisionError
"""


def failed_row(row: int) -> dict[str, Any]:
    kept = saved_row(row)
    return saved_row(
        row,
        completion=conversation()[2:],
        reward=0.0,
        error="ToolCallError -> ZeroDivisionError: divide(a=108, b=0) raised ZeroDivisionError",
        stop_condition="has_error",
        tui_eval=kept["tui_eval"] | {"scores": [], "traceback": TRACEBACK},
    )


JUDGED = """\
The response works out every step and ends with the number that was asked for.

- 14 x 36 x 5 = 2520 candles: correct
- a quarter of 3 x 36 = 27 broken: correct, after a slip with a divisor of 0
- 2520 - 27 = 2493: correct

Grade: 9 of 10. One point is lost for the failed call."""
JUDGE_FAILED = """\
JudgeError: Judge 'gpt-4.1' at http://127.0.0.1:41873/v1 failed: APITimeoutError: Request timed out.
  File "environments/calculator/calculator.py", line 131, in style
    verdict = await judge(prompt, completion, answer, state)
  File "tui_eval/rubrics/judge_rubric.py", line 174, in judge
    verdict, usage = await self._ask(filled)
from APITimeoutError: Request timed out."""


def judged_row(row: int) -> dict[str, Any]:
    """A line with what a judge said."""
    kept = saved_row(row)
    exact, close, shape = kept["tui_eval"]["scores"]
    scores = [exact, close | {"name": "judge"}, shape]
    return kept | {"tui_eval": kept["tui_eval"] | {"scores": scores, "judge": [JUDGED]}}


def unscored_row(row: int) -> dict[str, Any]:
    """A line of a rollout that one reward function failed for."""
    kept = saved_row(row)
    failure = {"name": "style", "raw": None, "weight": 0.5, "error": JUDGE_FAILED}
    scores = [*kept["tui_eval"]["scores"], failure]
    error = "ScoringError -> JudgeError -> APITimeoutError"
    return kept | {"error": error, "tui_eval": kept["tui_eval"] | {"scores": scores}}


SELECTED = 31
ERRORS = (9, 22)


def running_events() -> list[ev.Event]:
    """Thirty finished, two of them errored; five at work; the rest waits."""
    return [
        run_started(),
        *(failed(row) if row in ERRORS else finished(row) for row in range(30)),
        staged(30, ev.Stage.SCORING, turns=5, tool_calls=4),
        staged(32, ev.Stage.MODEL, at=NOW - 4.2, turns=1, tool_calls=0),
        staged(33, ev.Stage.SLEEPING, at=NOW - 12, attempt=2, turns=1, tool_calls=1),
        staged(34, ev.Stage.SETUP, at=NOW - 1, turns=0, tool_calls=0, input_tokens=0),
        staged(SELECTED, ev.Stage.TOOL, turns=2, tool_calls=5),
    ]


def throttled_events() -> list[ev.Event]:
    """The same, with an endpoint that refuses what is too much for it."""
    limits = (16, 10, 5, 6, 7, 8, 4, 5, 6, 3, 4, 5)
    moved = [
        ev.ConcurrencyMoved(0, NOW - 12 + at, 0, limit, 16, 2 * at + 9)
        for at, limit in enumerate(limits)
    ]
    first, *others = running_events()
    assert isinstance(first, ev.RunStarted)
    first.max_concurrent = 16
    return [first, *others, *moved]


def story() -> list[ev.Event]:
    """What a subscriber to the selected rollout hears."""
    messages = conversation()
    return [
        ev.MessagesAdded(0, NOW - 8, SELECTED, 1, 0, 2, messages[:6]),
        ev.ToolFinished(0, NOW - 7, SELECTED, "c1", "multiply", 4.1, None, "504"),
        ev.ToolFinished(0, NOW - 7, SELECTED, "c2", "multiply", 3.2, None, "2520"),
        ev.ToolFinished(0, NOW - 6, SELECTED, "c3", "multiply", 3.4, None, "108"),
        ev.ToolFinished(
            0, NOW - 5, SELECTED, "c4", "divide", 2.0, "ToolCallError", messages[7]["content"]
        ),
    ]


def saved_rows() -> dict[int, dict[str, Any]]:
    return {row: failed_row(row) if row in ERRORS else saved_row(row) for row in range(TOTAL)}


def all_events(*, saved: bool = True) -> list[ev.Event]:
    rows = [failed(row) if row in ERRORS else finished(row) for row in range(TOTAL)]
    end = ev.RunFinished(0, NOW, "finished", 3)
    return [run_started(saved=saved), *rows, end]


def paused_events() -> list[ev.Event]:
    held = [staged(row, ev.Stage.HELD) for row in (32, 33, 34)]
    now_tool = staged(SELECTED, ev.Stage.HELD, turns=2, tool_calls=5)
    return [*running_events(), ev.GateMoved(0, NOW, False, 0), *held, now_tool]
