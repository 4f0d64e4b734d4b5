"""The colours of each theme, and the choice of an app's theme: people's own, as far as the terminal
can show it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any, cast

from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.console import COLOR_SYSTEMS, Console
from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme

from tui_eval.tui.base.terminal.browser import in_browser

SCROLLBARS = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")


SHADES = {
    "ink-muted": ("foreground", 72, 80),
    "ink-title": ("foreground", 68, 70),
    "ink-faint": ("foreground", 58, 70),
    "ink-thought": ("foreground", 66, 73),
    "ink-rule": ("foreground", 25, 36),
    "ink-brace": ("foreground", 40, 50),
    "ink-histogram": ("primary", 75, 88),
    "ink-bar-good": ("success", 75, 88),
    "ink-match": ("foreground", 100, 100),
    "ground-match": ("warning", 32, 32),
    "ground-cursor": ("primary", 20, 20),
    "ground-blurred": ("foreground", 9, 12),
}
"""Shares of a theme's colours that are laid over a dark and a light background."""
ANSI_SHADES = dict.fromkeys(SHADES, "ansi_default")


def shades_of(theme: Theme) -> dict[str, str]:
    """Shades for a theme that has none."""
    if theme.ansi:
        return ANSI_SHADES
    colours = {
        "foreground": theme.foreground or ("#e0e0e0" if theme.dark else "#202020"),
        "primary": theme.primary,
        "success": theme.success or theme.primary,
        "warning": theme.warning or theme.primary,
    }
    return {
        name: f"{colours[of]} {dark if theme.dark else light}%"
        for name, (of, dark, light) in SHADES.items()
    }


COLOURS = {
    "primary": ("#7aa2c9", "#2f6690", 110, 24),
    "secondary": ("#8f8fbf", "#5a5a94", 146, 60),
    "accent": ("#c3a6d9", "#734794", 176, 91),
    "warning": ("#d9b26a", "#8a5a00", 179, 58),
    "error": ("#e08080", "#b3363b", 174, 124),
    "success": ("#8fbf8f", "#2f7a3f", 108, 22),
    "foreground": ("#d6d8dc", "#25282d", 252, 235),
    "background": ("#15171b", "#fafaf8", 233, 231),
    "surface": ("#1b1e23", "#f1f1ee", 234, 255),
    "panel": ("#22262d", "#e7e7e3", 235, 254),
}
"""Colours by Textual's names: on a dark and a light background, and both in 256 colours."""
VARIABLES = {
    "text-primary": ("#8db4da", "#245a86", 110, 24),
    "text-success": (None, "#256b34", 108, 22),
    "text-error": (None, "#ab2c32", 174, 124),
    "text-warning": (None, "#7a4f00", 179, 58),
    "text-accent": (None, "#6f4391", 182, 90),
    "border-blurred": ("#434850", "#b2b5b9", 238, 249),
    "scrollbar": ("#4a505b", "#a3a7ac", 239, 247),
    "scrollbar-hover": ("#5a616d", "#92969c", 241, 246),
    "scrollbar-active": ("#6b727f", "#82868d", 243, 244),
    "ink-muted": (None, None, 248, 239),
    "ink-title": (None, None, 247, 240),
    "ink-faint": (None, None, 246, 241),
    "ink-thought": (None, None, 247, 240),
    "ink-rule": (None, None, 239, 248),
    "ink-brace": (None, None, 242, 245),
    "ink-histogram": (None, None, 67, 67),
    "ink-bar-good": (None, None, 65, 65),
    "ink-match": (None, None, 231, 235),
    "ground-match": (None, None, 58, 222),
    "ground-cursor": (None, None, 236, 189),
    "ground-blurred": (None, None, 235, 254),
}
"""The same for our style sheets; None is derived from `COLOURS` by Textual or `SHADES`."""
LIGHT_GREYS = range(247, 256)


def _hex(colour: str | int) -> str:
    """A colour in hex, also of a number of 256; Rich rounds light greys up by two."""
    if isinstance(colour, str):
        return colour
    parts = Color.from_ansi(colour).get_truecolor()
    return ColorTriplet(*(one + 2 * (colour in LIGHT_GREYS) for one in parts)).hex


def _own_theme(name: str, dark: bool, column: int) -> Theme:
    colours: dict[str, Any] = {key: _hex(row[column]) for key, row in COLOURS.items()}
    variables = {key: _hex(one) for key, row in VARIABLES.items() if (one := row[column])}
    variables |= dict.fromkeys(SCROLLBARS, colours["background"])
    return Theme(name=name, dark=dark, variables=variables, **colours)


DARK = _own_theme("tui-eval-dark", True, 0)
LIGHT = _own_theme("tui-eval-light", False, 1)
DARK_256 = _own_theme(DARK.name, True, 2)
LIGHT_256 = _own_theme(LIGHT.name, False, 3)


TERMINAL_COLOURS = {
    "primary": ("cyan", "blue", "default"),
    "success": ("green", "blue", "default"),
    "accent": ("bright_magenta", "default", "default"),
    "warning": ("bright_yellow", "magenta", "default"),
    "error": ("bright_red", "red", "default"),
}
"""The terminal's own colours: on a dark background, a light one, and either.

On a dark ground neither the red, the magenta nor the brown of most palettes can be read, on a light
one neither green, yellow nor cyan; on a ground that is not known no colour can.
"""


