"""The bottom line names the keys that do something where somebody is."""

from __future__ import annotations

import pytest
from app_driver import seen
from scripted_rows import saved_rows
from scripted_run import NOW, ScriptedFeed, all_events
from staging import Stage, over, staged_app, staged_suite


def footer(stage: Stage) -> str:
    keys = stage.live.keys
    return "".join(text for text, _ in keys.line(0))


COPIED = "Copied the command of this example, 58 characters; also in "


@pytest.mark.parametrize(
    "message, shown",
    [
        (f"{COPIED}~/.cache/tui-eval/copied.txt", f"{COPIED}…ui-eval/copied.txt"),
        (f"1 rollout written to {'x' * 80}.html", f"1 rollout written to …{'x' * 51}.html"),
        (f"{'x' * 90} is a file", f"{'x' * 77}…"),
    ],
)
async def test_of_a_file_at_the_end_of_a_message_its_name_is_kept(message: str, shown: str) -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        stage.live.keys.say(message, NOW)
        assert footer(stage) == shown


async def test_what_is_said_of_the_marked_rollout_fits_beside_its_name() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("m", "d")
        assert footer(stage).startswith("A: example ")
        assert footer(stage).endswith("This one is marked: select the other one to compare.")


async def test_where_one_pane_is_shown_it_is_not_zoomed_and_escape_goes_back_at_once() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("2")
        assert "zoom" not in footer(stage)
        await stage.press("z")
        assert "Only one pane fits here" in seen(stage.app)
        await stage.press("escape")
        await stage.until(lambda: stage.live.focused is stage.live.rollouts)


async def test_zooming_is_offered_as_long_as_the_terminal_has_room_for_two_panes() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.pilot.resize_terminal(120, 40)
        await stage.until(lambda: "z zoom" in footer(stage))
        await stage.pilot.resize_terminal(80, 24)
        await stage.until(lambda: "zoom" not in footer(stage))


async def test_a_zoomed_pane_is_unzoomed() -> None:
    async with staged_app(over()) as stage:
        assert "z zoom" in footer(stage)
        await stage.press("z")
        assert "z unzoom" in footer(stage)
        await stage.press("escape")
        assert "z zoom" in footer(stage)


async def test_the_list_of_a_suite_is_zoomed_on_a_narrow_screen_too() -> None:
    async with staged_suite(size=(80, 24)) as stage:
        await stage.press("0")
        for word in ("z zoom", "z unzoom", "z zoom"):
            assert word in footer(stage)
            await stage.press("z")


async def test_enter_folds_what_is_unfolded() -> None:
    async with staged_app(over()) as stage:
        await stage.press("j", "2", "g", "right_parenthesis")
        for word in ("enter unfold", "enter fold", "enter unfold"):
            await stage.until(lambda word=word: word in footer(stage))
            await stage.press("enter")


async def test_a_line_of_the_log_that_is_shown_whole_does_not_unfold() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        await stage.press("4", "g")
        await stage.until(lambda: "find" in footer(stage))
        assert "fold" not in footer(stage)


async def test_a_log_has_something_to_find_as_soon_as_it_is_read() -> None:
    async with staged_app(over(), size=(120, 24)) as stage:
        await stage.press("4")
        await stage.until(lambda: "/ find   L level" in footer(stage))


async def test_an_empty_log_has_nothing_to_find() -> None:
    feed = ScriptedFeed(all_events(), saved_rows(), live=False)
    feed.logged = b""
    async with staged_app(feed) as stage:
        await stage.press("4")
        assert not {"unfold", "find", "level"} & set(footer(stage).split())


async def test_before_the_engine_has_begun_every_pane_says_that_there_is_nothing() -> None:
    async with staged_app(ScriptedFeed([], {})) as stage:
        for pane in (stage.live.trajectory, stage.live.reward):
            assert stage.text(pane).strip() == "no rollout yet"


async def test_before_the_engine_has_begun_nothing_is_offered_that_needs_a_run() -> None:
    async with staged_app(ScriptedFeed(starts=False)) as stage:
        offered = set(footer(stage).split())
        assert not {"filter", "sort", "copy", "export", "pager"} & offered
