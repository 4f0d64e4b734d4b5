"""What has to be read stands out enough from its ground, in every theme and every number of
colours."""

from __future__ import annotations

import pytest
from home_staging import at_home
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from staging import opened_palette, over, staged_app
from textual.color import Color
from textual.theme import Theme

from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import INKS, strip_of
from tui_eval.tui.base.look.themes import DARK, DARK_256, LIGHT, LIGHT_256

LEAST = 4.5
"""WCAG 2.2, 1.4.3: the contrast of text at level AA."""
SEEN = 1.9
"""What a line or a bar needs at least to be seen, decided by eye in both themes."""
DRAWN = {"rule", "brace", "histogram", "bar-good", "cursor", "cursor-blurred"}
"""Inks of lines, bars and grounds, not of words."""
WORDS = [name for name in INKS if name not in DRAWN]
DIM = 2 / 3
"""How much of a colour xterm and VTE leave of one that is dim."""
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
PALETTES = {
    "xterm": "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 "
    "7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff",
    "VGA": "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa "
    "555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff",
    "VTE": "2e3436 cc0000 4e9a06 c4a000 3465a4 75507b 06989a d3d7cf "
    "555753 ef2929 8ae234 fce94f 729fcf ad7fa8 34e2e2 ffffff",
}
"""The sixteen colours as they are where nobody chose others."""
GROUNDS = {"ansi-dark": [BLACK], "ansi-light": [WHITE], "ansi-either": [BLACK, WHITE]}
OWN = [(theme, colours) for theme in (DARK.name, LIGHT.name) for colours in ("truecolor", "256")]