def _terminal_theme(name: str, like: str, column: int, lines: str) -> Theme:
    colours: dict[str, Any] = {key: f"ansi_{row[column]}" for key, row in TERMINAL_COLOURS.items()}
    variables = {
        **BUILTIN_THEMES[like].variables,
        **ANSI_SHADES,
        "text-accent": colours["accent"],
        "border": colours["primary"],
        "border-blurred": lines,
        "ink-histogram": colours["primary"],
        "ink-bar-good": colours["success"],
        **{f"scrollbar{state}": lines for state in ("", "-hover", "-active")},
        **dict.fromkeys(SCROLLBARS, "ansi_default"),
    }
    colours |= {"secondary": colours["primary"], "variables": variables}
    return replace(BUILTIN_THEMES[like], name=name, **colours)


def themes(colours: str | None) -> tuple[Theme, ...]:
    """Our themes for a number of colours, as Rich names these."""
    own = (DARK_256, LIGHT_256) if colours == "256" else (DARK, LIGHT)
    # Bright black is black where there are eight colours.
    lines = "ansi_bright_black" if colours in ("256", "truecolor") else "ansi_default"
    return (
        *own,
        _terminal_theme("ansi-dark", "ansi-dark", 0, lines),
        _terminal_theme("ansi-light", "ansi-light", 1, lines),
        _terminal_theme("ansi-either", "ansi-dark", 2, lines),
    )


PATIENCE_S = 0.5
_NAME = ("tmux", "display-message", "-p", "#{client_termname}")


def known_colours(claimed: str | None) -> str | None:
    """The colours that a terminal has, of those that TERM and COLORTERM claim, as Rich names them.

    GNU screen has no more than 256, and COLORTERM may be set by the terminal around it;
    tmux makes fewer of 256 where the terminal around it has fewer, grey to black among them.
    """
    if claimed not in ("256", "truecolor"):
        return claimed
    term = os.environ.get("TERM", "")
    in_tmux = bool(os.environ.get("TMUX"))
    if os.environ.get("STY") or (term.startswith("screen") and not in_tmux):
        claimed = "256" if term.endswith("256color") else "standard"
    if in_tmux and 0 < _colours_around_tmux() < 256:
        return "standard"
    return claimed


def _colours_around_tmux() -> int:
    """The colours of the terminal that tmux draws on; 0 where they are not known."""
    try:
        import curses

        done = subprocess.run(
            _NAME, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=True
        )
        term = done.stdout.decode("utf-8", "replace").strip()
        curses.setupterm(term, sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return max(curses.tigetnum("colors"), 0)
    except (ImportError, OSError, ValueError, subprocess.SubprocessError):
        return 0  # not every Python has curses
    except curses.error:
        return 0


FEW_COLOURS = ("standard", "windows", None)
"""Rich's names of terminals with sixteen colours or fewer."""
CHOICES = {
    "dark": "Light text on a dark ground",
    "light": "Dark text on a light ground",
    "terminal": "The colours of the terminal",
}
"""Themes to choose from, and their descriptions."""
_answered: bool | None = None


def keep_answer(is_light: bool | None) -> None:
    """Stores the terminal's answer, whether its background is light, for the process."""
    global _answered
    _answered = is_light


def _has_light_ground() -> bool | None:
    """Whether the terminal's background is light; None where that is unknown."""
    if _answered is not None:
        return _answered
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    if ground.isdecimal():
        return int(ground) in (7, *range(9, 16))
    return False if os.environ.get("TERM") == "linux" else None


def theme_of(app: App[Any], chosen: str) -> str:
    """Textual's name of the chosen theme; without a choice, of one that fits the terminal.

    A terminal of few colours has only its own background, light or dark as it says; the
    choice counts where it says nothing.
    """
    light = None if in_browser() else _has_light_ground()
    if chosen != "terminal" and app.console.color_system not in FEW_COLOURS:
        light = light if not chosen else chosen == "light"
        return LIGHT.name if light else DARK.name
    if light is None and chosen in ("dark", "light"):
        light = chosen == "light"
    return {True: "ansi-light", False: "ansi-dark", None: "ansi-either"}[light]


def choices() -> dict[str, str]:
    """The choices here: a browser's terminal has no colours of its own."""
    return {name: one for name, one in CHOICES.items() if name != "terminal" or not in_browser()}


def dress(app: App[Any], chosen: str) -> None:
    """Puts a theme on an app: the environment's, else the chosen one, else what fits the terminal.

    The environment may name it as the settings do, one of `CHOICES`, or as Textual does.
    """
    known = known_colours(app.console.color_system)
    if known in COLOR_SYSTEMS and known != app.console.color_system:
        app.console = Console(  # as Textual makes it, but for the colours
            color_system=cast(Any, known),
            file=app.console.file,
            no_color=app.console.no_color,
            highlight=False,
            emoji=False,
            legacy_windows=False,
            force_terminal=True,
            safe_box=False,
            soft_wrap=False,
        )
    for theme in themes(app.console.color_system):
        app.register_theme(theme)
    app.theme = DARK.name  # Textual's own default may already be the wished one, unstyled
    app.theme = fitting_theme(app, chosen)


def fitting_theme(app: App[Any], chosen: str) -> str:
    """Textual's name of the theme for an app; see `dress`."""
    named = os.environ.get("TEXTUAL_THEME", "")
    chosen = named if named in CHOICES else chosen
    if named in app.available_themes and not (in_browser() and named.startswith("ansi")):
        return named
    return theme_of(app, chosen if chosen in choices() else "")
