"""The two themes of the house; Textual's own can be chosen too."""

from __future__ import annotations

from textual.theme import Theme

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
        "border-blurred": "#3a3f48",
        "scrollbar": "#2b2f36",
        "scrollbar-hover": "#3a3f48",
        "scrollbar-active": "#4a505b",
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
        "border-blurred": "#c4c6c9",
        "scrollbar": "#dcdddb",
        "scrollbar-hover": "#c9cbce",
        "scrollbar-active": "#b5b8bc",
        "scrollbar-background": "#fafaf8",
        "scrollbar-background-hover": "#fafaf8",
        "scrollbar-background-active": "#fafaf8",
    },
)

THEMES = (DARK, LIGHT)
