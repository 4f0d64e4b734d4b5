"""What has to be read stands out enough from its ground, in both themes."""

from __future__ import annotations

import pytest
from home_staging import at_home
from rich.style import Style
from staging import over, staged_app
from textual.color import Color
from textual.theme import Theme

from tui_eval.tui.look.ink import INKS
from tui_eval.tui.look.themes import DARK, LIGHT
from tui_eval.tui.widgets.line_view import LineView

LEAST = 4.5
"""WCAG 2.2, 1.4.3: the contrast of text at level AA."""
SEEN = 1.9
"""What a line or a bar needs at least to be seen, decided by eye in both themes."""
DRAWN = {"rule", "brace", "histogram", "bar-good", "cursor", "cursor-blurred"}
"""Inks of lines, bars and grounds, not of words."""


def luminance(color: Color) -> float:
    parts = (one / 255 for one in color.rgb)
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast_of(view: LineView, name: str) -> float:
    return contrast(view.rich_style + view.ink(name))


def contrast(style: Style) -> float:
    assert style.color is not None and style.bgcolor is not None
    colors = (Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
    dark, light = sorted(map(luminance, colors))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["tui-eval-dark", "tui-eval-light"])
async def test_every_ink_of_words_can_be_read(theme: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        views = {"a pane": stage.live.rollouts, "the line of keys": stage.live.keys}
        words = [name for name in INKS if name not in DRAWN]
        found = {(w, name): contrast_of(view, name) for w, view in views.items() for name in words}
        assert {what: round(one, 2) for what, one in found.items() if one < LEAST} == {}


@pytest.mark.parametrize("theme", ["tui-eval-dark", "tui-eval-light"])
async def test_lines_and_bars_can_be_seen(theme: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        view = stage.live.rollouts
        found = {
            name: contrast_of(view, name) for name in ("rule", "brace", "histogram", "bar-good")
        }
        assert {what: round(one, 2) for what, one in found.items() if one < SEEN} == {}


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_the_thumb_of_a_scrollbar_can_be_seen_and_more_so_under_the_mouse(theme: Theme) -> None:
    colors = (theme.variables[f"scrollbar{state}"] for state in ("", "-hover", "-active"))
    ground = theme.variables["scrollbar-background"]
    found = [contrast(Style(color=color, bgcolor=ground)) for color in colors]
    assert found[0] >= SEEN and found == sorted(found)


@pytest.mark.parametrize("theme", ["tui-eval-dark", "tui-eval-light"])
async def test_what_is_selected_can_be_read(theme: str) -> None:
    async with at_home() as stage:
        stage.app.theme = theme
        await stage.press("3", "j")
        strip = stage.home.endpoints.render_line(1)
        found = {one.text: contrast(one.style) for one in strip if one.style and one.text.strip()}
        assert any("not checked" in text for text in found)
        assert {text: round(one, 2) for text, one in found.items() if one < LEAST} == {}


@pytest.mark.parametrize("theme", ["tui-eval-dark", "tui-eval-light", "ansi-dark", "ansi-light"])
async def test_good_warning_failed_and_accent_are_four_colours(theme: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        colors = [stage.live.rollouts.ink(ink).color for ink in ("good", "warn", "bad", "accent")]
        told_apart = {color.name.replace("bright_", "") for color in colors}  # bold may brighten
        assert len(told_apart) == 4


@pytest.mark.parametrize("theme", ["tui-eval-dark", "tui-eval-light", "ansi-dark", "ansi-light"])
async def test_a_number_of_a_text_does_not_look_like_a_warning_or_a_failure(theme: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        number, *others = (
            stage.live.rollouts.ink(ink).color.name.replace("bright_", "")
            for ink in ("number", "warn", "bad")
        )
        assert number not in others
