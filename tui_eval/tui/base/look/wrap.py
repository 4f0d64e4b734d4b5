"""Long text cut into screen lines, only as many as are requested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec
from rich.cells import cell_len, chop_cells, get_character_cell_size

from tui_eval.printable import printable
from tui_eval.tui.base.look.ink import Line, Span

COUNTED = 500_000
"""Characters beyond the shown ones whose lines are counted; more are estimated."""

HANG_MOST = 4

_WORD = re.compile(r"\s*\S+|\s+$")


class Shown(msgspec.Struct):
    """The first lines of a text, about how many there are beyond, and it as printable `source`."""

    lines: list[str]
    rest: int
    source: str

    def offsets(self) -> list[int]:
        """Where each line begins in `source`: between two lines there is blank only."""
        found, at = [], 0
        for line in self.lines:
            at = max(self.source.find(line, at), at)
            found.append(at)
            at += len(line)
            if self.source.startswith("\n", at):
                at += 1
        return found

    def hangs(self) -> list[int]:
        """Cells before each line that continues an indented one; it has room for them."""
        found = []
        for at in self.offsets():
            begin = self.source.rfind("\n", 0, at) + 1
            found.append(indent_of(self.source[begin : begin + HANG_MOST + 1]) if begin < at else 0)
        return found


def shown(text: str, width: int, most: int, hangs: bool = False) -> Shown:
    """The first `most` lines of an untrusted text.

    Only the shown part is made printable: a long text costs hardly more than a short one.

    Args:
        hangs: Whether lines leave room for `Shown.hangs`.
    """
    text = text.strip("\r\n")
    enough = (most + 3) * max(width, 1) * 4
    end = text.find("\n", enough, 2 * enough)
    if end < 0:
        end = enough
    source = printable(text[:end])
    lines, rest = wrap(source, width, most, hangs)
    if end < len(text):
        rest += _count(text[end:].removeprefix("\n"), max(width, 1))
    return Shown(lines, rest, source)


def shown_lines(text: str, width: int, most: int) -> tuple[list[str], int]:
    """The first `most` lines of an untrusted text, and about how many more it has."""
    found = shown(text, width, most)
    return found.lines, found.rest


def hanging(sign: Span, text: str, ink: str, width: int, most: int) -> list[Line]:
    """The first `most` lines of an untrusted text, behind a sign of two cells."""
    lines, _ = shown_lines(text, max(width - 2, 1), most)
    return [(("  ", "") if at else sign, (part, ink)) for at, part in enumerate(lines)]


def about_lines(text: str, width: int, most: int) -> int:
    """An estimate of how many lines `shown` gives; it costs next to nothing."""
    looked = text[: (most + 1) * max(width, 1)]
    return min(looked.count("\n") + len(looked) // max(width, 1) + 1, most)


def wrap(text: str, width: int, most: int, hangs: bool = False) -> tuple[list[str], int]:
    """The first `most` lines of a text that is already printable, and how many it has beyond.

    Lines break at spaces where they can and keep their indentation. The work is proportional to
    what is returned; the count of the rest takes long lines as filled to the width.
    """
    width = max(width, 1)
    lines: list[str] = []
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        room = most - len(lines)
        line = text[start:end]
        start = end + 1
        if room > 0 and len(line) <= width and line.isascii():
            lines.append(line)
            continue
        hang = indent_of(line[: HANG_MOST + 1]) if hangs else 0
        got = list(islice(wrap_line(line[: (room + 1) * width * 4], width, hang), room + 1))
        if len(got) > room:
            taken = sum(map(len, got[:room]))
            lines += got[:room]
            return lines, _count(line[taken:], width) + (
                _count(text[end + 1 :], width) if end < len(text) else 0
            )
        lines += got
    return lines, 0


def _count(text: str, width: int) -> int:
    if len(text) > COUNTED:
        return max(text.count("\n") + 1, len(text) // width)
    return sum(max(1, -(-len(line) // width)) for line in text.split("\n"))


def indent_of(line: str) -> int:
    """Blanks before a line, as far as others hang below it."""
    return min(len(line) - len(line.lstrip(" ")), HANG_MOST)


def wrap_line(line: str, width: int, hang: int = 0) -> Iterator[str]:
    """One printable line of text as the lines of a screen.

    Args:
        hang: Cells that all but the first one leave free.
    """
    is_narrow = line.isascii() or all(get_character_cell_size(char) == 1 for char in set(line))
    wrapped = _wrap_narrow if is_narrow else _wrap_wide
    if hang:
        first = next(wrapped(line, width))
        yield first
        line, width = line[len(first) :].removeprefix(" "), max(width - hang, 1)
        if not line:
            return
    yield from wrapped(line, width)


def _wrap_narrow(line: str, width: int) -> Iterator[str]:
    start = 0
    while len(line) - start > width:
        cut = line.rfind(" ", start, start + width + 1)
        if cut <= start or line[start:cut].isspace():
            yield line[start : start + width]
            start += width
        else:
            yield line[start:cut]
            start = cut + 1
    yield line[start:]


def _wrap_wide(line: str, width: int) -> Iterator[str]:
    current, used = "", 0
    for word in _WORD.findall(line):
        size = cell_len(word)
        if used and used + size > width:
            yield current
            word = word.lstrip()
            current, used, size = "", 0, cell_len(word)
        if size > width:
            *full, word = chop_cells(word, width) or [""]
            yield from full
            size = cell_len(word)
        current += word
        used += size
    yield current
