"""Dialogs stand out from the screen behind."""

from __future__ import annotations

import pytest
from rich.color import ColorType
from staging import over, staged_app
from textual.command import CommandList


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_in_the_terminals_colours_only_the_dialog_has_a_cursor_and_is_not_dim(
    theme: str,
) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.press("c")
        screen = stage.app.screen
        box = screen.children[0].region
        shown = screen._compositor.render_strips()
        drawn = [[segment.style for segment in strip if segment.text.strip()] for strip in shown]
        behind = [style for line in drawn[: box.y] + drawn[box.bottom :] for style in line if style]
        assert behind and all(style.dim and not style.reverse for style in behind)
        lines = ["".join(segment.text for segment in strip) for strip in shown]
        pieces = set("▁▂▃▄▅▆▇")
        assert not pieces & {sign for line in lines[3:] for sign in line[-2:]}  # of scrollbars
        inside = [style for line in drawn[box.y : box.bottom] for style in line if style]
        assert any(style.reverse for style in inside)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_the_palette_stands_out_in_the_terminals_colours_and_has_no_others(
    theme: str,
) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.press("colon")
        await stage.until(lambda: stage.app.screen.query_one(CommandList).option_count)
        screen = stage.app.screen
        box = screen.query_one("#--container").region
        shown = [list(strip) for strip in screen._compositor.render_strips()]
        behind = [one.style for strip in shown[box.bottom :] for one in strip if one.text.strip()]
        assert behind and all(style and style.dim and not style.reverse for style in behind)
        styles = [one.style for strip in shown for one in strip if one.style is not None]
        used = [colour for style in styles for colour in (style.color, style.bgcolor) if colour]
        assert {colour.type for colour in used} <= {ColorType.DEFAULT, ColorType.STANDARD}