@pytest.fixture
def colours(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """So many colours has the terminal."""
    colours = str(request.param)
    monkeypatch.setenv("COLORTERM", "truecolor" if colours == "truecolor" else "")
    monkeypatch.setenv("TERM", "xterm" if colours == "standard" else "xterm-256color")
    return colours


def luminance(rgb: tuple[int, int, int]) -> float:
    parts = (one / 255 for one in rgb)
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def ratio(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def contrast(style: Style, colours: str = "truecolor") -> float:
    """The contrast of a style that names its colours, as a terminal of so many shows them."""
    assert style.color is not None and style.bgcolor is not None
    pair = [style.color, style.bgcolor]
    if colours == "256":
        pair = [one.downgrade(ColorSystem.EIGHT_BIT) for one in pair]
    ink, ground = (one.get_truecolor() for one in pair)
    return ratio(ink, ground)


def least_contrast(style: Style, palette: str, ground: tuple[int, int, int]) -> float:
    """The same in the terminal's own colours, on its own ground."""
    text = WHITE if ground == BLACK else BLACK
    sixteen = [Color.parse(f"#{one}").rgb for one in PALETTES[palette].split()]
    theme = TerminalTheme(ground, text, sixteen[:8], sixteen[8:])

    def shown(color: RichColor | None, foreground: bool) -> tuple[int, int, int]:
        return (color or RichColor.default()).get_truecolor(theme, foreground=foreground)

    ink, behind = shown(style.color, True), shown(style.bgcolor, False)
    if style.dim:
        parts = zip(ink, behind, strict=True)
        red, green, blue = (round(a * DIM + b * (1 - DIM)) for a, b in parts)
        ink = (red, green, blue)
    return ratio(ink, behind)


def grounds(view: LineView, name: str) -> dict[str, Style]:
    """An ink on each ground that lines of a view have."""
    line, here = ((name, name),), {"plain": strip_of(((name, name),), 20, view.ink, Style())}
    for ground in ("cursor", "cursor-blurred"):
        here[ground] = strip_of(line, 20, view._lit_ink, view._ground(ground))
    return {on: view.rich_style + next(iter(strip)).style for on, strip in here.items()}


@pytest.mark.parametrize("theme, colours", OWN, indirect=["colours"])
async def test_every_ink_of_words_can_be_read(theme: str, colours: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        assert stage.app.console.color_system == colours
        views = {"a pane": stage.live.rollouts, "the line of keys": stage.live.keys}
        found = {
            (where, on, name): contrast(style, colours)
            for where, view in views.items()
            for name in WORDS
            for on, style in grounds(view, name).items()
            if on == "plain" or view is stage.live.rollouts  # only panes have a cursor
        }
        assert {what: round(one, 2) for what, one in found.items() if one < LEAST} == {}


@pytest.mark.parametrize("colours", ["truecolor", "standard"], indirect=True)
@pytest.mark.parametrize("theme", GROUNDS)
async def test_every_ink_can_be_read_in_the_terminals_own_colours(theme: str, colours: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        view = stage.live.rollouts
        found = {
            (palette, ground, name): least_contrast(style, palette, ground)
            for name in WORDS
            for style in (view.rich_style + view.ink(name),)
            if not style.reverse
            for palette in PALETTES
            for ground in GROUNDS[theme]
        }
        assert {what: round(one, 2) for what, one in found.items() if one < LEAST} == {}


@pytest.mark.parametrize("colours", ["standard"], indirect=True)
@pytest.mark.parametrize("theme", GROUNDS)
async def test_no_line_is_black_where_there_are_eight_colours(theme: str, colours: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        strips = stage.app.screen._compositor.render_strips()
        styles = {one.style for strip in strips for one in strip if one.style}
        drawn = {
            color.number for style in styles for color in (style.color, style.bgcolor) if color
        }
        assert not drawn & {0, 7, 8}


@pytest.mark.parametrize("theme", [DARK_256, LIGHT_256], ids=lambda theme: theme.name)
def test_each_colour_is_one_of_the_256_and_not_rounded_far(theme: Theme) -> None:
    named = [one for one in vars(theme).values() if isinstance(one, str) and one.startswith("#")]
    for color in (*named, *theme.variables.values()):
        shown = RichColor.parse(color).downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
        assert max(abs(a - b) for a, b in zip(shown, Color.parse(color).rgb, strict=True)) <= 2


@pytest.mark.parametrize("theme, colours", OWN, indirect=["colours"])
async def test_lines_and_bars_can_be_seen(theme: str, colours: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        view = stage.live.rollouts
        found = {
            name: contrast(view.rich_style + view.ink(name), colours)
            for name in ("rule", "brace", "histogram", "bar-good")
        }
        assert {what: round(one, 2) for what, one in found.items() if one < SEEN} == {}


@pytest.mark.parametrize("theme", [DARK, LIGHT, DARK_256, LIGHT_256])
def test_the_thumb_of_a_scrollbar_can_be_seen_and_more_so_under_the_mouse(theme: Theme) -> None:
    colors = (theme.variables[f"scrollbar{state}"] for state in ("", "-hover", "-active"))
    ground = theme.variables["scrollbar-background"]
    found = [contrast(Style(color=color, bgcolor=ground), "256") for color in colors]
    assert found[0] >= SEEN and found == sorted(found)


@pytest.mark.parametrize("theme, colours", OWN, indirect=["colours"])
async def test_what_is_selected_can_be_read(theme: str, colours: str) -> None:
    async with at_home() as stage:
        stage.app.theme = theme
        await stage.press("3", "j")
        strip = stage.home.endpoints.render_line(1)
        found = {
            one.text: contrast(one.style, colours)
            for one in strip
            if one.style and one.text.strip()
        }
        assert any("not checked" in text for text in found)
        assert {text: round(one, 2) for text, one in found.items() if one < LEAST} == {}


@pytest.mark.parametrize("theme, colours", OWN, indirect=["colours"])
async def test_the_palette_and_titles_can_be_read(theme: str, colours: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        titles = stage.live._compositor.render_strips()
        await opened_palette(stage, *"rr")
        palette = stage.app.screen.query_one("#--container").region
        strips = stage.app.screen._compositor.render_strips()[palette.y : palette.bottom]
        found = {
            one.text: contrast(one.style, colours)
            for strip in (*titles, *(strip.crop(palette.x, palette.right) for strip in strips))
            for one in strip
            if one.style and any(sign.isalpha() for sign in one.text)
        }
        assert any("key e" in text for text in found) and any("Reward" in text for text in found)
        assert {text: round(one, 2) for text, one in found.items() if one < LEAST} == {}


@pytest.mark.parametrize("theme", ["tui-eval-dark", "tui-eval-light", "ansi-dark", "ansi-light"])
async def test_good_warning_failed_and_accent_are_four_colours(theme: str) -> None:
    async with staged_app(over()) as stage:
        stage.app.theme = theme
        await stage.pilot.pause()
        colors = [stage.live.rollouts.ink(ink).color for ink in ("good", "warn", "bad", "accent")]
        distinct = {color.name.replace("bright_", "") for color in colors}  # bold may brighten
        assert len(distinct) == 4


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
