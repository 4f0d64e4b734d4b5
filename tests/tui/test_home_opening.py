"""Opening runs from the home screen, and coming back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from home_staging import HomeStage, at_home
from scripted_home import FormBackend, found_run, running_run, several_runs
from scripted_run import ERRORS, NOW, ScriptedFeed
from scripted_suite import ended_events, run_path, suite_events
from textual.screen import Screen

from tui_eval import events as ev
from tui_eval.commands import Detach, Stop
from tui_eval.runs.discovery import FoundRun
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.dialogs.question import Choices
from tui_eval.tui.home_app import joined_text, left_text
from tui_eval.tui.suite.screen import SuiteScreen


class LateBackend(FormBackend):
    """Looks for runs until it is let go."""

    def __init__(self) -> None:
        super().__init__(several_runs())
        self.goes = threading.Event()

    def runs(self) -> list[FoundRun]:
        self.goes.wait()
        return super().runs()


class LateStage(HomeStage):
    backend: LateBackend


@asynccontextmanager
async def looking() -> AsyncIterator[LateStage]:
    """Home that looks for runs until its backend is let go."""
    stage = LateStage(LateBackend())
    async with stage.app.run_test(size=(80, 24)) as stage.pilot:
        try:
            assert "looking for runs…" in stage.list
            yield stage
        finally:
            stage.backend.goes.set()


async def found(stage: LateStage) -> None:
    """Lets the backend return the runs, and waits until their effects are done."""
    stage.backend.goes.set()
    await stage.until(lambda: stage.home.runs.is_loaded)
    for _ in range(3):
        await stage.pilot.pause()


async def test_enter_while_runs_are_looked_for_counts_once_they_are_found() -> None:
    async with looking() as stage:
        await stage.press("enter")
        assert stage.keys.strip() == "Still looking for runs; enter counts once they are found."
        await found(stage)
        await stage.watching()
        assert stage.wanted == ("join", "3f9a2c10")
        await stage.press("q")
        await stage.until(lambda: stage.is_home)
        assert "looking" not in stage.keys


@pytest.mark.parametrize("keys", [("escape",), ("tab",), ("slash", "x"), ("question_mark",)])
async def test_enter_does_not_count_any_more_where_something_else_was_requested(
    keys: tuple[str, ...],
) -> None:
    async with looking() as stage:
        await stage.press("enter", *keys)
        await found(stage)
        assert stage.backend.feeds == [] and not stage.app.watches
        assert "looking" not in stage.keys


async def test_enter_while_runs_are_looked_for_opens_nothing_where_there_is_none() -> None:
    async with looking() as stage:
        stage.backend.found = []
        await stage.press("enter")
        await found(stage)
        assert stage.is_home and "looking" not in stage.keys


async def test_enter_opens_a_saved_run_and_q_comes_back_without_a_question() -> None:
    async with at_home() as stage:
        await stage.press("j")
        live = await stage.into_run()
        assert stage.wanted == ("open", "11aa22bb")
        await stage.until(lambda: "✓ finished" in stage.text(live.header))
        await stage.until(lambda: "home" in stage.text(live.keys))
        await stage.press("q")
        await stage.until(lambda: stage.is_home)
        assert stage.selected == "11aa22bb"
        await stage.until(lambda: stage.backend.feeds[0].closed)


async def test_the_outcome_of_opening_a_run_that_was_left_is_not_shown_at_the_next() -> None:
    may_start = asyncio.Event()

    async def start_late() -> None:
        await may_start.wait()
        raise OSError("the disk is gone")

    async with at_home() as stage:
        slow = stage.backend.open(running_run())
        slow.start = start_late  # type: ignore[method-assign]
        stage.home.post_message(stage.home.RunWanted(slow, True))
        await stage.until(lambda: stage.app.watches)
        await stage.press("q")
        await stage.until(lambda: stage.is_home)
        live = await stage.into_run()
        await stage.until(lambda: "▶ running" in stage.text(live.header))
        may_start.set()
        await stage.until(lambda: slow.closed)
        await stage.press("j")
        assert stage.app.state.end is None
        assert "▶ running" in stage.text(live.header)


async def test_the_run_that_somebody_comes_back_from_is_selected_as_soon_as_it_is_listed() -> None:
    backend = FormBackend(several_runs())
    async with at_home(backend) as stage:
        await stage.press("D")
        await stage.watching()
        demo = found_run("3f9a2c10", date=NOW - 1, written_at=NOW - 1)
        backend.found = [demo, *several_runs()[1:]]
        await stage.press("j", "q", "s")
        await stage.until(lambda: stage.is_home and stage.selected == "3f9a2c10")
        await stage.until(lambda: backend.seen == (demo.run.place, NOW))


@pytest.mark.parametrize(("at", "selected"), [(NOW - 10, "0a1b2c3d"), (NOW - 4000, "11aa22bb")])
async def test_what_was_seen_last_is_selected_at_first_unless_a_run_was_written_after(
    at: float, selected: str
) -> None:
    backend = FormBackend([one for one in several_runs() if not one.running])
    seen = next(one for one in backend.found if one.run.path.name == "0a1b2c3d")
    backend.seen = (seen.run.place, at)
    async with at_home(backend) as stage:
        assert stage.selected == selected
        await stage.press("k" if selected == "0a1b2c3d" else "j")
        assert stage.selected != selected


async def test_escape_leads_out_of_a_run_pane_by_pane() -> None:
    async with at_home() as stage:
        await stage.press("j")
        await stage.into_run()
        await stage.press("2")
        await stage.press("escape")
        assert not stage.is_home
        await stage.press("escape")
        await stage.until(lambda: stage.is_home)


async def test_an_unsaved_run_is_looked_at_without_a_question_whether_to_keep_it() -> None:
    async with at_home() as stage:
        await stage.select("77aa01ff")
        await stage.into_run()
        await stage.press("q")
        await stage.until(lambda: stage.is_home)


async def test_leaving_a_run_that_was_attached_to_lets_it_continue() -> None:
    async with at_home() as stage:
        live = await stage.into_run()
        assert stage.wanted == ("join", "3f9a2c10")
        await stage.until(lambda: joined_text() in stage.text(live.keys))
        await stage.press("q")
        await stage.until(lambda: stage.backend.feeds[0].closed)
        assert stage.is_home
        assert [type(command) for command in stage.backend.feeds[0].sent][-1] is Detach
        assert left_text(Leave("detach")) in stage.keys


async def test_a_suite_that_is_left_is_called_one() -> None:
    async with at_home() as stage:
        suite = ScriptedFeed(suite_events())
        stage.backend.open = lambda run: suite  # type: ignore[method-assign]
        await stage.press("j", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, SuiteScreen))
        await stage.press("q")
        await stage.until_question()
        assert "it continues without" in stage.text(stage.app.screen.query_one(Choices))
        await stage.press("d")
        await stage.until(lambda: "The suite continues; enter attaches to a run of" in stage.keys)


async def test_a_run_that_began_since_the_list_was_made_is_resumed_without_a_question() -> None:
    async with at_home() as stage:
        running = stage.backend.open(running_run())
        stage.backend.open = lambda run: running  # type: ignore[method-assign]
        await stage.press("j")
        live = await stage.into_run()
        await stage.until(lambda: "▶ running" in stage.text(live.header))
        await stage.press("q")
        await stage.until(lambda: stage.is_home)
        await stage.until(lambda: running.closed)
        assert [type(command) for command in running.sent][-1] is Detach


async def test_an_attached_run_can_be_stopped_on_purpose() -> None:
    async with at_home() as stage:
        await stage.into_run()
        await stage.press("ctrl+c")
        await stage.until_question()
        await stage.press("s")
        await stage.until(lambda: stage.backend.feeds[0].closed)
        assert stage.is_home
        assert Stop in [type(command) for command in stage.backend.feeds[0].sent]


async def test_quitting_at_once_leaves_an_attached_run_alone() -> None:
    async with at_home() as stage:
        await stage.into_run()
        await stage.press("ctrl+q")
        await stage.until(lambda: not stage.app.is_running)
        assert Stop not in [type(command) for command in stage.backend.feeds[0].sent]
        assert Detach in [type(command) for command in stage.backend.feeds[0].sent]


async def test_an_incomplete_run_is_resumed_and_leaving_it_is_confirmed() -> None:
    async with at_home() as stage:
        await stage.select("9e8d7c6b")
        assert "r resumes what is missing" in stage.about
        await stage.press("r")
        await stage.watching()
        assert stage.wanted == ("resume", "9e8d7c6b")
        await stage.press("q")
        await stage.until_question()
        await stage.press("s")
        await stage.until(lambda: ("end", "") in stage.backend.calls)
        assert stage.is_home
        assert Stop in [type(command) for command in stage.backend.feeds[0].sent]


async def test_errored_rollouts_of_a_saved_run_run_again_and_leaving_leads_home() -> None:
    async with at_home() as stage:
        await stage.select("11aa22bb")
        saved = await stage.into_run()
        await stage.until(lambda: saved.state.end is not None)
        await stage.press("R", "a")
        await stage.until(lambda: stage.app.watches and stage.app.live_screen is not saved)
        (request,) = stage.backend.started
        assert request["raw"] == {"resume": saved.state.run.path}
        assert request["again"] == sorted(ERRORS)
        await stage.watching()
        await stage.press("q")
        await stage.until(lambda: stage.is_home)


async def test_a_suite_over_home_is_resumed_and_leaving_it_leads_home() -> None:
    async with at_home() as stage:
        over = ScriptedFeed(ended_events(), live=False)
        stage.backend.open = lambda run: over  # type: ignore[method-assign]
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, SuiteScreen) and not over.events)
        await stage.press("R", "g")
        await stage.until(lambda: stage.backend.started)
        assert stage.backend.started[0]["runs"][:2] == [run_path(0), run_path(1)]
        await stage.watching()
        assert over.closed
        await stage.press("q")
        await stage.until(lambda: stage.is_home)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("3f9a2c10", "It is running"),
        ("11aa22bb", "It is complete"),
        ("0a1b2c3d", "Another program wrote it"),
    ],
)
async def test_what_cannot_be_resumed_says_why(name: str, why: str) -> None:
    async with at_home() as stage:
        await stage.select(name)
        await stage.press("r")
        assert why in stage.keys
        assert "resume" not in [what for what, _ in stage.backend.calls]


async def test_a_refused_resume_comes_back_and_says_why() -> None:
    backend = FormBackend(several_runs())
    fault = ("model", "it was gpt-4.1-mini, now it is [red]m[/red]", "Use --accept-changes")
    backend.refusal = [ev.Refused(1, [fault])]
    async with at_home(backend) as stage:
        await stage.select("9e8d7c6b")
        await stage.press("r")
        await stage.until_question()
        seen = stage.app.export_screenshot(simplify=True).replace("&#160;", " ")
        assert "[red]m[/red]" in seen
        await stage.press("escape")
        assert stage.is_home


async def test_an_engine_that_does_not_answer_leads_back_with_its_reason() -> None:
    backend = FormBackend([running_run()])
    async with at_home(backend) as stage:
        end = ev.RunFinished(0, NOW, "failed", 1, "no engine answers at run.sock: refused")
        backend.open = lambda run: ScriptedFeed([end], live=False)  # type: ignore[method-assign]
        await stage.press("enter")
        await stage.until_question()
        await stage.press("escape")
        assert stage.is_home


async def test_a_form_is_opened_for_the_selected_environment_and_its_request_runs() -> None:
    async with at_home() as stage:
        await stage.press("n")
        assert stage.configured == [""]
        stage.form.dismiss(None)
        await stage.until(lambda: stage.is_home)
        stage.form = Screen()
        await stage.press("2", "j", "enter")
        assert stage.configured == ["", "triage-tickets"]
        stage.form.dismiss({"env_id": "triage-tickets", "raw": {}})
        await stage.watching()
        assert stage.backend.started == [{"env_id": "triage-tickets", "raw": {}}]


async def test_a_refused_request_comes_back_to_its_form() -> None:
    async with at_home() as stage:
        stage.backend.refusal = [ev.Refused(1, [("model", "there is none", "")])]
        await stage.press("n")
        stage.form.dismiss({"env_id": "capitals", "raw": {}})
        stage.form = Screen()
        await stage.until(lambda: len(stage.configured) == 2)
        assert stage.refused == ["model: there is none"]
        await stage.until(lambda: stage.app.screen is stage.form)
