"""A suite as a script: events of the root, and the feeds of its evaluations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from made_once import made_once
from scripted_rows import recorded_trajectory, saved_rows, trajectory
from scripted_run import (
    NOW,
    SELECTED,
    STARTED,
    ScriptedFeed,
    all_events,
    paused_events,
    run_started,
    running_events,
)

from tui_eval import events as ev
from tui_eval.fold.run_state import RunState

CASES = (
    ("calculator", "gpt-4.1-mini", {"temperature": "0.2"}),
    ("calculator", "gpt-4.1-mini", {"temperature": "0.7"}),
    ("calculator", "qwen3-235b-i", {"temperature": "0.7"}),
    ("reverse-text", "gpt-4.1-mini", {"temperature": "0.7", "max_turns": "1"}),
    ("word-guess", "gpt-4.1-mini", {"temperature": "0.7", "max_turns": "8"}),
    ("word-guess", "qwen3-235b-i", {"temperature": "0.7", "max_turns": "8"}),
    ("word-guess hard", "qwen3-235b-i", {"temperature": "0.7", "max_turns": "12"}),
    ("map-reading", "gpt-4.1-mini", {}),
)
RUNNING = 1
TOOK_S = NOW - STARTED
"""Seconds of an evaluation: one comes after the other."""
REFUSAL = (
    "environment map-reading: importing it raised ModuleNotFoundError: No module named 'shapely' "
    "(/srv/evals/environments/map_reading.py:3). Install what it needs: pip install shapely"
)


def suite_started(cases: Iterable[tuple[str, str, dict[str, str]]] = CASES) -> ev.SuiteStarted:
    listed = [ev.ListedEvaluation(name, name, model, varies, 48) for name, model, varies in cases]
    return ev.SuiteStarted(1, STARTED - TOOK_S, "configs/eval/benchmark.toml", listed, 4)


def run_path(place: int) -> str:
    return f"outputs/evals/run{place}"


def figures(events: list[ev.Event]) -> dict[str, Any]:
    """The figures of an evaluation that has come so far."""
    state = RunState()
    for event in events:
        state.apply(event)
    reward = state.reward_mean.result()
    return {
        "finished": state.finished,
        "running": state.running,
        "sleeping": state.sleeping,
        "errored": len(state.errors),
        "reward": reward.mean,
        "low": reward.low,
        "high": reward.high,
        "interval_name": reward.interval_name,
        "elapsed_s": TOOK_S,
        "input_tokens": state.usage.tokens_in,
        "output_tokens": state.usage.tokens_out,
        "cost": state.cost,
    }


def moved(place: int, status: str, **changes: Any) -> ev.EvaluationMoved:
    """The root's event of one evaluation."""
    fields: dict[str, Any] = {"total": 48}
    if status != "refused":
        fields["path"] = run_path(place)
    if status == "running":
        fields |= figures(running_events()) | {"socket": f"run{place}.sock"}
    if status == "finished":
        fields |= figures(all_events())
    return ev.EvaluationMoved(
        **{"seq": 0, "at": NOW, "index": place, "status": status} | fields | changes
    )


@made_once
def suite_events() -> list[ev.Event]:
    """One finished, one running, one refused; the rest waits."""
    return [
        suite_started(),
        moved(0, "finished"),
        moved(RUNNING, "running"),
        moved(7, "refused", text=REFUSAL),
    ]


def ended_events() -> list[ev.Event]:
    """Everything is over, two were not lucky."""
    done = [moved(place, "finished") for place in range(6)]
    fields = figures(all_events()[:13]) | {"elapsed_s": 0.3 * TOOK_S}
    failed = moved(6, "failed", **fields, text="the disk is full")
    refused = moved(7, "refused", text=REFUSAL)
    started = suite_started()
    started.at = NOW - 6.3 * TOOK_S
    return [started, *done, failed, refused, ev.RunFinished(0, NOW, "finished", 3)]


class Feeds:
    """Opens the evaluations of a suite; `opened` holds which, and as what, in their order."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, str]] = []
        self.feeds: list[ScriptedFeed] = []

    def __call__(self, path: str, socket: str) -> ScriptedFeed:
        self.opened.append((path, socket))
        place = int(path.removeprefix(run_path(0)[:-1]))
        self.feeds.append(self.make(path, CASES[place % len(CASES)], bool(socket)))
        return self.feeds[-1]

    def running_events(self) -> list[ev.Event]:
        return running_events()

    def trajectory(self) -> list[ev.Event]:
        return trajectory()

    def make(self, path: str, case: tuple[str, str, dict[str, str]], live: bool) -> ScriptedFeed:
        events = self.running_events() if live else all_events()
        events[0] = run_started(path=path, env_id=case[0], model=case[1])
        return ScriptedFeed(
            events, saved_rows(), live=live, trajectories={SELECTED: self.trajectory()}
        )

    @property
    def left_open(self) -> list[ScriptedFeed]:
        return [feed for feed in self.feeds if not feed.closed]


class PausedFeeds(Feeds):
    """The gate is closed, and rollouts are held before it."""

    def running_events(self) -> list[ev.Event]:
        return paused_events()

    def trajectory(self) -> list[ev.Event]:
        return recorded_trajectory()
