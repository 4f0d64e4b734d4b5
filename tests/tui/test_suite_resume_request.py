"""A suite that is over is resumed from its own screen: errored and missing rollouts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from app_driver import is_opening
from scripted_run import NOW, ScriptedFeed
from scripted_suite import CASES, ended_events, moved, run_path, suite_events, suite_started
from staging import Stage, question

from tui_eval import events as ev
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.suite.screen import SuiteScreen

FILE = "configs/eval/benchmark.toml"


class Over(Stage):
    """A suite without an engine, with the requests to start one."""

    def __init__(self, events: list[ev.Event], then: list[ev.Event]) -> None:
        super().__init__(ScriptedFeed(events, live=False))
        self.started: list[dict[str, Any]] = []
        self.then = ScriptedFeed(then)
        self.app = TuiEvalApp(
            self.feed, open_feed=self._open, now=lambda: self.clock, start=self._start
        )

    def _open(self, path: str, socket: str) -> ScriptedFeed:
        return self.feeds(path, socket)

    def _start(self, request: dict[str, Any]) -> ScriptedFeed:
        self.started.append(request)
        return self.then

    @property
    def said(self) -> str:
        return self.text(self.live.keys)


@asynccontextmanager
async def over(
    events: list[ev.Event] | None = None,
    then: list[ev.Event] | None = None,
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[Over]:
    stage = Over(ended_events() if events is None else events, then or suite_events())
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: stage.app.suite is not None and not stage.feed.events)
        await stage.until(lambda: not is_opening(stage.live) and not stage.live.reader.must_read)
        yield stage


async def test_all_that_errored_or_is_missing_runs_again_on_the_same_screen() -> None:
    async with over(size=(200, 60)) as stage:
        assert "R rerun" in stage.said
        before = stage.live
        await stage.press("R")
        shown = " ".join(question(stage).split())
        assert "Run again?" in shown and "8 evaluations resume the runs they have" in shown
        assert "13 errored, 36 missing, 1 refused" in shown
        assert "One of them alone: tui-eval open PATH; y copies its path." in shown
        await stage.press("g")
        await stage.until(lambda: isinstance(stage.app.screen, SuiteScreen))
        await stage.until(lambda: stage.live is not before and stage.app.suite is not None)
        runs = [*map(run_path, range(7)), ""]
        requested = {"env_id": FILE, "raw": {"resume": "newest"}, "runs": runs}
        assert stage.started == [requested]
        await stage.until(lambda: stage.live.status.is_live and stage.live.status.at_work)
        assert all(feed.closed for feed in (stage.feed, stage.feeds.feeds[0]))


async def test_what_was_typed_beside_the_file_counts_again() -> None:
    events = ended_events()
    events[0] = suite_started()
    events[0].words = ["--set", "temperature=0.5"]
    async with over(events) as stage:
        await stage.press("R", "g")
        await stage.until(lambda: stage.started)
        assert stage.started[0]["raw"] == {"resume": "newest", "sets": ["temperature=0.5"]}


async def test_a_budget_that_held_for_one_command_is_shown_to_hold_no_more() -> None:
    events = [suite_started(), moved(0, "finished"), ev.RunFinished(0, NOW, "interrupted", 130)]
    events[0].budgets = ["--max-cost"]
    async with over(events) as stage:
        await stage.press("R")
        shown = " ".join(question(stage).split())
        assert "They do without --max-cost, which held for one command." in shown


async def test_where_that_is_refused_the_suite_is_shown_again_and_why() -> None:
    refused = (FILE, "an engine is working on these evaluations", "Join them")
    async with over(then=[ev.Refused(0, [refused])]) as stage:
        await stage.press("R", "g")
        await stage.until_question()
        shown = " ".join(question(stage).split())
        assert "The suite was not resumed" in shown and "is working on these" in shown
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.live and stage.app.suite.over == 8)
        assert isinstance(stage.live, SuiteScreen) and "13 errors" in stage.text(stage.live.top)
        stage.then = ScriptedFeed(suite_events())
        await stage.press("R", "g")
        await stage.until(lambda: len(stage.started) == 2 and stage.live.status.at_work)
        assert stage.started[0] == stage.started[1]
        await stage.until(lambda: len(stage.app.screen_stack) == 3)


def whole() -> list[ev.Event]:
    done = [moved(place, "finished", errored=0, finished=48) for place in range(len(CASES))]
    return [suite_started(), *done, ev.RunFinished(0, NOW, "finished", 0)]


def out_of_budget() -> list[ev.Event]:
    return [suite_started(), ev.RunFinished(0, NOW, ev.OUT_OF_BUDGET, 4)]


def with_a_secret() -> list[ev.Event]:
    started = suite_started()
    started.words = ["--set", "env_args.api_key=***"]
    return [started, ev.RunFinished(0, NOW, "interrupted", 130)]


def edited() -> list[ev.Event]:
    started = suite_started()
    started.is_edited = True
    return [started, ev.RunFinished(0, NOW, "interrupted", 130)]


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (edited(), f"Save them as {FILE}, then: tui-eval run"),
        (whole(), "there is nothing to run again"),
        (out_of_budget(), f"tui-eval run {FILE} --resume"),
        (with_a_secret(), f"tui-eval run {FILE} --resume"),
        ([suite_started()], "still loading"),
    ],
    ids=["edited", "whole", "budget", "secret", "loading"],
)
async def test_why_a_suite_is_not_resumed_here_is_shown(events: list[ev.Event], why: str) -> None:
    async with over(events, size=(120, 40)) as stage:
        assert "R rerun" not in stage.said and "R resume" not in stage.said
        await stage.press("R")
        assert why in stage.said


async def test_what_was_stopped_before_anything_errored_is_resumed() -> None:
    events = [suite_started(), ev.RunFinished(0, NOW, "interrupted", 130)]
    async with over(events, size=(200, 60)) as stage:
        assert "R resume" in stage.said
        await stage.press("R")
        shown = " ".join(question(stage).split())
        assert "Resume the suite?" in shown and "384 missing" in shown
        assert "superseded" not in shown
