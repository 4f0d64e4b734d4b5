"""Each key is handled once the one before it is done."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest
from app_driver import has_taken_keys, until
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from tui_eval.tui.base.terminal.in_turn import InTurnApp, focus_once_drawn


class Pane(Static, can_focus=True):
    """Keeps what reaches it."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.keys: list[str] = []

    def on_key(self, event: events.Key) -> None:
        self.keys.append(event.key)


class TwoPanes(InTurnApp[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("2", "second", "second")]

    def compose(self) -> ComposeResult:
        yield Pane(id="first")
        yield Pane(id="second")

    def action_second(self) -> None:
        focus_once_drawn(self.screen, self.query_one("#second"))


@pytest.mark.parametrize("turns", range(24))
async def test_a_key_meets_the_pane_that_the_one_before_it_went_to(turns: int) -> None:
    """Keys that are written at once may be read in pieces: the second comes at any turn."""
    app = TwoPanes()
    async with app.run_test() as pilot:
        first, second = app.query_one("#first", Pane), app.query_one("#second", Pane)
        first.focus()
        await pilot.pause()
        app.post_message(events.Key("2", "2"))
        for _ in range(turns):
            await asyncio.sleep(0)
        app.post_message(events.Key("a", "a"))
        while "a" not in first.keys + second.keys:
            await asyncio.sleep(0)
        assert (first.keys, second.keys) == (["2"], ["a"])


@pytest.mark.parametrize("turns", range(24))
async def test_a_key_that_is_on_its_way_while_the_app_ends_is_no_crash(turns: int) -> None:
    app = TwoPanes()
    async with app.run_test() as pilot:
        app.query_one("#first", Pane).focus()
        await pilot.pause()
        app.post_message(events.Key("2", "2"))
        for _ in range(turns):
            await asyncio.sleep(0)
        app.exit()


class Steps(Static, can_focus=True):
    """Keeps by how much each action moved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "move(1)", "down"),
        Binding("k", "move(-1)", "up"),
        Binding("d", "page(0.5)", "page"),
    ]

    def __init__(self, *, adds_up: bool) -> None:
        super().__init__()
        self.moves_add_up = adds_up
        self.steps: list[float] = []

    def action_move(self, by: int) -> None:
        self.steps.append(by)

    def action_page(self, pages: float) -> None:
        self.steps.append(pages)


class OnePane(InTurnApp[None]):
    def __init__(self, *, adds_up: bool) -> None:
        super().__init__()
        self.pane = Steps(adds_up=adds_up)

    def compose(self) -> ComposeResult:
        yield self.pane


async def moved_by(keys: str, *, adds_up: bool, done: float) -> list[float]:
    app = OnePane(adds_up=adds_up)
    async with app.run_test() as pilot:
        app.pane.focus()
        await pilot.pause()
        for key in keys:
            app.post_message(events.Key(key, key))
        while sum(map(abs, app.pane.steps)) < done:
            await asyncio.sleep(0)
    return app.pane.steps


async def test_keys_that_wait_are_one_larger_step() -> None:
    steps = await moved_by("j" * 500 + "k" * 300 + "j", adds_up=True, done=801)
    assert sum(steps) == 201 and len(steps) < 50
    assert max(steps) > 100 and min(steps) < -100


async def test_a_view_whose_steps_do_not_add_up_makes_each_of_them() -> None:
    steps = await moved_by("j" * 20 + "d" * 4 + "k" * 3, adds_up=False, done=25)
    assert steps == [1] * 20 + [0.5] * 4 + [-1] * 3


async def test_keys_that_became_one_step_are_counted_as_taken() -> None:
    app = OnePane(adds_up=True)
    async with app.run_test() as pilot:
        app.pane.focus()
        await pilot.pause()
        for key in "jjjkk":
            app.post_message(events.Key(key, key))
        await until(pilot, lambda: has_taken_keys(app, 5))
        assert sum(app.pane.steps) == 1
        assert len(app.pane.steps) < 5
