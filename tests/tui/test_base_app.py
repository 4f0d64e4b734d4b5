"""Behaviour of every app for all of its screens."""

from __future__ import annotations

import asyncio

from staging import over, staged_app
from textual.screen import ModalScreen
from textual.widget import Widget

from tui_eval.tui.base.look.themes import DARK, LIGHT


class Brief(ModalScreen[None]):
    """A dialog that is taken away before it comes to what is done after a frame."""

    async def _invoke_and_clear_callbacks(self) -> None:
        pass


async def test_what_waits_for_a_frame_outlives_the_dialog_on_top() -> None:
    done: list[str] = []
    async with staged_app(over()) as stage:
        dialog = Brief()
        await stage.app.push_screen(dialog)
        for name, pump in (("screen", stage.live), ("app", stage.app), ("dialog", dialog)):
            pump.call_later(pump.call_after_refresh, done.append, name)
        while len(dialog._callbacks) < 3:
            await asyncio.sleep(0.001)
        await stage.app.pop_screen()
        await stage.until(lambda: len(done) == 2)
        assert sorted(done) == ["app", "screen"]


async def test_what_a_dialog_left_behind_on_the_screen_below_goes_with_it() -> None:
    async with staged_app(over()) as stage:
        below, dialog, box = Brief(), Brief(), Widget()
        await stage.app.push_screen(below)
        await stage.app.push_screen(dialog)
        await dialog.mount(box)
        await stage.app.pop_screen()
        below._callbacks.append((lambda: None, box))
        await stage.app.pop_screen()
        assert stage.app.screen is stage.live


async def test_apps_share_what_their_style_sheets_say_in_each_theme() -> None:
    said = []
    for _ in range(2):
        async with staged_app(over()) as stage:
            for theme in (LIGHT, DARK, LIGHT):
                stage.app.theme = theme.name
                await stage.pilot.pause()
                said.append([id(rule) for rule in stage.app.stylesheet.rules])
    light, dark = said[:2]
    assert not set(light) & set(dark)
    assert said == [light, dark, light] * 2
