"""A line of the numbers of a run, and what can be gone to from it."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from tui_eval.tui.base.look.ink import Line

Target: TypeAlias = tuple[str, str] | tuple[str, int]
"""What a line is about: an error or a tool by its name, an example by its place, or, as `where`,
the rollouts that a filter finds."""


class NumberLine(NamedTuple):
    """A line, and what can be gone to from it."""

    line: Line
    target: Target | None = None
