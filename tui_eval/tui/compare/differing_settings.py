"""The settings that are not the same in all runs, a column a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from tui_eval.printable import one_line
from tui_eval.text.figures import NONE
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, left, letter_ink
from tui_eval.tui.base.look.wrap import shown_lines

if TYPE_CHECKING:
    from tui_eval.tui.compare.comparing import ComparedRuns

NAME_MOST = 22
COLUMN_LEAST = 24
VALUE_LINES = 60
SAME = "All settings are the same."


class DifferingSettings(LineView):
    """Long values are wrapped in their columns; below each other where there is no room."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.found: ComparedRuns | None = None
        self._lines: list[Line] = []

    def update(self) -> None:
        """Lays the settings out for the width."""
        found = self.found
        self._lines = [] if found is None else list(setting_lines(found, self.line_width))
        super().update()

    def count(self) -> int:
        """Lines of all settings."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """One of them."""
        return self._lines[index]


def setting_lines(found: ComparedRuns, width: int) -> Iterator[Line]:
    """Every setting that differs, with its value in each run."""
    letters = [one.letter for one in found.runs]
    if not found.settings:
        yield ((SAME, "muted"),)
        return
    name = min(max(map(len, found.settings)), NAME_MOST)
    column = (width - name) // len(letters) - 2
    if column < COLUMN_LEAST:
        yield from _stacked(found, letters, width)
        return
    head: list[Span] = [(" " * name, "")]
    head += [("  " + left(one, column), letter_ink(one)) for one in letters]
    yield tuple(head)
    for setting, values in found.settings.items():
        cells = [shown_lines(_text(value), column, VALUE_LINES)[0] for value in values]
        for at, parts in enumerate(zip_longest(*cells, fillvalue="")):
            shown = one_line(setting, name) if at == 0 else ""
            yield (
                (left(shown, name), "muted"),
                *(("  " + left(part, column), "") for part in parts),
            )


def _stacked(found: ComparedRuns, letters: list[str], width: int) -> Iterator[Line]:
    for setting, values in found.settings.items():
        yield ((one_line(setting, NAME_MOST), "muted"),)
        for letter, value in zip(letters, values, strict=True):
            for at, part in enumerate(shown_lines(_text(value), width - 5, VALUE_LINES)[0]):
                yield (f"  {letter if at == 0 else ' '}  ", letter_ink(letter)), (part, "")
        yield EMPTY


def _text(value: object) -> str:
    return NONE if value is None else str(value)
