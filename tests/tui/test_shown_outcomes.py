"""Errors, answers that did not end by themselves, and failing tools on screens."""

from __future__ import annotations

from typing import Any

import pytest
from home_staging import at_home
from run_events import finished, staged, started
from scripted_home import FormBackend, found_run
from scripted_rows import saved_rows
from scripted_run import NOW, ScriptedFeed, run_started
from scripted_run import finished as scripted
from scripted_suite import moved, suite_started
from staging import staged_app, staged_suite

from tui_eval.events import Event, RunFinished, Stage
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout
from tui_eval.text.run_words import status
from tui_eval.text.step_words import step_note
from tui_eval.text.waits import sleeps_text
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.run.header import progress, title
from tui_eval.tui.run.numbers.lines import numbers
from tui_eval.tui.run.rollouts.lines import RolloutLines
from tui_eval.tui.run.rollouts.listing import Listing
from tui_eval.tui.trajectory.parts import Part
from tui_eval.tui.trajectory.piece import View

ENDED = RunFinished(0, 1060.0, "finished", 3)


def folded(*events: Event) -> RunState:
    state = RunState()
    for event in (started(5, 2), *events):
        state.apply(event)
    return state


def with_errors(count: int, *more: Event) -> RunState:
    """Ten rollouts, some of which errored."""
    good = (finished(row, 1.0) for row in range(count, 10))
    return folded(*(finished(row, None) for row in range(count)), *good, *more)


def words(line: Line) -> str:
    return "".join(text for text, _ in line).strip()


def head(state: RunState, width: int) -> str:
    how = status(state, False, None, 1060.0)
    return words(title(state, how, width))


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (0, ("✓ finished in 1:00", "good")),
        (3, ("✓ finished in 1:00", "good")),
        (4, ("! finished, 4 of 10 errored", "warn")),
        (10, ("✗ finished, 10 of 10 errored", "bad")),
    ],
)
def test_a_run_with_many_errors_is_no_green_success(errors: int, told: tuple[str, str]) -> None:
    assert status(with_errors(errors, ENDED), False, None, 1060.0) == told


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (80, "reward 1.00, 0.80 with errors as 0   ✓"),
        (120, "reward 1.00 [0.51, 1.00], 0.80 with errors as 0   ✓"),
    ],
)
def test_the_header_says_what_the_mean_would_be_with_errors(width: int, told: str) -> None:
    assert told in head(with_errors(2, ENDED), width)
    assert "errors" not in head(with_errors(0, ENDED), width)


@pytest.mark.parametrize("width", [80, 120])
def test_the_header_counts_rollouts_with_failed_tools(width: int) -> None:
    failing = finished(9, 1.0, tools={"look": (3, 2), "read": (1, 0)})
    state = folded(failing, finished(8, 1.0, tools={"read": (1, 0)}), ENDED)
    line = progress(state, 1060.0, width)
    assert ("◆✗ 1 with failed tools" if width == 120 else "◆✗1") in words(line)
    assert ("◆✗", "warn") in [(text.strip(), ink) for text, ink in line]
    assert "◆" not in words(progress(folded(finished(8, 1.0), ENDED), 1060.0, width))


def test_the_numbers_say_of_which_class_the_missing_ones_are() -> None:
    told = [words(one.line) for one in numbers(with_errors(2), 90)]
    assert any("0.80 with errors as 0" in line for line in told)
    assert any("2 of 10 not in the mean: 2 endpoint errors" in line for line in told)
    assert not any("not in the mean" in words(one.line) for one in numbers(with_errors(0), 90))


def row_of(width: int, event: Event) -> str:
    state = folded(event)
    lines = RolloutLines(Listing(state), lambda: 1060.0)
    lines.fit(width, [0])
    return words(lines.line(0, ""))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"finish_reason": "refusal"}, "done · refused"),
        ({"finish_reason": "content_filter"}, "done · filtered"),
        ({"finish_reason": "length", "truncated": True}, "done · truncated"),
        ({"finish_reason": "stop"}, "done"),
        ({"tools": {"look": (1, 1), "read": (1, 0)}}, "done · ◆✗ look failed"),
    ],
)
def test_a_row_says_how_its_answer_ended_and_which_tools_failed(
    facts: dict[str, Any], told: str
) -> None:
    assert row_of(120, finished(0, 1.0, **facts)).endswith(f"  {told}")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("ModelError -> ValueError", "ModelError -> ValueError  endpoint"),
        ("ToolCallError", "ToolCallError"),
        ("KeyError", "KeyError  environment"),
    ],
)
def test_a_row_says_what_failed_where_the_name_does_not(error: str, told: str) -> None:
    assert row_of(140, finished(0, None, error=error)).endswith(f"  {told}")


