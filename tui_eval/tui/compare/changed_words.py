"""Which words of two texts that stand beside each other are not in both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TypeAlias

from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.trajectory.marking import overlaid
from tui_eval.tui.trajectory.piece import Piece

Range: TypeAlias = tuple[int, int]
"""The first character and the one after the last."""

LONGEST = 4000
MOST_WORK = 10_000
"""Pairs of equal words in two texts: more take longer than a frame."""
LEAST_ALIKE = 1 / 3
"""Of the shorter text: of those with less in common every word would be marked."""
FEW = 5
"""Words from which on nothing is marked where that would be every one."""

_WORD = re.compile(r"\w+|[^\w\s]+")


def with_changes(first: Piece, second: Piece) -> tuple[list[Line], list[Line]]:
    """The lines of two pieces with the words marked that are not in the other one."""
    ours: dict[str, tuple[Range, ...]] = {}
    theirs: dict[str, tuple[Range, ...]] = {}
    sources = {one.block.name: one.shown.source for one in second.placed}
    for placed in first.placed:
        name = placed.block.name
        if name in sources:
            ours[name], theirs[name] = changed_words(placed.shown.source, sources[name])
    return _marked(first, ours), _marked(second, theirs)


def _marked(piece: Piece, changed: dict[str, tuple[Range, ...]]) -> list[Line]:
    lines = list(piece.lines)
    for placed in piece.placed:
        ranges = changed.get(placed.block.name)
        for at, start in enumerate(placed.shown.offsets() if ranges else (), placed.at):
            lead, rest = lines[at][: placed.lead], lines[at][placed.lead :]
            end = start + sum(len(text) for text, _ in rest)
            here = [one for one in ranges or () if one[0] < end and one[1] > start]
            marks = [(first - start, after - start, "changed") for first, after in here]
            lines[at] = (*lead, *overlaid(rest, marks))
    return lines


@lru_cache(maxsize=256)
def changed_words(first: str, second: str) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Where each text has words that the other one has not.

    None where the texts are too long for that, nor in one of many words where they have too
    little in common.
    """
    if first == second or max(len(first), len(second)) > LONGEST:
        return (), ()
    places = [[one.span() for one in _WORD.finditer(text)] for text in (first, second)]
    ours, theirs = (
        [text[start:end] for start, end in spans]
        for text, spans in zip((first, second), places, strict=True)
    )
    counts = Counter(theirs)
    if sum(counts[word] for word in ours) > MOST_WORK:
        return (), ()
    steps = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    alike = sum(end - start for tag, start, end, _, _ in steps if tag == "equal")
    is_alike = alike >= LEAST_ALIKE * min(len(ours), len(theirs))
    changes = [step[1:] for step in steps if step[0] != "equal"]
    sides = (
        (first, places[0], _joined(ours, [(start, end) for start, end, _, _ in changes])),
        (second, places[1], _joined(theirs, [(start, end) for _, _, start, end in changes])),
    )
    one, other = (
        tuple(_ranges(text, words, found)) if is_alike or len(words) < FEW else ()
        for text, words, found in sides
    )
    return one, other


def _joined(words: list[str], changes: list[Range]) -> list[Range]:
    """Changes as one where only signs stand between two of them: holes say nothing there."""
    found: list[Range] = []
    for start, end in changes:
        if found and start < end and not re.search(r"\w", " ".join(words[found[-1][1] : start])):
            start, _ = found.pop()
        if start < end:
            found.append((start, end))
    return found


def _ranges(text: str, places: list[Range], changes: list[Range]) -> Iterator[Range]:
    """Words as characters of the text: those of one line with what is between them."""
    for first, after in changes:
        start = end = -1
        for word_start, word_end in places[first:after]:
            if start < 0 or "\n" in text[end:word_start]:
                if start >= 0:
                    yield start, end
                start = word_start
            end = word_end
        if start >= 0:
            yield start, end
