"""What the page of ten tasks says can be pressed, and does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripted_run import ERRORS, ScriptedFeed
from staging import over, running, staged_app

from tui_eval import events as ev
from tui_eval.tui.commands import COMMANDS, TOGETHER
from tui_eval.tui.commands.keymap import USUAL
from tui_eval.tui.screens.export_form import ExportDialog
from tui_eval.tui.screens.menu import Menu
from tui_eval.tui.screens.question import Question

PAGE = Path(__file__).parents[2] / "docs" / "ten-tasks.md"
SCREENS = {"home": ("home", "compare", "run"), "a run": ("run",)}
"""The scopes that a task begins in and leads to."""


def tasks() -> list[tuple[str, str, list[str]]]:
    """What each task is for, where it begins, and its keys."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    return [(row[0], row[1], re.findall(r"`(.+?)`", row[2])) for row in rows if len(row) == 3][1:]


def keys_of(where: str) -> set[str]:
    scopes = frozenset[str]().union(*(s for s in TOGETHER if s & set(SCREENS[where])))
    shown = [USUAL.shown(one).split() for one in COMMANDS if one.scope in scopes]
    return {key for keys in shown for key in keys}


def test_there_are_ten_and_every_key_is_one_of_its_screen() -> None:
    assert len(tasks()) == 10
    for task, where, keys in tasks():
        assert keys and set(keys) <= keys_of(where), task


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_an_example_is_found_by_its_id_and_what_went_wrong_is_read(
    size: tuple[int, int],
) -> None:
    async with staged_app(over(), size=size) as stage:
        await stage.press("/")
        assert "example=7" in stage.text(stage.live.rollouts)
        await stage.press(*"example", "equals_sign", "7", "enter")
        listing = stage.live.rollouts.listing
        await stage.until(lambda: listing.count() == 4)
        assert {listing.row(line) // 4 for line in range(4)} == {7}
        await stage.press("escape", "e", "enter", "w")
        assert stage.live.rollouts.row == ERRORS[0]
        assert stage.live.focused is stage.live.story


async def test_errored_ones_run_again_in_two_keys_and_the_limit_moves_in_one() -> None:
    feed: ScriptedFeed = running()
    async with staged_app(feed) as stage:
        await stage.press("R")
        assert isinstance(stage.app.screen, Question)
        await stage.press("a", "+")
        assert ev.Rerun() in feed.sent
        assert any(isinstance(command, ev.MoveLimit) for command in feed.sent)


async def test_the_listed_rows_are_what_an_export_offers_first() -> None:
    async with staged_app(over()) as stage:
        await stage.press("/", *"reward", "less_than_sign", "1", "enter")
        listing = stage.live.rollouts.listing
        await stage.until(lambda: not listing.is_searching and 0 < listing.count() < 48)
        await stage.press("x")
        assert isinstance(stage.app.screen, ExportDialog)


async def test_a_tool_call_that_went_wrong_can_be_copied() -> None:
    async with staged_app(running()) as stage:
        await stage.press("2", "right_parenthesis", "y")
        assert isinstance(stage.app.screen, Menu)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_every_pane_of_a_run_is_entered_zoomed_and_left_by_keys_alone(
    size: tuple[int, int],
) -> None:
    async with staged_app(over(), size=size) as stage:
        live = stage.live
        for number, pane in enumerate(live.panes, 1):
            await stage.press(str(number))
            await stage.until(lambda pane=pane: live.focused is pane and pane.size.height)
            await stage.press("z", "?", "escape", "colon", "escape")
            await stage.until(lambda: stage.app.screen is live)
            assert live.focused is pane
            await stage.press("escape", "escape")
            await stage.until(lambda: live.focused is live.panes[0])
        seen = []
        for _ in live.panes:
            await stage.press("tab")
            seen.append(live.focused)
        assert set(seen) == set(live.panes)
        for key in ("x", "y", "a", "c", "C", "R", "q"):
            await stage.press(key)
            await stage.until(lambda: stage.app.screen is not live or not stage.app.is_running)
            if not stage.app.is_running:
                break
            await stage.press("escape")
            await stage.until(lambda: stage.app.screen is live)