def test_a_step_says_that_it_was_refused_and_who_answered() -> None:
    step = {"model_ms": 900, "input_tokens": 7, "output_tokens": 5, "finish_reason": "refusal"}
    assert words(step_note({**step, "model": "small"})).endswith("tokens · by small  ⊘ refused")
    filtered = {**step, "finish_reason": "content_filter"}
    assert words(step_note(filtered)).endswith("⊘ filtered")


def test_a_trajectory_ends_with_what_failed_or_how_the_answer_ended() -> None:
    failed = Rollout(0, error="KeyError()", error_class="tool")
    assert words(Part(None, rollout=failed).lay_out(View(), 80).lines[0]) == "✗ tool error"
    refused = Rollout(0, reward=0.0, steps=[{"finish_reason": "refusal"}])
    assert (
        words(Part(None, rollout=refused).lay_out(View(), 80).lines[0])
        == "✓ done · reward 0.00 · refused"
    )


@pytest.mark.parametrize(("width", "told"), [(69, "PromptRefusedError"), (67, "PromptRefused")])
def test_the_name_of_an_error_loses_its_last_word_before_it_is_cut(width: int, told: str) -> None:
    row = row_of(width, finished(0, None, error="PromptRefusedError -> BadRequestError"))
    assert row.split()[-1] == told


@pytest.mark.parametrize(
    ("now", "told"),
    [(1001.0, "status 429: slow down, again in 4s"), (1005.0, "status 429: slow down, again now")],
)
def test_why_a_rollout_sleeps_shows_the_time_that_is_left(now: float, told: str) -> None:
    note = "status 429: slow down, again in 5s"
    asleep = staged(1, Stage.SLEEPING, at=1000.0, note=note, again_at=1005.0)
    assert sleeps_text(folded(asleep), 1, now) == told
    assert sleeps_text(folded(asleep), 2, now) == ""


def test_each_version_of_the_code_has_its_mean_and_leads_to_its_rollouts() -> None:
    state = folded(*(finished(row, row / 10, code=1 + row // 5) for row in range(10)), ENDED)
    told = {one.target: words(one.line) for one in numbers(state, 90) if one.target}
    assert told[("where", "code:1")].startswith("version 1 of the code 0.20")
    assert told[("where", "code:2")].startswith("version 2 of the code 0.70")


def test_where_a_price_comes_from_is_shown_to_its_end() -> None:
    source = "2026-06-03, genai-prices 0.0.64, for calls that read up to 200,000 tokens"
    run = run_started(total=10, input_price=1.0, output_price=2.0, list_price=source)
    done = finished(0, 1.0, input_tokens=1000, output_tokens=10)
    lines = [words(one.line) for one in numbers(folded(run, done, ENDED), 60)]
    assert f"list price {source}" in " ".join(lines)


async def test_enter_on_how_answers_ended_lists_those_rollouts() -> None:
    events = [run_started(), *(scripted(row, finish_reason="refusal") for row in range(2))]
    feed = ScriptedFeed([*events, RunFinished(0, NOW, "finished", 0)], saved_rows(), live=False)
    async with staged_app(feed, size=(200, 60)) as stage:
        panel = stage.live.numbers
        await stage.press("3")
        while "refused" not in stage.text(panel).splitlines()[panel.scroll_offset.y]:
            before = panel.cursor
            await stage.press("j")
            if panel.cursor == ("where", "finish:refusal") or panel.cursor == before:
                break
        assert panel.cursor == ("where", "finish:refusal")
        await stage.press("enter")
        await stage.until(lambda: stage.live.rollouts.listing.text == "finish:refusal")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"errored": 4, "n": 44}, "✓ calculator"),
        ({"errored": 16, "n": 32}, "! calculator"),
        ({"errored": 48, "n": 0, "reward": None}, "✗ calculator"),
    ],
)
async def test_home_distinguishes_many_errors_from_success(
    changes: dict[str, Any], told: str
) -> None:
    async with at_home(FormBackend([found_run("11aa22bb", **changes)]), (80, 24)) as stage:
        assert told in stage.list


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_home_marks_runs_in_which_tools_fail(width: int) -> None:
    failing = found_run("11aa22bb", failed_tools=7, classes={"tool": 2}, errored=2, n=46)
    async with at_home(FormBackend([failing]), (width, 40)) as stage:
        assert "◆✗ 7" in stage.list
        assert "0.58 with errors as 0" in stage.about
        assert ("✗ 2 errored: 2 tool" in stage.about) == (width > 80)


async def test_a_suite_shows_the_mean_with_errors_and_which_is_no_success() -> None:
    done = moved(0, "finished", finished=48, errored=24, reward=0.5)
    async with staged_suite([suite_started(), done], size=(120, 40)) as stage:
        heads, line, *_ = stage.text(stage.live.evaluations).splitlines()
        assert "✗=0" in heads
        assert "0.25" in line and "errored" in line and line.strip(" ▌").startswith("!")
