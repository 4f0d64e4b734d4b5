"""The lines on top of a suite: how far it has come as a whole, and what it has used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_eval.events import OUT_OF_BUDGET, STOPPED_EARLY
from tui_eval.text.evaluation_words import name_of, spent, tally
from tui_eval.text.figures import clock_text, took_text, when_text
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import Line, Span, line_width, spread
from tui_eval.tui.base.look.wrap import shown_lines
from tui_eval.tui.run.header import LEAST_BAR, bar_spans
from tui_eval.tui.suite.resume_request import why_not

if TYPE_CHECKING:
    from tui_eval.events import RunFinished
    from tui_eval.fold.suite_state import SuiteState

GOES_ON = "Leaving prints the command that resumes it."
GAP = 3
NAME_MOST = 48
GOOD_BAR = 20
"""Cells of the bar beside numbers with words: in fewer many rollouts are told by one cell."""


class SuiteHeader(LineView, can_focus=False):
    """Title and progress, a line each; below them how an early end came and how to go on."""

    def __init__(self, suite: SuiteState, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.suite = suite
        self.now = now
        self.live = True
        self.requested_pause: bool | None = None
        self.held = self.in_flight = 0
        """Rollouts that wait before the closed gate, and those whose call is still out."""

    def count(self) -> int:
        """Two lines, and those of an early end."""
        return 2 + len(self._early_end())

    def line(self, index: int) -> Line:
        """Title, progress, or what happened."""
        if index == 0:
            return self._title()
        if index == 1:
            return progress(self.suite, self.line_width, self.held)
        return self._early_end()[index - 2]

    def _title(self) -> Line:
        suite, width = self.suite, self.line_width
        how = status(suite, self.live, self.requested_pause, self.now(), self.in_flight)
        over, name = tally(suite), name_of(suite, NAME_MOST)
        room = width - line_width((how,)) - GAP - 3
        if room < len(name) + line_width(over):
            over = tally(suite, short=True)
        name = name_of(suite, min(max(room - line_width(over), 8), NAME_MOST))
        return spread(((name, "role"), (" · ", "faint"), *over), (how,), width)

    def _early_end(self) -> list[Line]:
        end = self.suite.end
        if end is None or end.status == "finished":
            return []
        lines: list[Line] = []
        if end.status == "failed":
            words, _ = shown_lines(end.text or "the engine failed", max(self.line_width - 2, 1), 3)
            signs = [("✗ ", "bad"), *[("  ", "")] * (len(words) - 1)]
            lines = [(sign, (part, "fault")) for sign, part in zip(signs, words, strict=True)]
        if why_not(self.suite):
            return [*lines, ((f"  {GOES_ON}", "muted"),)]
        goes_on = " resumes it; leaving prints the command that does."
        return [*lines, ((f"  {key_for('run.rerun')}", "key"), (goes_on, ""))]

    def clicked_at(self, x: int, index: int) -> None:
        """Does what the key under the mouse does."""
        self.press_key_at(self.line(index), x)


def status(
    suite: SuiteState, live: bool, requested_pause: bool | None, now: float, in_flight: int = 0
) -> Span:
    """How the suite is, in the words that a run has for it."""
    end = suite.end
    began = suite.started.at if suite.started is not None else now
    took = clock_text(now - began) if end is None else took_text(end.at - began)
    if end is None and live:
        if not suite.gate_open:
            pausing = f"‖ pausing… {in_flight:,} in flight"
            return (pausing if in_flight else "‖ paused", "warn")
        return ("‖ pausing…", "warn") if requested_pause else (f"▶ running {took}", "busy")
    word = end.status if end is not None else ""
    if not began:
        return _stood(end, now)
    if word == "finished":
        if any(one.last.status not in ("finished", STOPPED_EARLY) for one in suite.evaluations):
            return (f"! ended after {took}", "warn")
        return (f"✓ finished in {took}", "good")
    if word == "failed":
        return (f"✗ failed after {took}", "bad")
    return (
        "■ out of budget, resumable" if word == OUT_OF_BUDGET else "■ stopped, resumable",
        "warn",
    )


def _stood(end: RunFinished | None, now: float) -> Span:
    """How a suite was that is looked at again, and when it ended."""
    if end is None:
        return ("reading…", "muted")
    when = when_text(end.at, now, long=True)
    if end.status == "finished":
        return (f"✓ finished {when}", "good")
    how = "out of budget" if end.status == OUT_OF_BUDGET else "ended"
    return (f"■ {how} {when}, resumable", "warn")


def progress(suite: SuiteState, width: int, held: int = 0) -> Line:
    """A bar of all rollouts of all evaluations, and their numbers."""
    last = [one.last for one in suite.evaluations]
    total = suite.rollouts
    finished, errored = sum(one.finished for one in last), sum(one.errored for one in last)
    running = sum(one.running for one in last) if suite.end is None else 0
    more = "+" if any(not one.total and not one.is_over for one in suite.evaluations) else ""
    sleeping = sum(one.sleeping for one in last if one.running) if running else 0
    held = min(held, running - sleeping)
    counts = (
        (held, "‖", "held", "warn"),
        (sleeping, "~", "sleeping", "warn"),
        (running - held - sleeping, "▶", "running", "busy"),
        (errored, "✗", "error" if errored == 1 else "errors", "bad"),
    )
    facts: list[Span] = []
    for words, least in ((True, GOOD_BAR), (False, LEAST_BAR)):
        facts = [(f"{finished:,}/{total:,}{more}", "strong"), (" rollouts", "muted")]
        gap = " " * (GAP if words else GAP - 1)
        for count, glyph, word, ink in counts:
            if count:
                spoken = (f"{glyph} ", f" {word}") if words else (glyph, "")
                facts += [(gap, ""), (spoken[0], ink), (f"{count:,}", ""), (spoken[1], "muted")]
        facts += [(f"{gap}{text}", "muted") for text in spent(suite)]
        room = width - line_width(facts) - 2
        if room >= least:
            return (*bar_spans(finished, errored, running, total, room), ("  ", ""), *facts)
    return tuple(facts)
