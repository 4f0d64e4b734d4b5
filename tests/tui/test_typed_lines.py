"""Wherever a line is typed the caret moves in it, by a word too, and deletes where it stands."""

from __future__ import annotations

import pytest
from app_driver import seen
from form_staging import staged
from home_staging import at_home
from scripted_form import form_app
from staging import over, staged_app

KEYS = [
    *"alpha",
    *("space", *"beta"),
    *("ctrl+left", "X", "delete"),  # alpha X|eta
    *("ctrl+left", "ctrl+left", "Y", "ctrl+right", "Z"),  # YalphaZ| Xeta
    *("left", "backspace", "end", "ctrl+w", "V", "home", "right", "W"),  # YW|alphZ V
]
TEXT = "YWalphZ V"


@pytest.mark.parametrize("before", [("slash",), ("2", "slash"), ("4", "slash"), ("a",)])
async def test_in_a_run(before: tuple[str, ...]) -> None:
    async with staged_app(over()) as stage:
        await stage.press(*before, *KEYS)
        await stage.until(lambda: TEXT in seen(stage.app).replace("▏", ""))


async def test_on_home() -> None:
    async with at_home() as stage:
        await stage.press("slash", *KEYS)
        assert stage.home.runs.words == TEXT
        await stage.until(lambda: TEXT in seen(stage.app))


async def test_in_a_list_to_choose_from() -> None:
    async with staged(form_app()) as stage:
        await stage.press("enter")
        picker = await stage.picker()
        await stage.press(*KEYS)
        await stage.until(lambda: TEXT in stage.text(picker.list))
