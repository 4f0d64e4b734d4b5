"""A screen as text that can be read and compared: its lines, then where which style begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from rich.cells import cell_len
from rich.style import Style
from textual.app import App
from textual.strip import Strip

MARKS = ("reverse", "strike", "underline", "underline2", "overline")
"""Attributes that are seen on blank cells too."""

ATTRIBUTES = ("bold", "dim", "italic", "blink", *MARKS)

BLANK = "-"
"""The style of cells in which nothing but the background of most of the screen is seen."""


def styled_text(app: App[Any]) -> str:
    """The lines of the screen on top and, below, the runs of equal style of each line.

    A run is the column at which it begins and its style. Lines with the same runs are together;
    those without are left out. The background is only said where it is not that of most cells.
    """
    update: Any = app.screen._compositor.render_update(
        full=True, screen_stack=app._background_screens, simplify=True
    )
    strips = [Strip.join(line) for line in update.strips]
    ground = _ground(strips)
    pictured = [f"{number:>3} {strip.text}".rstrip() for number, strip in enumerate(strips, 1)]
    runs = [_line_of_runs(_runs(strip, ground)) for strip in strips]
    width, height = app.size
    head = f"{width} columns, {height} lines on {ground}"
    return "\n".join([head, "", *pictured, "", *_lines_of_runs(runs), ""])


def _lines_of_runs(runs: list[str]) -> Iterator[str]:
    at = 1
    for line, equal in groupby(runs):
        first, at = at, at + len(list(equal))
        if line:
            yield f"{first}-{at - 1}: {line}" if at - first > 1 else f"{first}: {line}"


def _line_of_runs(runs: Iterable[tuple[int, str]]) -> str:
    return ", ".join(f"{column} {style}" for column, style in runs)


def _runs(strip: Strip, ground: str) -> Iterator[tuple[int, str]]:
    column, before = 0, BLANK
    for text, style, _ in strip:
        is_blank = not text.strip()
        name = _name(style or Style(), ground, is_blank)
        if name != before and not (is_blank and _look_alike(name, before)):
            yield column, name
            before = name
        column += cell_len(text)


def _look_alike(name: str, other: str) -> bool:
    """Whether blank cells of both styles show nothing but the same background."""
    marked = {word for one in (name, other) for word in one.split()} & set(MARKS)
    return not marked and _background(name) == _background(other)


def _background(name: str) -> str:
    return name.rpartition("on ")[2] if "on #" in name or "on default" in name else ""


def _name(style: Style, ground: str, is_blank: bool) -> str:
    words = [name for name in (MARKS if is_blank else ATTRIBUTES) if getattr(style, name)]
    if words or not is_blank:
        words.append(style.color.name if style.color is not None else "default")
    background = style.bgcolor.name if style.bgcolor is not None else "default"
    if background != ground:
        words.append(f"on {background}")
    return " ".join(words) or BLANK


def _ground(strips: list[Strip]) -> str:
    cells: Counter[str] = Counter()
    for strip in strips:
        for text, style, _ in strip:
            background = style.bgcolor if style is not None else None
            cells[background.name if background else "default"] += cell_len(text)
    return cells.most_common(1)[0][0]
