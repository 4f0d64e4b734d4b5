"""From a number to the rollouts that it counts."""

from __future__ import annotations

import pytest
from numbers_staging import selected, shown
from scripted_rows import saved_rows
from scripted_run import ERRORS, ScriptedFeed, all_events, failed
from staging import Stage, over, staged_app

from tui_eval.tui.base.lines.line_view import MARK


def often_failed() -> ScriptedFeed:
    rare, often = "ToolCallError -> KeyError", "SandboxError"
    events = all_events()
    for row, error in ((3, often), (5, rare), (20, often), (41, often)):
        events[row + 1] = failed(row, error)
    return ScriptedFeed(events, saved_rows(), live=False)


async def to_the_most_frequent_error(stage: Stage) -> None:
    await stage.press("3")
    while "SandboxError" not in selected(stage):
        await stage.press("j")
    assert "3  ✗ SandboxError" in selected(stage)


async def test_enter_on_an_error_goes_from_one_rollout_with_it_to_the_next() -> None:
    async with staged_app(often_failed()) as stage:
        await to_the_most_frequent_error(stage)
        rows = []
        for _ in range(4):
            await stage.press("enter")
            rows.append(stage.live.rollouts.row)
        assert rows == [3, 20, 41, 3]
        assert stage.live.focused is stage.live.numbers


async def test_an_error_too_long_for_a_filter_is_reported_above_the_list() -> None:
    events = all_events()
    events[4] = failed(3, "E" * 10_001)
    async with staged_app(ScriptedFeed(events, saved_rows(), live=False)) as stage:
        await stage.press("3")
        while "✗ EEE" not in selected(stage):
            await stage.press("j")
        await stage.press("enter")
        assert "a filter has at most 10,000 characters" in stage.text(stage.live.rollouts)


async def test_where_the_list_is_hidden_enter_on_an_error_shows_it() -> None:
    async with staged_app(often_failed(), size=(80, 24)) as stage:
        await to_the_most_frequent_error(stage)
        await stage.press("enter")
        await stage.until(lambda: stage.live.focused is stage.live.rollouts)
        listing = stage.live.rollouts.listing
        await stage.until(lambda: not listing.is_searching and listing.count() == 3)
        assert stage.text(stage.live.rollouts).count("✗") == 3
        assert stage.live.rollouts.row == 3


async def test_the_keys_say_what_enter_does_in_the_numbers() -> None:
    async with staged_app(over()) as stage:
        await stage.press("3")
        assert "enter choose a row" in stage.text(stage.live.keys)
        await stage.press("enter")
        assert "enter its rollouts" in stage.text(stage.live.keys)
        await stage.press("G")
        await stage.until(lambda: "enter choose a row" in stage.text(stage.live.keys))


async def test_enter_leaves_alone_what_was_scrolled_out_of_sight() -> None:
    async with staged_app(over()) as stage:
        await stage.press("3", "enter", "G")
        assert not selected(stage)
        await stage.press("enter")
        assert not stage.live.rollouts.listing.text
        assert selected(stage).split()[0] == f"{MARK}0", "the first example that can be seen"


async def test_the_tool_that_errs_most_comes_first_and_enter_lists_where_it_failed() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        await stage.press("3", "z")
        lines = shown(stage).splitlines()
        head = next(at for at, line in enumerate(lines) if line.split()[:2] == ["tool", "calls"])
        assert lines[head + 1].split()[:4] == ["divide", "43", "✗", "12"]
        while "divide" not in selected(stage):
            await stage.press("j")
        await stage.press("z", "enter")
        failing = {row for row in range(48) if row % 10 < 2} | {*ERRORS}
        listing = stage.live.rollouts.listing
        await stage.until(lambda: not listing.is_searching and listing.count() == len(failing))
        assert listing.text == 'failed_tool="divide"'
        assert stage.live.rollouts.row in failing
        first = stage.live.rollouts.row
        await stage.press("enter")
        assert stage.live.rollouts.row in failing and stage.live.rollouts.row != first


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_enter_in_the_numbers_goes_first_to_what_can_be_listed(size: tuple[int, int]) -> None:
    async with staged_app(over(), size=size) as stage:
        await stage.press("3", "enter")
        assert "ZeroDivisionError" in selected(stage)
        assert not stage.live.rollouts.listing.text


async def test_enter_in_the_numbers_waits_for_a_run_that_is_still_loading() -> None:
    async with staged_app(ScriptedFeed([], saved_rows(), live=False)) as stage:
        await stage.press("3", "enter")
        await stage.publish(*all_events())
        await stage.until(lambda: "ZeroDivisionError" in selected(stage))
        assert not stage.live.rollouts.listing.text


async def test_enter_on_an_example_and_a_click_go_to_its_rollouts() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        await stage.press("3", "G", "k")
        assert selected(stage).split()[0] == f"{MARK}11"
        await stage.press("k", "enter")
        assert stage.live.rollouts.row == 40
        y = next(at for at, line in enumerate(shown(stage).splitlines()) if line.startswith(" 8 "))
        await stage.pilot.click("#numbers", offset=(4, y + 1))
        await stage.until(lambda: stage.live.rollouts.row == 32)


async def test_up_from_below_the_last_line_goes_to_the_last_example() -> None:
    async with staged_app(over(), size=(200, 200)) as stage:
        numbers = stage.live.numbers
        await stage.press("3", "z")
        assert numbers.count() < numbers.view_height
        await stage.press("k")
        assert numbers.cursor == ("example", len(stage.app.state.examples) - 1)
        await stage.press("k")
        assert numbers.cursor == ("example", len(stage.app.state.examples) - 2)
