"""The top of a comparison: which runs, and what the one beside the first came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.message import Message

from tui_eval.printable import one_line
from tui_eval.tui.commands.keymap import key_for
from tui_eval.tui.comparison.changes import lettered
from tui_eval.tui.look.figures import (
    EXACT,
    chance_text,
    interval_text,
    letter_of,
    plural,
    reward_text,
    signed_text,
)
from tui_eval.tui.look.ink import Line, Span, cut, left, letter_ink, line_width, right, spread
from tui_eval.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from tui_eval.fold.comparison import Comparison
    from tui_eval.stats.paired import PairedDifference
    from tui_eval.tui.comparison.comparing import ComparedRun, ComparedRuns, Reading

NAME_MOST = 28
BESIDE = 31
"""Cells of how a run's reward differs from the first one's."""
BY_CHANCE = 0.05
"""A difference whose p is not below this is not told from chance."""
MINUTE, HOUR, DAY = 60, 3600, 86400


def age_text(seconds: float) -> str:
    """How long ago something was."""
    for size, noun in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= size:
            return f"{plural(int(seconds // size), noun)} ago"
    return "just now"


class ComparedHeader(LineView, can_focus=False):
    """A line a run, then what the difference of rewards is and what speaks against it."""

    class Chosen(Message):
        """Another run was clicked: `place` counts from 0, the first run."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, reading: Reading, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.reading = reading
        self.now = now
        self.found: ComparedRuns | None = None
        self.place = 1
        self._lines: list[Line] = []
        self._places: list[int] = []
        """Which runs have a line; all where there is room."""

    def update(self) -> None:
        """Writes the lines anew."""
        self._lines = list(self._all() if self.found is not None else self._waiting())
        super().update()

    def count(self) -> int:
        """Runs and sentences."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """One of them."""
        return self._lines[index]

    def marked(self, index: int) -> bool:
        """The run that stands beside the first one, where there are several."""
        if self.found is None or len(self.found.runs) < 3:
            return False
        return self._place_at(index) == self.place

    def _place_at(self, index: int) -> int | None:
        return self._places[index] if index < len(self._places) else None

    def _waiting(self) -> Iterator[Line]:
        reading = self.reading
        for place, path in enumerate(reading.paths):
            state: Span = ("waiting", "faint")
            if place < reading.place:
                state = ("✓ read", "good")
            elif place == reading.place and not reading.over:
                state = (f"▶ {reading.text}", "busy")
            elif reading.over:
                state = ("", "")
            name = cut(one_line(str(path), 200), max(self.line_width - 24, 8))
            yield (letter_of(place), letter_ink(letter_of(place))), (f"  {name}  ", ""), state

    def _all(self) -> Iterator[Line]:
        found = self.found
        assert found is not None
        letter = found.runs[self.place].letter
        told = list(self._verdict(found.comparisons[self.place - 1], letter))
        most, many = self.styles.max_height, len(found.runs)
        room = many if most is None else max(int(most.value) - len(told), 2)
        start = min(max(self.place - room + 2, 1), max(many - room + 1, 1))
        self._places = [0, *range(start, min(start + room - 1, many))]
        runs = list(self._run_lines(found))
        yield from (runs[place] for place in self._places)
        yield from told

    def _run_lines(self, found: ComparedRuns) -> Iterator[Line]:
        """Names, rewards, and between them the facts that there is room for in every line."""
        runs = list(zip(found.runs, (None, *found.comparisons), strict=True))
        ends = [self._reward(one, comparison) for one, comparison in runs]
        names = padded([one_line(one.name, NAME_MOST) for one in found.runs])
        columns = [padded(texts) for texts in zip(*map(self._facts, found.runs), strict=True)]
        letters = max(len(one.letter) for one in found.runs)
        room = self.line_width - letters - 4 - len(names[0]) - max(map(line_width, ends))
        kept = _fitting(columns, room)
        for place, one in enumerate(found.runs):
            start: list[Span] = [
                (left(one.letter, letters), letter_ink(one.letter)),
                (f"  {names[place]}", "strong"),
            ]
            start += [(f"  {column[place]}", "muted") for column in kept]
            yield spread(tuple(start), ends[place], self.line_width)

    def _facts(self, one: ComparedRun) -> tuple[str, ...]:
        run, state = one.state.run, one.state
        if run is None:
            return ("", "", "", "")
        missing = state.expected - state.finished
        short = f", {missing:,} not finished" if missing else ""
        return (
            one_line(run.env_id, NAME_MOST),
            one_line(run.model, NAME_MOST),
            f"{plural(run.num_examples, 'example')} × {state.per_example}{short}",
            age_text(self.now() - run.complete_at) if run.complete_at else "",
        )

    def _reward(self, one: ComparedRun, comparison: Comparison | None) -> Line:
        mean = one.state.reward_mean.result()
        spans: list[Span] = [("reward ", "muted"), (reward_text(mean.mean, EXACT), "strong")]
        own = f" {interval_text(mean.low, mean.high, EXACT)}"
        if len(self.reading.paths) < 3:
            return (*spans, (own, "muted"))
        if comparison is None:  # the first run has nothing beside it
            unseen = len(self.reading.paths) - len(self._places)
            more, room = plural(unseen, "more run"), BESIDE - len(own)
            told = more if unseen > 0 and len(more) < room else ""
            return (*spans, (own, "muted"), (right(told, room), "faint"))
        if not comparison.comparable:
            return (*spans, (left("  not comparable", BESIDE), "warn"))
        found = comparison.figures[0].difference
        interval = interval_text(found.low, found.high, EXACT)
        text = f"  vs A {signed_text(found.mean, EXACT)} {interval}"
        return (*spans, (left(text, BESIDE), "muted"))

    def _verdict(self, found: Comparison, letter: str) -> Iterator[Line]:
        if found.comparable:
            yield self._difference(found, letter)
        for doubt in found.doubts[:1]:
            more = len(found.doubts) - 1
            pane = "compare.numbers" if found.comparable else "compare.examples"
            note = f" · {plural(more, 'more doubt')} in pane {key_for(pane)}" if more else ""
            told = one_line(lettered(doubt, letter), 400)
            told = cut(told, self.line_width - 3 - len(note))
            yield ("! ", "warn"), (told, "warn"), (note, "faint")

    def _difference(self, found: Comparison, letter: str) -> Line:
        reward = found.figures[0].difference
        spans: list[Span] = [verdict_of(reward, better=True, p=found.holm_p)]
        spans.append((f"  reward {letter} − A ", "muted"))
        spans.append((signed_text(reward.mean, EXACT), "strong"))
        if reward.low is not None:
            spans.append((f" {interval_text(reward.low, reward.high, EXACT)}", ""))
        p = found.holm_p
        if p is not None:
            holm = " (Holm)" if p != reward.p else ""
            spans.append((f"  {chance_text(p)}{holm}", "muted"))
        spans.append((f"  {plural(len(found.examples), 'example')} in both", "muted"))
        if found.unpaired:
            spans.append((", others not paired", "warn"))
        while line_width(spans) > self.line_width:
            spans.pop()
        return tuple(spans)

    def clicked(self, index: int) -> None:
        """Puts that run beside the first one."""
        if self.found is not None and (place := self._place_at(index)):
            self.post_message(self.Chosen(place))


def _fitting(columns: list[list[str]], room: int) -> list[list[str]]:
    """The columns that there is room for: the age is the last to have any, what differs first."""
    kept = set()
    last = len(columns) - 1
    for at in sorted(range(len(columns)), key=lambda at: (at == last, len(set(columns[at])) == 1)):
        room -= cell_len(columns[at][0]) + 2
        if room < 0:
            break
        kept.add(at)
    return [columns[at] for at in sorted(kept)]


def padded(texts: Iterable[str]) -> list[str]:
    """Texts as wide as the widest of them."""
    kept = list(texts)
    width = max(map(cell_len, kept))
    return [left(text, width) for text in kept]


def verdict_of(found: PairedDifference, *, better: bool, p: float | None = None) -> Span:
    """Which way a difference lies from 0, or that no pair differs: glyph and word.

    It is unclear where 0 is in the interval, and where the test does not tell it from chance.

    Args:
        better: Whether more is better, so that the words judge.
        p: The chance where several are tested at once; the difference's own without.
    """
    up, down = ("better", "worse") if better else ("higher", "lower")
    if found.mean == 0 and not found.se:
        return "= equal", "muted"
    if found.low is None or found.high is None:
        return "· unknown", "muted"
    p = found.p if p is None else p
    if found.low <= 0 <= found.high or (p is not None and p >= BY_CHANCE):
        return "≈ unclear", "muted"
    if found.low > 0:
        return f"▲ {up}", "good" if better else "strong"
    return f"▼ {down}", "bad" if better else "strong"
