"""A run as a script: its events, and a feed of them, with a pinned clock."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

from made_once import made_once
from scripted_conversation import BY_ZERO, MAX_TURNS, completion, conversation, measured, used

from tui_eval import events as ev
from tui_eval.commands import Command, Subscribe
from tui_eval.fold.trajectory import Rollout, from_row

NOW = 1_760_000_100.0
STARTED = NOW - 74
EXAMPLES, EACH = 12, 4
TOTAL = EXAMPLES * EACH
WEIGHTS = {"exact_match": 0.7, "closeness": 0.2, "answer_format": 0.1}
LOG = f"""\
2025-10-09 08:53:46,012 INFO tui_eval.run: calculator with gpt-4.1-mini, 12 examples x 4
calculator: 48 problems, seed 7
2025-10-09 08:54:51,480 DEBUG tui_eval.rollout: example 7 #3, attempt 1: system: You are a careful \
calculator. Work in small steps and use the tools for every operation: never compute in your head.
2025-10-09 08:54:52,391 DEBUG tui_eval.rollout: example 7 #3, attempt 1: answered, 390 + 48 tokens
2025-10-09 08:54:52,394 DEBUG tui_eval.rollout: example 7 #3, attempt 1: tool multiply took 4 ms
2025-10-09 08:54:53,020 WARNING tui_eval.clients: RateLimitError (429) from \
http://127.0.0.1:41873/v1: again in 4 s, attempt 2 of 10
2025-10-09 08:54:57,871 DEBUG tui_eval.rollout: example 7 #3, attempt 1: answered, 550 + 57 tokens
2025-10-09 08:54:57,880 ERROR tui_eval.environments: tool divide failed in example 7 #3
Traceback (most recent call last):
  File "environments/calculator/calculator.py", line 88, in divide
    raise ZeroDivisionError(BY_ZERO.format(a, b))
{BY_ZERO}
note: per day 504, five days 2520, fallen 108
2025-10-09 08:54:59,102 DEBUG tui_eval.rollout: example 7 #1, attempt 1: reward 1.00 in 41 ms
"""


class ScriptedFeed:
    """A feed of given events, and of a running rollout's trajectory once it is wanted."""

    def __init__(
        self,
        events: Iterable[ev.Event] = (),
        saved: dict[int, dict[str, Any]] | None = None,
        *,
        live: bool = True,
        starts: bool = True,
        trajectories: dict[int, list[ev.Event]] | None = None,
    ) -> None:
        self.events = list(events)
        self.trajectories = trajectories or {}
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
                self.events += self.trajectories.get(row, [])

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        self.read.append(row)
        found = self.rows.get(row)
        return None if found is None else from_row(row, found)

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        return self.logged[at : at + most], len(self.logged)

    async def close(self) -> None:
        self.closed = True


