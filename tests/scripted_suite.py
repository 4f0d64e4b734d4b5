"""A suite as a script: what the root tells, and the feeds of its evaluations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scripted_run import (
    NOW,
    SELECTED,
    STARTED,
    ScriptedFeed,
    all_events,
    paused_events,
    run_started,
    running_events,
    saved_rows,
    story,
)

from tui_eval import events as ev

CASES = (
    ("calculator", "gpt-4.1-mini", {"temperature": "0.2"}),
    ("calculator", "gpt-4.1-mini", {"temperature": "0.7"}),
    ("calculator", "qwen3-235b-i", {"temperature": "0.7"}),
    ("reverse-text", "gpt-4.1-mini", {"temperature": "0.7", "max_turns": "1"}),
    ("word-guess", "gpt-4.1-mini", {"temperature": "0.7", "max_turns": "8"}),
    ("word-guess", "qwen3-235b-i", {"temperature": "0.7", "max_turns": "8"}),
    ("word-guess hard", "qwen3-235b-i", {"temperature": "0.7", "max_turns": "12"}),
    ("broken", "gpt-4.1-mini", {}),
)
RUNNING = 1
REFUSAL = (
    "environment broken: there is no such module\nSearched ./environments and what is installed"
)


def suite_started(cases: Iterable[tuple[str, str, dict[str, str]]] = CASES) -> ev.SuiteStarted:
    listed = [ev.ListedEvaluation(name, name, model, varies, 48) for name, model, varies in cases]
    return ev.SuiteStarted(1, STARTED - 120, "configs/eval/benchmark.toml", listed, 32)


def run_path(place: int) -> str:
    return f"outputs/evals/run{place}"


def moved(place: int, status: str, **changes: Any) -> ev.EvaluationMoved:
    """What the root tells of one evaluation."""
    facts: dict[str, Any] = {"total": 48}
    if status != "refused":
        facts["path"] = run_path(place)
    if status == "running":
        facts |= {"socket": f"run{place}.sock", "finished": 30, "running": 5, "errored": 2}
        facts |= {"reward": 0.58, "half_width": 0.14, "elapsed_s": 74.0}
        facts |= {"input_tokens": 57_428, "output_tokens": 8_349, "cost": 0.0363}
    if status == "finished":
        facts |= {"finished": 48, "errored": 2, "reward": 0.65, "half_width": 0.11}
        facts |= {"input_tokens": 89_460, "output_tokens": 12_993, "cost": 0.0566}
        facts["elapsed_s"] = 74.0
    return ev.EvaluationMoved(
        **{"seq": 0, "at": NOW, "index": place, "status": status} | facts | changes
    )


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
    failed = moved(6, "failed", finished=12, errored=3, reward=0.2, text="the disk is full")
    refused = moved(7, "refused", text=REFUSAL)
    return [suite_started(), *done, failed, refused, ev.RunFinished(0, NOW, "finished", 3)]


class Feeds:
    """Opens the evaluations of a suite; `opened` tells which, and as what, in their order."""

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

    def make(self, path: str, case: tuple[str, str, dict[str, str]], live: bool) -> ScriptedFeed:
        events = self.running_events() if live else all_events()
        events[0] = run_started(path=path, env_id=case[0], model=case[1])
        return ScriptedFeed(events, saved_rows(), live=live, stories={SELECTED: story()})

    @property
    def left_open(self) -> list[ScriptedFeed]:
        return [feed for feed in self.feeds if not feed.closed]


class PausedFeeds(Feeds):
    """The gate is closed, and rollouts are held before it."""

    def running_events(self) -> list[ev.Event]:
        return paused_events()
