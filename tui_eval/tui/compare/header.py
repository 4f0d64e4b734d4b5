"""The top of a comparison: its runs, and the verdict on the one beside the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui_eval.fold.mean_reward import mean_reward
from tui_eval.printable import one_line
from tui_eval.text.changes import lettered
from tui_eval.text.figures import (
    EXACT,
    chance_text,
    interval_text,
    letter_of,
    plural,
    reward_text,
    signed_text,
)
from tui_eval.text.verdict_words import (
    TESTS,
    floor_note,
    gate_look,
    method_text,
    verdict_look,
    verdict_notes,
)
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.lines.text_panel import TextPanel
from tui_eval.tui.base.look.ink import Line, Span, cut, left, letter_ink, line_width, right, spread

if TYPE_CHECKING:
    from tui_eval.fold.compare.comparison import Comparison
    from tui_eval.runs.compared_runs import ComparedRun
    from tui_eval.tui.compare.comparing import Reading

NAME_LEAST, NAME_MOST = 8, 28
BESIDE, INTERVAL, VERDICT = 30, 17, 14
"""Cells of how a run's reward differs from the first one's, and those of its interval and
verdict among them."""


def age_text(seconds: float) -> str:
    """An age in words."""
    for size, noun in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{plural(int(seconds // size), noun)} ago"
    return "just now"


class ComparedHeader(TextPanel, can_focus=False):
    """A line a run, then the difference of rewards and the doubts about it."""

    def __init__(self, reading: Reading, now: Callable[[], float], *, id: str) -> None:
        super().__init__(self._all, id=id)
        self.reading = reading
        self.runs: Sequence[ComparedRun] = ()
        """The runs that are shown; a reading may have found others."""
        self.now = now
        self.place = 1
        self._places: list[int] = []
        """The runs with a line; all where there is room."""

    def marked(self, index: int) -> bool:
        """Whether a run is the one beside the first, where there are several."""
        return len(self.reading.paths) > 2 and self._place_at(index) == self.place

    def _place_at(self, index: int) -> int | None:
        return self._places[index] if index < len(self._places) else None

    def _all(self, width: int) -> Iterator[Line]:
        return self._compared(self.runs, width) if self.runs else self._waiting(width)

    def _waiting(self, width: int) -> Iterator[Line]:
        reading = self.reading
        for place, path in enumerate(reading.paths):
            state: Span = ("waiting", "faint")
            if place < reading.place:
                state = ("✓ read", "good")
            elif place == reading.place and not reading.over:
                state = (f"▶ {reading.text}", "busy")
            elif reading.over:
                state = ("", "")
            name = cut(one_line(str(path), 200), max(width - 24, 8))
            yield (letter_of(place), letter_ink(letter_of(place))), (f"  {name}  ", ""), state

    def _compared(self, runs: Sequence[ComparedRun], width: int) -> Iterator[Line]:
        letter = runs[self.place].letter
        text = list(_verdict(runs[self.place].beside, letter, width))
        self._places = self._shown_places(runs, text)
        lines = self._run_lines(runs, width)
        yield from (lines[place] for place in self._places)
        yield from text

    def _shown_places(self, runs: Sequence[ComparedRun], text: list[Line]) -> list[int]:
        """The runs with a line above such a verdict: the first, and some around the second."""
        most, many = self.styles.max_height, len(runs)
        room = many if most is None else max(int(most.value) - len(text), 2)
        start = min(max(self.place - room + 2, 1), max(many - room + 1, 1))
        return [0, *range(start, min(start + room - 1, many))]

    def _run_lines(self, runs: Sequence[ComparedRun], width: int) -> list[Line]:
        """Names, rewards, and between them the columns that fit in every line."""
        room = width - len("A  reward 0.625") - 2
        most = min(max(room - BESIDE, NAME_LEAST), NAME_MOST)
        names = padded([one_line(one.name, most) for one in runs])
        room -= cell_len(names[0])
        ends = [self._reward(one, room >= BESIDE + INTERVAL) for one in runs]
        columns = [padded(texts) for texts in zip(*map(self._columns_of, runs), strict=True)]
        letters = max(len(one.letter) for one in runs)
        room = width - letters - 4 - len(names[0]) - max(map(line_width, ends))
        kept, lines = _columns_that_fit(columns, room), []
        for place, one in enumerate(runs):
            start: list[Span] = [
                (left(one.letter, letters), letter_ink(one.letter)),
                (f"  {names[place]}", "strong"),
            ]
            start += [(f"  {column[place]}", "muted") for column in kept]
            lines.append(spread(tuple(start), ends[place], width))
        return lines

    def _columns_of(self, one: ComparedRun) -> tuple[str, ...]:
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

    def _reward(self, one: ComparedRun, is_wide: bool) -> Line:
        mean = mean_reward(one.state)
        spans: list[Span] = [("reward ", "muted"), (reward_text(mean.mean, EXACT), "strong")]
        own = f" {interval_text(mean.low, mean.high, EXACT)}"
        cells = BESIDE + INTERVAL if is_wide else BESIDE
        if len(self.reading.paths) < 3:
            return (*spans, (own, "muted"))
        beside = one.comparison
        if beside is None:  # the first run has nothing beside it
            unseen = len(self.reading.paths) - len(self._places)
            more, room = plural(unseen, "more run"), cells - len(own)
            text = more if unseen > 0 and len(more) < room else ""
            return (*spans, (own, "muted"), (right(text, room), "faint"))
        if not beside.comparable:
            return (*spans, (left("  not comparable", cells), "warn"))
        found = beside.reward.difference
        text = f"  vs A {signed_text(found.mean, EXACT)}"
        text += f" {interval_text(found.low, found.high, EXACT)}" if is_wide else ""
        word, ink = verdict_look(beside.reward)
        return (*spans, (left(text, cells - VERDICT), "muted"), (left(word, VERDICT), ink))

    def clicked(self, index: int) -> None:
        if place := self._place_at(index):
            self.call_later(self.screen.run_action, f"run({place - self.place})")


def _verdict(found: Comparison, letter: str, width: int) -> Iterator[Line]:
    if found.comparable:
        yield _difference(found, letter, width)
        # A difference within chance says so however little room there is.
        notes = [floor_note(found.reward, found), *verdict_notes(found.reward)]
        if parts := [(at, (note, "muted")) for at, note in enumerate(filter(None, notes))]:
            yield ("  ", ""), *_fitting(parts, width - 2, "; ")
    for doubt in found.doubts[:1]:
        more = len(found.doubts) - 1
        pane = "compare.numbers" if found.comparable else "compare.examples"
        text = one_line(lettered(doubt, letter), 400)
        note = plural(more, "more doubt") if more else ""
        if not note and cell_len(text) > width - 3:
            note = "whole"
        note = f" · {note} in pane {key_for(pane)}" if note else ""
        text = cut(text, width - 3 - len(note))
        yield ("! ", "warn"), (text, "warn"), (note, "faint")


def _difference(found: Comparison, letter: str, width: int) -> Line:
    """The verdict, the difference, and as much of their basis as there is room for."""
    one, reward = found.reward, found.reward.difference
    parts: list[tuple[int, Span]] = [
        (0, verdict_look(one)),
        (0, (f"  reward {letter} − A ", "muted")),
        (0, (signed_text(reward.mean, EXACT), "strong")),
    ]
    if reward.low is not None:
        parts.append((1, (f" {interval_text(reward.low, reward.high, EXACT)}", "")))
        parts.append((4, (f" {method_text(reward)}", "muted")))
    if one.holm_p is not None and not one.is_equal:
        holm = " (Holm)" if one.holm_p != reward.p else ""
        parts.append((2, (f"  {chance_text(one.holm_p)}{holm}", "muted")))
        parts.append((5, (f", {TESTS[reward.test]}", "muted")))
    parts.append((3, (f"  {plural(len(found.examples), 'example')} in both", "muted")))
    if found.unpaired:
        parts.append((6, (", others not paired", "warn")))
    text, ink = gate_look(one)
    parts.append((7, (f"  {text}", ink)))
    return tuple(_fitting(parts, width))


def _fitting(parts: list[tuple[int, Span]], width: int, between: str = "") -> list[Span]:
    """The parts that fit into a line, each whole; the greatest ranks are left out.

    Args:
        parts: Each with its rank; those of rank 0 stay.
        between: The text between two of them.
    """
    kept = list(parts)
    while True:
        rest = [(between + text, ink) for _, (text, ink) in kept[1:]]
        line = [span for _, span in kept[:1]] + rest
        last = max(rank for rank, _ in kept)
        if line_width(line) <= width or not last:
            return line
        kept = [part for part in kept if part[0] != last]


def _columns_that_fit(columns: list[list[str]], room: int) -> list[list[str]]:
    """The columns that fit: differing ones have priority, the age comes last."""
    kept = set()
    last = len(columns) - 1
    for at in sorted(range(len(columns)), key=lambda at: (at == last, len(set(columns[at])) == 1)):
        room -= cell_len(columns[at][0]) + 2
        if room < 0:
            break
        kept.add(at)
    return [columns[at] for at in sorted(kept)]


def padded(texts: Sequence[str]) -> list[str]:
    """Texts as wide as the widest of them."""
    width = max(map(cell_len, texts))
    return [left(text, width) for text in texts]
