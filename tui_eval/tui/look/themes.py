"""The two themes of the house, and the terminal's own colours."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme

from tui_eval.tui.terminal.browser import in_browser

DARK = Theme(
    name="tui-eval-dark",
    primary="#7aa2c9",
    secondary="#8f8fbf",
    accent="#c3a6d9",
    warning="#d9b26a",
    error="#e08080",
    success="#8fbf8f",
    foreground="#d6d8dc",
    background="#15171b",
    surface="#1b1e23",
    panel="#22262d",
    dark=True,
    variables={
        "text-primary": "#8db4da",
        "border-blurred": "#434850",
        "scrollbar": "#4a505b",
        "scrollbar-hover": "#5a616d",
        "scrollbar-active": "#6b727f",
        "scrollbar-background": "#15171b",
        "scrollbar-background-hover": "#15171b",
        "scrollbar-background-active": "#15171b",
    },
)

LIGHT = Theme(
    name="tui-eval-light",
    primary="#2f6690",
    secondary="#5a5a94",
    accent="#7b4f9d",
    warning="#8a5a00",
    error="#b3363b",
    success="#2f7a3f",
    foreground="#25282d",
    background="#fafaf8",
    surface="#f1f1ee",
    panel="#e7e7e3",
    dark=False,
    variables={
        "text-primary": "#245a86",
        "text-success": "#256b34",
        "text-error": "#ab2c32",
        "text-warning": "#7a4f00",
        "text-accent": "#6f4391",
        "border-blurred": "#b2b5b9",
        "scrollbar": "#a3a7ac",
        "scrollbar-hover": "#92969c",
        "scrollbar-active": "#82868d",
        "scrollbar-background": "#fafaf8",
        "scrollbar-background-hover": "#fafaf8",
        "scrollbar-background-active": "#fafaf8",
    },
)

TERMINAL_DARK = replace(BUILTIN_THEMES["ansi-dark"], primary="ansi_cyan", accent="ansi_magenta")
TERMINAL_LIGHT = replace(BUILTIN_THEMES["ansi-light"], warning="ansi_magenta", accent="ansi_blue")
"""What is good, what warns and what failed have a colour each; on a light ground bold yellow, which
many terminals brighten, cannot be read, and on a dark one neither can the blue that most have."""

THEMES = (DARK, LIGHT, TERMINAL_DARK, TERMINAL_LIGHT)


def terminal_theme() -> str:
    """Textual's theme of the terminal's own colours, for a light ground where it says so."""
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "ansi-light" if ground in ("7", "15") else "ansi-dark"


class Choice(NamedTuple):
    """A theme that can be chosen: what it is to people, and its name to Textual."""

    meaning: str
    theme: Callable[[], str]


CHOICES = {
    "dark": Choice("Light text on a dark ground", lambda: DARK.name),
    "light": Choice("Dark text on a light ground", lambda: LIGHT.name),
    "terminal": Choice("The colours of the terminal", terminal_theme),
}


def choices() -> dict[str, Choice]:
    """What can be chosen here: a browser's terminal has no colours that somebody set."""
    return {name: one for name, one in CHOICES.items() if name != "terminal" or not in_browser()}


def dress(app: App[Any], chosen: str) -> None:
    """Puts a theme on an app: the environment's, else the chosen one, else what fits the terminal.

    The environment may name it as the settings do, or as Textual does.

    Args:
        chosen: One of `CHOICES`, or empty.
    """
    for theme in THEMES:
        app.register_theme(theme)
    app.theme = DARK.name  # Textual's own default may already be the wished one, unstyled
    sixteen_colours = app.console.color_system == "standard"
    usual = "terminal" if sixteen_colours else "dark"
    named = os.environ.get("TEXTUAL_THEME", "")
    chosen = named if named in CHOICES else chosen
    known = named in app.available_themes and not (in_browser() and named.startswith("ansi"))
    offered = choices()
    app.theme = named if known else offered[chosen if chosen in offered else usual].theme()
