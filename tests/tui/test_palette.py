"""Commands found by words."""

from __future__ import annotations

import pytest
from app_driver import seen
from rich.style import Style
from staging import Stage, opened_palette, over, staged_app
from textual.widgets import OptionList


def found(hits: OptionList) -> list[str]:
    return [str(one.prompt).partition("\n")[0] for one in hits.options]


@pytest.mark.parametrize("size", [(80, 24), (80, 12), (120, 40)])
async def test_the_last_command_can_be_seen(size: tuple[int, int]) -> None:
    async with staged_app(over(), size=size) as stage:
        hits = await opened_palette(stage)
        assert found(hits)[-1] not in seen(stage.app)
        await stage.press("ctrl+end")
        assert found(hits)[-1] in seen(stage.app)


async def test_every_word_stands_in_a_name_or_below_it_as_it_was_typed() -> None:
    async with staged_app(over()) as stage:
        hits = await opened_palette(stage, *"err")
        errors = ["Errors only, and back", "Next error", "Run errored or missing ones again"]
        assert found(hits) == errors
        await stage.press("escape")
        assert found(await opened_palette(stage, *"Again ERR")) == errors[-1:]
        await stage.press("escape")
        assert found(await opened_palette(stage, *"theme colours")) == ["Theme: terminal"]
        await stage.press("escape")
        assert found(await opened_palette(stage, *"key !")) == errors[:1]


def styles_of(stage: Stage, text: str) -> list[Style]:
    """The styles of the line that has the text."""
    for strip in stage.app.screen._compositor.render_strips():
        if text in "".join(segment.text for segment in strip):
            return [one.style for one in strip if one.style and text in one.text]
    raise AssertionError(f"{text!r} cannot be seen\n{seen(stage.app)}")


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_in_the_terminals_colours_keys_are_dim_and_the_cursor_is_reversed(theme: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await opened_palette(stage, *"rr")
        assert all(style.reverse for style in styles_of(stage, "ors only, and back"))
        assert not any(style.dim or style.reverse for style in styles_of(stage, "Next e"))
        assert all(style.dim for style in styles_of(stage, "key e"))
