"""The layout of a piece of the trajectory: a head, and as much of its texts as is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tui_eval.printable import printable
from tui_eval.text.figures import plural
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import Line, line_width
from tui_eval.tui.base.look.wrap import Shown, about_lines, shown

STEP = 2000
"""Lines that one more press of the key shows."""


class Block(NamedTuple):
    """A text of a piece.

    Args:
        first, later: Spans before its first line, and before each other.
        usual: Lines that are shown by default.
        language: Its language, for highlighting; empty for plain text.
        measure: The most cells that it takes, whatever the width of the pane.
        hangs: Whether a line that is too long continues at its own indent.
    """

    name: str
    text: str
    first: Line
    later: Line
    usual: int
    ink: str = ""
    language: str = ""
    measure: int = 1 << 30
    hangs: bool = False

    def width(self, pane: int) -> int:
        """Cells of its lines in a pane."""
        return max(min(pane, self.measure) - line_width(self.first), 1)


class Placed(NamedTuple):
    """Lines of a piece that show a text.

    Args:
        at: The first of them, counted in the piece.
        skipped: Characters of the text before them that are not shown.
        lead: Spans before the text in each line.
    """

    block: Block
    at: int
    shown: Shown
    skipped: int = 0
    lead: int = 1


class View(NamedTuple):
    """The shown part of a piece.

    Args:
        limit: Lines of each text; None for the usual number, 0 for folded.
        block: The name of a text that is shown from the middle: from the character `skip` on
            of what can be shown of it.
    """

    limit: int | None = None
    block: str = ""
    skip: int = 0


USUAL = View()


class Piece(NamedTuple):
    """A part of the trajectory that is selected and folded as one.

    Args:
        lines: The lines that are shown.
        hidden: The number of other lines, as far as is known.
        folds: Whether it can be folded or unfolded.
        placed: Where its texts are.
    """

    lines: tuple[Line, ...]
    hidden: int = 0
    folds: bool = False
    placed: tuple[Placed, ...] = ()


def lay_out(head: Line, blocks: Iterable[Block], view: View, width: int) -> Piece:
    """A head with its texts below, each as far as `view` says."""
    lines, hidden = [head], 0
    placed: list[Placed] = []
    for block in blocks:
        most = lines_at_most(block.usual, view)
        skip = view.skip if block.name == view.block else 0
        text = printable(block.text.strip("\r\n"))[skip:] if skip else block.text
        found = shown(text, block.width(width), most, block.hangs)
        if 0 < found.rest <= 2 and view.limit is None:
            found = shown(text, block.width(width), most + 2, block.hangs)
        is_cut = found.rest and view.limit is None
        while is_cut and len(found.lines) > 1 and not found.lines[-1].strip():
            found.lines.pop()
            found.rest += 1
        if skip:
            hides = f"  {key_for('trajectory.switch-fold')} hides"
            lines.append((*block.later, ("… earlier lines", "muted"), (hides, "faint")))
        placed.append(Placed(block, len(lines), found, skip, len(block.first)))
        hangs = found.hangs() if block.hangs else [0] * len(found.lines)
        for at, (part, hang) in enumerate(zip(found.lines, hangs, strict=True)):
            *lead, (start, ink) = block.later if at else block.first
            lines.append((*lead, (start + " " * hang, ink), (part, block.ink)))
        lines += _more(found.rest, block.later)
        hidden += found.rest
    return Piece(tuple(lines), hidden, hidden > 0 or len(lines) > 2, tuple(placed))


def about_height(blocks: Iterable[Block], view: View, width: int) -> int:
    """An estimate of the lines that `lay_out` gives; it costs next to nothing."""
    return 1 + sum(
        about_lines(block.text, block.width(width), lines_at_most(block.usual, view))
        for block in blocks
    )


def lines_at_most(usual: int, view: View) -> int:
    """The lines of a text to show, where so many are usual."""
    return max(usual if view.limit is None else view.limit, 1)


def _more(hidden: int, before: Line) -> list[Line]:
    if hidden <= 0:
        return []
    key = key_for("trajectory.switch-fold")
    does = f"{key} shows {STEP:,}" if hidden > STEP else f"{key} to show"
    plain = tuple((text, "rule" if text.strip() else ink) for text, ink in before)
    return [(*plain, (f"… {plural(hidden, 'more line')}", "muted"), (f"  {does}", "faint"))]
