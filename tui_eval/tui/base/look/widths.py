"""Signs whose cells terminals count differently, and columns that hold nevertheless.

A spacing mark of Devanagari, Bengali or Tamil is a cell of its own to most terminals, and none to
some and to Rich. Here it is one, so that no text reaches over its room; where a terminal counts
less, the cells that are left are blank, and the cursor is put where the next text belongs.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from itertools import groupby

from rich import cells

from tui_eval.printable import RIGHT_TO_LEFT
from tui_eval.tui.base.textual_private import cell_widths

_LEFT_TO_RIGHT_MARK = "\u200e"
_INDIC = "\u0900-\u0dff"
_PART = re.compile(r"\x1b\[([0-9;?<=>]*)([ -/]*[@-~])|\x1b[^\[]|\n|[^\x1b\n]+")
_FIRST_MARK, _LAST_MARK = 0x0900, 0xFFFF
"""Older scripts are beyond: with them searching a frame takes seventy times as long."""


@functools.cache
def spacing_marks() -> str:
    """All spacing marks that Rich gives no cell."""
    return "".join(
        chr(code)
        for start, end, width in cell_widths()
        if width == 0 and start >= _FIRST_MARK and end <= _LAST_MARK
        for code in range(start, end + 1)
        if unicodedata.category(chr(code)) == "Mc"
    )


@functools.cache
def count_spacing_marks() -> None:
    """Has Rich, and with it Textual, count a cell for each spacing mark in this process."""
    marks = set(map(ord, spacing_marks()))
    widths = cell_widths()
    counted: list[tuple[int, int, int]] = []
    for start, end, width in widths:
        if width or start > _LAST_MARK:
            counted.append((start, end, width))
            continue
        for is_mark, alike in groupby(range(start, end + 1), marks.__contains__):
            if not is_mark:
                codes = [*alike]
                counted.append((codes[0], codes[-1], 0))
    widths[:] = counted
    cells.get_character_cell_size.cache_clear()
    cells.cached_cell_len.cache_clear()


@functools.cache
def _sign() -> re.Pattern[str]:
    return re.compile(f"[{spacing_marks()}{_INDIC}{RIGHT_TO_LEFT}]")


@functools.cache
def _disputed() -> re.Pattern[str]:
    """A pattern of words with such signs, or from right to left with numbers between."""
    leftward, marked = (
        rf"[^\s{signs}\x00-\x7f─-◿]*[{signs}][^\s─-◿]*"
        for signs in (RIGHT_TO_LEFT, spacing_marks() + _INDIC)
    )
    numbers = r"(?: [^\sA-Za-z─-◿]+)*? "
    return re.compile(rf"{leftward}(?:{numbers}{leftward})*|{marked}(?: {marked})*")


def is_placed_with_its_word(sign: str) -> bool:
    """Whether a sign has its column from `hold_columns`, which writes its word in one piece."""
    return _sign().match(sign) is not None


def hold_columns(frame: str) -> str:
    """Terminal output with each text in its own column.

    Before a text that terminals measure differently its cells are blanked, and after it the cursor
    is placed; one from right to left is closed, lest the text behind it is turned around.

    Args:
        frame: Text and escape sequences; the cursor is placed before each line of text.
    """
    if not _sign().search(frame):
        return frame
    out: list[str] = []
    column = 0
    for part in _PART.finditer(frame):
        text, (numbers, final) = part.group(), part.groups()
        if text == "\n":
            column = 1
        elif final in ("H", "f"):
            column = int(numbers.rpartition(";")[2] or 1) if ";" in numbers else 1
        elif final == "G":
            column = int(numbers or 1)
        elif not text.startswith("\x1b"):
            out.append(_placed(text, column) if column else text)
            column += cells.cell_len(text) if column else 0
            continue
        out.append(text)
    return "".join(out)


def _placed(text: str, column: int) -> str:
    """A text without escape sequences that begins in a column, counted from 1."""
    out: list[str] = []
    end = 0
    for found in _disputed().finditer(text):
        before, word = text[end : found.start()], found.group()
        column += cells.cell_len(before)
        width = cells.cell_len(word)
        runs_left = any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in word)
        close = _LEFT_TO_RIGHT_MARK if runs_left else ""
        out += before, " " * width, f"\x1b[{column}G", word, close, f"\x1b[{column + width}G"
        column += width
        end = found.end()
    return "".join((*out, text[end:]))
