"""The only way in for text that somebody else wrote: models, tools, endpoints, environments.

A terminal does what it is sent: a tool's result with an escape sequence could write the clipboard,
move the cursor or draw over other rollouts. No widget and no command prints such a text without
this function.
"""

from __future__ import annotations

import re
import unicodedata

from tui_eval import cuts

# C0 but tab and newline, DEL, C1, zero-width and bidirectional controls, line and paragraph
# separators, lone surrogates, the code points that are no characters, and skin tones: terminals
# disagree on the cells of a sign with one.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U0001f3fb-\U0001f3ff"
    "\U000e0000-\U000e0fff]"
)
# The same, but for what shapes the signs around it, which only a terminal's cells make trouble of.
_STEERING = re.compile("(?![\u200c\u200d\U0001f3fb-\U0001f3ff])" + _UNPRINTABLE.pattern)
_CONTROL_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
# They choose between drawings of one sign or join several, and terminals disagree on the cells that
# those take; tags do so behind a flag, and would hide text anywhere else.
_SELECTORS = re.compile("[\ufe00-\ufe0f\u200c\u200d]|(?<=\U0001f3f4)[\U000e0020-\U000e007f]+")
_TAGS = frozenset(map(chr, range(0xE0020, 0xE0080)))
_SLICE = 1 << 16
"""Characters that are made printable at a time where other threads are to get their turn."""
RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_TURNING = re.compile(
    rf"[{RIGHT_TO_LEFT}][^\sA-Za-z]*(?=\s+[^\sA-Za-z{RIGHT_TO_LEFT}])"
    rf"(?!(?: [^\sA-Za-z]+)*? [^\sA-Za-z]*[{RIGHT_TO_LEFT}])"
)
"""A word from right to left beside a number, unless the text continues behind that."""
_TAB = 8
"""Cells from one tab stop to the next."""


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return _CONTROL_PICTURES.get(code) or f"\\u{{{code:x}}}"


def _tabbed(line: str) -> str:
    """A line with its tabs as spaces."""
    if line.isascii():
        return line.expandtabs(_TAB)
    first, *others = line.split("\t")
    parts, column = [first], _cells(first)
    for part in others:
        room = _TAB - column % _TAB
        parts += " " * room, part
        column += room + _cells(part)
    return "".join(parts)


def _cells(text: str) -> int:
    """About how many cells a text takes."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(unicodedata.category(sign) in ("Mn", "Me") for sign in text)


def printable(text: str) -> str:
    """The same text with everything that could steer a terminal made visible.

    Control characters become their Unicode picture (ESC is shown as one sign), other invisible or
    reordering characters `\\u{...}` with their code. Newlines stay; a tab becomes spaces up to the
    next of the tab stops, eight cells apart; a carriage return before a newline goes, and so do
    variation selectors, joiners, and the tags of a flag. The result holds no character that moves
    the cursor, so it can be drawn as plain text.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\r\n", "\n")
    text = _UNPRINTABLE.sub(_visible, _SELECTORS.sub("", text))
    return "\n".join(map(_tabbed, text.split("\n"))) if "\t" in text else text


def printable_slices(text: str) -> str:
    """`printable` of a long text, in slices, so that other threads get their turn."""
    if len(text) <= _SLICE:
        return printable(text)
    parts, start = [], 0
    while start < len(text):
        line_end = text.find("\n", start + _SLICE)
        line_end = len(text) if line_end < 0 else line_end
        is_cut = line_end > start + 2 * _SLICE and text.find("\t", start, line_end) < 0
        end = start + _SLICE if is_cut else line_end
        # Signs that are shown as one stay together; so do lines with tabs, which count columns.
        while end < len(text) and (text[end - 1] == "\r" or text[end] in _TAGS):
            end += 1
        parts.append(printable(text[start:end]))
        start = end
    return "".join(parts)


def harmless(text: str) -> str:
    """The same for files that are read elsewhere: joined signs, their variants and tabs stay."""
    return _STEERING.sub(_visible, text.replace("\r\n", "\n"))


def one_line(text: str, width: int) -> str:
    """The text on one line, at most `width` characters long, cut with an ellipsis."""
    text = printable(cuts.head(text, width * 4 + 64)).replace("\n", " ").strip()
    return text if len(text) <= width else cuts.head(text, max(width - 1, 0)) + "…"


def left_to_right(line: str) -> str:
    """The same for a line on a terminal: a word from right to left turns no number behind it."""
    return line if line.isascii() else _TURNING.sub("\\g<0>\u200e", line)