def run_started(**changes: Any) -> ev.RunStarted:
    fields: dict[str, Any] = {
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
    return ev.RunStarted(**(fields | changes))


def staged(row: int, stage: ev.Stage, **changes: Any) -> ev.RolloutStaged:
    turns = changes.get("turns", 2)
    fields: dict[str, Any] = {
        "seq": 0,
        "at": NOW - 9.4,
        "row": row,
        "stage": stage,
        "attempt": 1,
        "turns": turns,
        "tool_calls": 1,
        "input_tokens": sum(390 + 160 * turn for turn in range(turns)),
        "output_tokens": sum(48 + 9 * turn for turn in range(turns)),
    }
    return ev.RolloutStaged(**(fields | changes))


def reward_of(metrics: dict[str, float]) -> float:
    return sum(weight * metrics[name] for name, weight in WEIGHTS.items())


def finished(
    row: int, said: list[dict[str, Any]] | None = None, **changes: Any
) -> ev.RolloutFinished:
    """A rollout that is done; its figures follow from its conversation."""
    said = said or completion(row)
    calls, metrics = used(said), measured(said)
    turns = round(metrics["num_turns"])
    pace = random.Random(row).uniform(0.6, 1.6)
    model_ms = [pace * (900 + 310 * turn) for turn in range(turns)]
    ms = sum(model_ms) + sum(one["ms"] for one in calls)
    tools = Counter(one["name"] for one in calls)
    errors = Counter(one["name"] for one in calls if one["error"])
    fields: dict[str, Any] = {
        "seq": 0,
        "at": STARTED + 4 + row * 1.9,
        "row": row,
        "example_id": row // EACH,
        "number": row % EACH,
        "attempt": 1,
        "offset": row * 4096,
        "length": 4096,
        "reward": reward_of(metrics),
        "error": None,
        "stop_condition": "max_turns_reached" if turns == MAX_TURNS else "no_tools_called",
        "truncated": False,
        "turns": turns,
        "tool_calls": len(calls),
        "input_tokens": sum(390 + 160 * turn for turn in range(turns)),
        "output_tokens": sum(48 + 9 * turn for turn in range(turns)),
        "started_at": STARTED + row * 1.9,
        "generation_ms": ms,
        "scoring_ms": 41.0,
        "total_ms": ms + 41.0,
        "tools": {name: (count, errors[name]) for name, count in tools.items()},
        "model_ms": model_ms,
        "metrics": metrics,
    }
    return ev.RolloutFinished(**(fields | changes))


FAILED = "ToolCallError -> ZeroDivisionError"
UNSCORED = "ScoringError -> JudgeError -> APITimeoutError"
STYLE = "style"
"""The metric of a judge where the run has one, in the place of the closeness."""


def failed(row: int, error: str = FAILED) -> ev.RolloutFinished:
    said = conversation()[2:]
    return finished(
        row, said, reward=None, error=error, stop_condition="has_error", scoring_ms=0.0, metrics={}
    )


def unscored(row: int) -> ev.RolloutFinished:
    """A rollout that one reward function failed for."""
    done = finished(row, reward=None, error=UNSCORED)
    del done.metrics["closeness"]
    return done


def judged(row: int) -> ev.RolloutFinished:
    """A rollout whose style a judge has rated: a call that failed costs a point."""
    done = finished(row)
    style = 0.9 if any(errors for _, errors in done.tools.values()) else 1.0
    done.reward = reward_of(done.metrics | {"closeness": style})
    del done.metrics["closeness"]
    done.metrics[STYLE] = style
    return done


SELECTED = 31
ERRORS = (9, 22)


@made_once
def running_events() -> list[ev.Event]:
    """Thirty finished, two of them errored; five at work; the rest waits."""
    return [
        run_started(),
        *(failed(row) if row in ERRORS else finished(row) for row in range(30)),
        staged(30, ev.Stage.SCORING, turns=4, tool_calls=7),
        staged(32, ev.Stage.MODEL, at=NOW - 4.2, turns=1, tool_calls=2),
        staged(33, ev.Stage.SLEEPING, at=NOW - 12, attempt=2, turns=1, tool_calls=2),
        staged(34, ev.Stage.SETUP, at=NOW - 1, turns=0, tool_calls=0),
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


@made_once
def all_events(*, saved: bool = True) -> list[ev.Event]:
    rows = [failed(row) if row in ERRORS else finished(row) for row in range(TOTAL)]
    end = ev.RunFinished(0, NOW, "finished", 3)
    return [run_started(saved=saved), *rows, end]


def refused_events() -> list[ev.Event]:
    """The same, held because the disk is full."""
    path = "outputs/evals/calculator--gpt-4.1-mini/3f9a2c10"
    refusal = ev.WritingMoved(0, NOW, "no space left", path, "Make room there", 2, 3)
    return [*paused_events(), refusal]


def held_worker_events() -> list[ev.Event]:
    """The same with two workers, of which one was replaced and the other stands still."""
    ended = "A worker ended, last in the code of example 7 #1: signal 11 (Segmentation fault). "
    still = (
        "A worker has stood still for 31 s in the code of example 7 #3 (calculator.py:44 in add)"
    )
    workers = [
        ev.WorkerSeen(4711, "at work", 3, 84.2, 0.0, ""),
        ev.WorkerSeen(4712, "at work", 1, 61.0, NOW - 42, "calculator.py, line 44"),
    ]
    return [
        *running_events(),
        ev.Noticed(0, NOW - 60, "warning", ended + "4 rollouts are run again"),
        ev.Noticed(0, NOW - 11, "warning", still),
        staged(SELECTED, ev.Stage.TOOL, at=NOW - 42, waits_for="Tool 'add'", since=NOW - 42,
               worker=4712, turns=2, tool_calls=5),
        ev.WorkersSeen(0, NOW, workers),
    ]  # fmt: skip


def paused_events() -> list[ev.Event]:
    """The same, held before what comes next in each."""
    held = [
        staged(32, ev.Stage.HELD, at=NOW, turns=1, tool_calls=2),
        staged(33, ev.Stage.HELD, at=NOW, attempt=2, turns=1, tool_calls=2),
        staged(34, ev.Stage.HELD, at=NOW, turns=0, tool_calls=0),
        staged(SELECTED, ev.Stage.HELD, at=NOW, turns=2, tool_calls=5),
    ]
    return [*running_events(), ev.GateMoved(0, NOW, False, 0), *held]
