"""The top of a comparison: which runs, and what the one beside the first came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from textual.message import Message

from tui_eval.printable import one_line
from tui_eval.tui.commands.keymap import key_for
from tui_eval.tui.look.figures import (
    chance_text,
    interval_text,
    letter_of,
    plural,
    reward_text,
    signed_text,
)
from tui_eval.tui.look.ink import Line, Span, cut, left, line_width, spread
from tui_eval.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from tui_eval.fold.comparison import Comparison
    from tui_eval.stats.paired import PairedDifference
    from tui_eval.tui.comparison.comparing import ComparedRun, ComparedRuns, Reading

NAME_MOST = 28
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
        return self.found is not None and len(self.found.runs) > 2 and index == self.place

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
            yield (letter_of(place), letter_ink(place)), (f"  {name}  ", ""), state

    def _all(self) -> Iterator[Line]:
        found = self.found
        assert found is not None
        for place, one in enumerate(found.runs):
            comparison = found.comparisons[place - 1] if place else None
            yield self._run_line(place, one, comparison)
        yield from self._verdict(found.comparisons[self.place - 1], found.runs[self.place].letter)

    def _run_line(self, place: int, one: ComparedRun, comparison: Comparison | None) -> Line:
        run, state = one.state.run, one.state
        name = one_line(one.name, NAME_MOST)
        start: list[Span] = [(one.letter, letter_ink(place)), (f"  {name}", "strong")]
        notes: list[Span] = []
        if run is not None:
            missing = state.expected - state.finished
            short = f" · {missing:,} not finished" if missing else ""
            age = f" · {age_text(self.now() - run.complete_at)}" if run.complete_at else ""
            notes = [
                (f"  {one_line(run.env_id, NAME_MOST)}", "muted"),
                (f" · {one_line(run.model, NAME_MOST)}", "muted"),
                (f" · {run.num_examples:,} × {state.per_example}{short}", "muted"),
                (age, "faint"),
            ]
        end = self._reward(one, comparison)
        for note in notes:
            if line_width((*start, note, *end)) + 2 > self.line_width:
                break
            start.append(note)
        return spread(tuple(start), end, self.line_width)

    def _reward(self, one: ComparedRun, comparison: Comparison | None) -> Line:
        mean = one.state.reward_mean.result()
        spans: list[Span] = [("reward ", "muted"), (reward_text(mean.mean), "strong")]
        if len(self.reading.paths) < 3:
            return (*spans, (f" {interval_text(mean.low, mean.high)}", "muted"))
        if comparison is None:
            return (*spans, (" " * 24, ""))
        if not comparison.comparable:
            return (*spans, (left("  not comparable", 24), "warn"))
        found = comparison.figures[0].difference
        interval = interval_text(found.low, found.high)
        text = f"  {signed_text(found.mean)} {interval}"
        return (*spans, (left(text, 24), "muted"))

    def _verdict(self, found: Comparison, letter: str) -> Iterator[Line]:
        if found.comparable:
            yield self._difference(found, letter)
        for doubt in found.doubts[:1]:
            more = len(found.doubts) - 1
            pane = "compare.numbers" if found.comparable else "compare.examples"
            note = f" ({more} more in {key_for(pane)})" if more else ""
            room = self.line_width - 3 - len(note)
            yield ("! ", "warn"), (cut(one_line(doubt, 400), room), "warn"), (note, "faint")

    def _difference(self, found: Comparison, letter: str) -> Line:
        reward = found.figures[0].difference
        spans: list[Span] = [verdict_of(reward, better=True)]
        spans.append((f"  reward {letter} − A  ", "muted"))
        spans.append((signed_text(reward.mean), "strong"))
        if reward.low is not None:
            spans.append((f" {interval_text(reward.low, reward.high)}", ""))
        p = found.holm_p
        if p is not None:
            holm = " (Holm)" if p != reward.p else ""
            spans.append((f"  {chance_text(p)}{holm}", "muted"))
        spans.append((f"  {plural(len(found.examples), 'example')} in both", "muted"))
        while line_width(spans) > self.line_width:
            spans.pop()
        return tuple(spans)

    def clicked(self, index: int) -> None:
        """Puts that run beside the first one."""
        if self.found is not None and 0 < index < len(self.found.runs):
            self.post_message(self.Chosen(index))


def letter_ink(place: int) -> str:
    """The ink of a run's letter."""
    return "key" if place == 0 else "accent"


def verdict_of(found: PairedDifference, *, better: bool) -> Span:
    """Which way the interval of a difference lies from 0: glyph and word.

    Args:
        better: Whether more is better, so that the words judge.
    """
    up, down = ("better", "worse") if better else ("higher", "lower")
    if found.low is None or found.high is None:
        return ("= equal" if found.mean == 0 else "· unknown"), "muted"
    if found.low > 0:
        return f"▲ {up}", "good" if better else "strong"
    if found.high < 0:
        return f"▼ {down}", "bad" if better else "strong"
    return "≈ unclear", "muted"
