"""The colours of each theme, for terminals of 16 million, of 256, and of 16 colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from textual.theme import BUILTIN_THEMES, Theme

SCROLLBARS = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")


def shades(foreground: str, primary: str, success: str, warning: str, dark: bool) -> dict[str, str]:
    """What is drawn in a shade of a theme's colours, each laid over the ground that is there."""
    muted, title, faint, thought = (72, 68, 58, 66) if dark else (80, 70, 70, 73)
    rule, brace = (25, 40) if dark else (36, 50)
    bars, blurred = (75, 9) if dark else (88, 12)
    return {
        "ink-muted": f"{foreground} {muted}%",
        "ink-title": f"{foreground} {title}%",
        "ink-faint": f"{foreground} {faint}%",
        "ink-thought": f"{foreground} {thought}%",
        "ink-rule": f"{foreground} {rule}%",
        "ink-brace": f"{foreground} {brace}%",
        "ink-histogram": f"{primary} {bars}%",
        "ink-bar-good": f"{success} {bars}%",
        "ink-match": foreground,
        "ground-match": f"{warning} 32%",
        "ground-cursor": f"{primary} 20%",
        "ground-blurred": f"{foreground} {blurred}%",
    }


def shades_of(theme: Theme) -> dict[str, str]:
    """The shades of a theme that says nothing of them."""
    if theme.ansi:
        return ANSI_SHADES
    foreground = theme.foreground or ("#e0e0e0" if theme.dark else "#202020")
    success, warning = theme.success or theme.primary, theme.warning or theme.primary
    return shades(foreground, theme.primary, success, warning, theme.dark)


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
        **dict.fromkeys(SCROLLBARS, "#15171b"),
    },
)

LIGHT = Theme(
    name="tui-eval-light",
    primary="#2f6690",
    secondary="#5a5a94",
    accent="#734794",
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
        **dict.fromkeys(SCROLLBARS, "#fafaf8"),
    },
)

DARK_256 = Theme(
    name=DARK.name,
    primary="#87afd7",  # 110
    secondary="#afafd7",  # 146
    accent="#d787d7",  # 176
    warning="#d7af5f",  # 179
    error="#d78787",  # 174
    success="#87af87",  # 108
    foreground="#d2d2d2",  # 252
    background="#121212",  # 233
    surface="#1c1c1c",  # 234
    panel="#262626",  # 235
    dark=True,
    variables={
        "text-primary": "#87afd7",
        "text-success": "#87af87",
        "text-error": "#d78787",
        "text-warning": "#d7af5f",
        "text-accent": "#d7afd7",  # 182
        "border-blurred": "#444444",  # 238
        "scrollbar": "#4e4e4e",  # 239
        "scrollbar-hover": "#626262",  # 241
        "scrollbar-active": "#767676",  # 243
        **dict.fromkeys(SCROLLBARS, "#121212"),
        "ink-muted": "#aaaaaa",  # 248
        "ink-title": "#a0a0a0",  # 247
        "ink-faint": "#949494",  # 246
        "ink-thought": "#a0a0a0",  # 247
        "ink-rule": "#4e4e4e",  # 239
        "ink-brace": "#6c6c6c",  # 242
        "ink-histogram": "#5f87af",  # 67
        "ink-bar-good": "#5f875f",  # 65
        "ink-match": "#ffffff",
        "ground-match": "#5f5f00",  # 58
        "ground-cursor": "#303030",  # 236
        "ground-blurred": "#262626",  # 235
    },
)

LIGHT_256 = Theme(
    name=LIGHT.name,
    primary="#005f87",  # 24
    secondary="#5f5f87",  # 60
    accent="#8700af",  # 91
    warning="#5f5f00",  # 58
    error="#af0000",  # 124
    success="#005f00",  # 22
    foreground="#262626",  # 235
    background="#ffffff",  # 231
    surface="#f0f0f0",  # 255
    panel="#e6e6e6",  # 254
    dark=False,
    variables={
        "text-primary": "#005f87",
        "text-success": "#005f00",
        "text-error": "#af0000",
        "text-warning": "#5f5f00",
        "text-accent": "#870087",  # 90
        "border-blurred": "#b4b4b4",  # 249
        "scrollbar": "#a0a0a0",  # 247
        "scrollbar-hover": "#949494",  # 246
        "scrollbar-active": "#808080",  # 244
        **dict.fromkeys(SCROLLBARS, "#ffffff"),
        "ink-muted": "#4e4e4e",  # 239
        "ink-title": "#585858",  # 240
        "ink-faint": "#626262",  # 241
        "ink-thought": "#585858",  # 240
        "ink-rule": "#aaaaaa",  # 248
        "ink-brace": "#8a8a8a",  # 245
        "ink-histogram": "#5f87af",  # 67
        "ink-bar-good": "#5f875f",  # 65
        "ink-match": "#262626",
        "ground-match": "#ffd787",  # 222
        "ground-cursor": "#d7d7ff",  # 189
        "ground-blurred": "#e6e6e6",  # 254
    },
)
"""Each of these is what a terminal of 256 colours has; as Rich rounds, light greys are two more."""

ANSI_SHADES = dict.fromkeys(shades("", "", "", "", dark=True), "ansi_default")


def _terminal(name: str, like: str, lines: str, colours: Mapping[str, str]) -> Theme:
    primary, success = colours["primary"], colours["success"]
    variables = {
        **BUILTIN_THEMES[like].variables,
        **ANSI_SHADES,
        "text-accent": colours["accent"],
        "border": primary,
        "border-blurred": lines,
        "ink-histogram": primary,
        "ink-bar-good": success,
        **{f"scrollbar{state}": lines for state in ("", "-hover", "-active")},
        **dict.fromkeys(SCROLLBARS, "ansi_default"),
    }
    changes: dict[str, Any] = {**colours, "secondary": primary, "variables": variables}
    return replace(BUILTIN_THEMES[like], name=name, **changes)


def terminal_themes(lines: str) -> tuple[Theme, ...]:
    """Themes of the terminal's own colours: on a dark ground, on a light one, and on either.

    On a dark ground neither the red, the magenta nor the brown of most palettes can be read, on a
    light one neither green, yellow nor cyan; on a ground that is not known no colour can.

    Args:
        lines: The colour of lines: bright black, which is black where there are eight colours.
    """
    dark = {"primary": "cyan", "success": "green", "accent": "bright_magenta"}
    dark |= {"warning": "bright_yellow", "error": "bright_red"}
    light = {"primary": "blue", "success": "blue", "accent": "default"}
    light |= {"warning": "magenta", "error": "red"}
    either = dict.fromkeys(dark, "default")
    return tuple(
        _terminal(name, like, lines, {one: f"ansi_{colour}" for one, colour in colours.items()})
        for name, like, colours in (
            ("ansi-dark", "ansi-dark", dark),
            ("ansi-light", "ansi-light", light),
            ("ansi-either", "ansi-dark", either),
        )
    )


def themes(colours: str | None) -> tuple[Theme, ...]:
    """All themes of our own as they are with so many colours.

    Args:
        colours: As Rich names what a terminal has.
    """
    own = (DARK_256, LIGHT_256) if colours == "256" else (DARK, LIGHT)
    few = colours not in ("256", "truecolor")
    return own + terminal_themes("ansi_default" if few else "ansi_bright_black")
