"""The lines of two panes: paired numbers with their intervals, and the settings that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from tui_eval.printable import one_line
from tui_eval.text.changes import lettered
from tui_eval.text.figures import (
    EXACT,
    interval_text,
    plural,
    reward_text,
    signed_text,
    value_text,
)
from tui_eval.text.verdict_words import (
    figure_name,
    figure_sentence,
    figure_text,
    gate_sentence,
    verdict_look,
)
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, left, letter_ink, right
from tui_eval.tui.base.look.wrap import shown_lines

if TYPE_CHECKING:
    from tui_eval.fold.compare.comparison import Comparison
    from tui_eval.fold.compare.paired_figures import PairedFigure

NUMBER, DIFFERENCE, INTERVAL, VERDICT = 7, 8, 18, 15
NAME_LEAST, NAME_MOST = 10, 26
PICTURE = 23
ALIKE_LINES = 40
"""Lines of a sentence that many numbers may share."""
NOTHING = "No example is in both runs, so there is nothing to compare."

SETTING_MOST, COLUMN_LEAST, VALUE_LINES = 22, 24, 60
SAME = "All settings are the same."


def number_lines(found: Comparison, letter: str, width: int) -> Iterator[Line]:
    """The lines of all numbers: reward, doubts, unpaired examples, then the metrics."""
    if not found.comparable:
        yield from wrapped("· ", NOTHING, "muted", width)
        return
    yield from _table(found, letter, width)
    if text := figure_sentence(found.reward, found):
        yield from wrapped("· ", text, "muted", width)
    yield from wrapped("· ", f"reward {gate_sentence(found.reward, letter)}", "muted", width)
    for doubt in found.doubts:
        yield from wrapped("! ", one_line(lettered(doubt, letter), 400), "warn", width)
    for why, count in found.unpaired.items():
        text = f"not paired: {plural(count, 'example')} {lettered(why, letter)}"
        yield from wrapped("· ", text, "muted", width)
    for text in _metric_sentences(found):
        yield from wrapped("· ", text, "muted", width, ALIKE_LINES)


def _metric_sentences(found: Comparison) -> Iterator[str]:
    """Sentences on the metrics; those with the same verdict share one."""
    names: dict[str, list[str]] = {}
    for one in found.figures:
        if not one.is_reward and (text := figure_text(one, found)):
            names.setdefault(text, []).append(one_line(figure_name(one), NAME_MOST))
    yield from (f"{', '.join(alike)} {text}" for text, alike in names.items())


def _table(found: Comparison, letter: str, width: int) -> Iterator[Line]:
    names = [one_line(figure_name(one), NAME_MOST) for one in found.figures]
    name = min(max(NAME_LEAST, *map(len, names)), NAME_MOST)
    taken = 2 * NUMBER + DIFFERENCE + 1
    name = min(name, max(width - taken - INTERVAL - VERDICT, NAME_LEAST))
    has_verdict = width >= name + taken + VERDICT
    has_interval = width >= name + taken + INTERVAL + VERDICT
    picture_at = name + taken + INTERVAL + VERDICT + 2
    has_picture = width >= picture_at + PICTURE
    head = " " * name + right("A", NUMBER) + right(letter, NUMBER)
    head += right(f"{letter} − A", DIFFERENCE)
    head += "  95 % interval" if has_interval else ""
    if has_picture:
        scales = f"{letter} − A, each to its own scale"
        head = left(head, picture_at + PICTURE - len(scales)) + scales
    yield ((head, "faint"),)
    for one, shown in zip(found.figures, names, strict=True):
        difference = one.difference
        line: Line = (
            (left(shown, name), "strong" if one is found.figures[0] else ""),
            (right(reward_text(one.first, EXACT), NUMBER), ""),
            (right(reward_text(one.second, EXACT), NUMBER), ""),
            (right(signed_text(difference.mean, EXACT), DIFFERENCE), "strong"),
        )
        if has_interval:
            interval = interval_text(difference.low, difference.high, EXACT)
            line = (*line, (f"  {left(interval, INTERVAL - 1)}", "muted"))
        if has_verdict:
            word, ink = verdict_look(one)
            line = (*line, (f" {left(word, VERDICT - 1)}", ink))
        if has_picture:
            line = (*line, (f"  {interval_picture(one, PICTURE)}", "muted"))
        yield line
    yield ((" " * (picture_at + PICTURE // 2) + "0", "faint"),) if has_picture else EMPTY


def interval_picture(one: PairedFigure, width: int) -> str:
    """A picture of an interval and its mean around 0, to a scale of its own."""
    found = one.difference
    middle = width // 2
    cells = [" "] * width
    if found.mean is not None:
        low = found.mean if found.low is None else found.low
        high = found.mean if found.high is None else found.high
        scale = max(abs(low), abs(high), 1e-12) * 1.05
        at = [middle + round(value / scale * middle) for value in (low, found.mean, high)]
        for cell in range(at[0], at[2] + 1):
            cells[cell] = "─"
        cells[middle] = "┼" if at[0] < middle < at[2] else "│"
        cells[at[1]] = "●"
    else:
        cells[middle] = "│"
    return "".join(cells)


def wrapped(sign: str, text: str, ink: str, width: int, most: int = 8) -> Iterator[Line]:
    """A sentence after a sign of two cells, in so many lines at most; `p = 1` stays in one."""
    whole = text.replace(" = ", "\xa0=\xa0").replace("p < ", "p\xa0<\xa0")
    lines, _ = shown_lines(whole, max(width - 2, 8), most)
    for at, part in enumerate(lines):
        yield (sign if at == 0 else "  ", ink), (part.replace("\xa0", " "), ink)


def setting_lines(
    letters: Sequence[str], settings: Mapping[str, Sequence[Any]], width: int
) -> Iterator[Line]:
    """The settings that differ, with their value in each run, by its letter."""
    if not settings:
        yield ((SAME, "muted"),)
        return
    name = min(max(map(len, settings)), SETTING_MOST)
    column = (width - name) // len(letters) - 2
    if column < COLUMN_LEAST:
        yield from _stacked(settings, letters, width)
        return
    head: list[Span] = [(" " * name, "")]
    head += [("  " + left(one, column), letter_ink(one)) for one in letters]
    yield tuple(head)
    for setting, values in settings.items():
        cells = [shown_lines(value_text(value), column, VALUE_LINES)[0] for value in values]
        for at, parts in enumerate(zip_longest(*cells, fillvalue="")):
            shown = one_line(setting, name) if at == 0 else ""
            yield (
                (left(shown, name), "muted"),
                *(("  " + left(part, column), "") for part in parts),
            )


def _stacked(
    settings: Mapping[str, Sequence[Any]], letters: Sequence[str], width: int
) -> Iterator[Line]:
    for setting, values in settings.items():
        yield ((one_line(setting, SETTING_MOST), "muted"),)
        for letter, value in zip(letters, values, strict=True):
            for at, part in enumerate(shown_lines(value_text(value), width - 5, VALUE_LINES)[0]):
                yield (f"  {letter if at == 0 else ' '}  ", letter_ink(letter)), (part, "")
        yield EMPTY
