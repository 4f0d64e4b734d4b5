"""The theme that an app wears: what people chose, as the terminal can show it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, cast

from rich.console import COLOR_SYSTEMS, Console
from textual.app import App

from tui_eval.tui.base.look.palettes import DARK, LIGHT, themes
from tui_eval.tui.base.terminal.browser import in_browser

PATIENCE_S = 0.5
_NAME = ("tmux", "display-message", "-p", "#{client_termname}")


def known_colours(claimed: str | None) -> str | None:
    """The colours that a terminal has, of those that TERM and COLORTERM claim, as Rich names them.

    GNU screen has no more than 256, and COLORTERM may stand there from the terminal around it;
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
"""What Rich calls terminals of sixteen colours and fewer."""
CHOICES = {
    "dark": "Light text on a dark ground",
    "light": "Dark text on a light ground",
    "terminal": "The colours of the terminal",
}
"""Themes that can be chosen, and what they are to people."""
_answered: bool | None = None


def keep_answer(is_light: bool | None) -> None:
    """Keeps whether the ground is light, as the terminal answered, for all apps of the process."""
    global _answered
    _answered = is_light


def _has_light_ground() -> bool | None:
    """Whether the terminal's ground is light; None where nothing says so."""
    if _answered is not None:
        return _answered
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    if ground.isdecimal():
        return int(ground) in (7, *range(9, 16))
    return False if os.environ.get("TERM") == "linux" else None


def theme_of(app: App[Any], chosen: str) -> str:
    """The name, to Textual, of a theme that was chosen; of none, what fits the terminal.

    A terminal of few colours has no ground but its own, light or dark as it says; what was
    chosen counts where it says nothing.
    """
    light = None if in_browser() else _has_light_ground()
    if chosen != "terminal" and app.console.color_system not in FEW_COLOURS:
        light = light if not chosen else chosen == "light"
        return LIGHT.name if light else DARK.name
    if light is None and chosen in ("dark", "light"):
        light = chosen == "light"
    return {True: "ansi-light", False: "ansi-dark", None: "ansi-either"}[light]


def choices() -> dict[str, str]:
    """What can be chosen here: a browser's terminal has no colours that somebody set."""
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
    """The name, to Textual, of the theme that an app is to wear; see `dress`."""
    named = os.environ.get("TEXTUAL_THEME", "")
    chosen = named if named in CHOICES else chosen
    if named in app.available_themes and not (in_browser() and named.startswith("ansi")):
        return named
    return theme_of(app, chosen if chosen in choices() else "")
