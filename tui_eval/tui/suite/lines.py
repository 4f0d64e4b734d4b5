"""Lines of a suite: on top its progress and use; in place of the panes why an evaluation has no run
to show."""

from __future__ import annotations

from collections.abc import Iterator

from tui_eval.events import OUT_OF_BUDGET, STOPPED_EARLY, RunFinished
from tui_eval.fold.suite_state import SuiteState
from tui_eval.text.evaluation_words import (
    done_text,
    look_of,
    name_of,
    spent,
    tally,
    title_of,
    variation_of,
)
from tui_eval.text.figures import clock_text, plural, took_text, when_text
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.lines.text_panel import PlainPanel
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, line_width, spread
from tui_eval.tui.base.look.wrap import hanging, shown_lines
from tui_eval.tui.run.header import LEAST_BAR, bar_spans, counted
from tui_eval.tui.suite.controllers import why_not

RESUMES = "Leaving prints the command that resumes it."
GAP = 3
NAME_MOST = 48
GOOD_BAR = 20
"""Cells of the bar beside numbers with words: in fewer, one cell is many rollouts."""
NAMED = 4
"""The most running evaluations that are named."""
REASON_LINES = 200
RULE = 1
"""Lines of the rule above the text in place of the panes."""


def title(suite: SuiteState, how: Span, width: int) -> Line:
    """Its name and how many of its evaluations are over; on the right its status."""
    over, name = tally(suite), name_of(suite, NAME_MOST)
    room = width - line_width((how,)) - GAP - 3
    if room < len(name) + line_width(over):
        over = tally(suite, short=True)
    name = name_of(suite, min(max(room - line_width(over), 8), NAME_MOST))
    return spread(((name, "role"), (" · ", "faint"), *over), (how,), width)


def early_end(suite: SuiteState, width: int) -> list[Line]:
    """The reason of an early end and how to resume; empty without one."""
    end = suite.end
    if end is None or end.status == "finished":
        return []
    lines: list[Line] = []
    if end.status == "failed":
        lines = hanging(("✗ ", "bad"), end.text or "the engine failed", "fault", width, 3)
    if why_not(suite):
        return [*lines, ((f"  {RESUMES}", "muted"),)]
    resumes = " resumes it; leaving prints the command that does."
    return [*lines, ((f"  {key_for('run.rerun')}", "key"), (resumes, ""))]


def status(
    suite: SuiteState, live: bool, requested_pause: bool | None, now: float, in_flight: int
) -> Span:
    """The status of the suite, in the words of a run's."""
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
    """The status of a saved suite, and its age."""
    if end is None:
        return ("reading…", "muted")
    when = when_text(end.at, now, long=True)
    if end.status == "finished":
        return (f"✓ finished {when}", "good")
    how = "out of budget" if end.status == OUT_OF_BUDGET else "ended"
    return (f"■ {how} {when}, resumable", "warn")


def progress(suite: SuiteState, width: int, held: int) -> Line:
    """A bar of all rollouts of all evaluations, and their numbers; `held` wait at the gate."""
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
    spans: list[Span] = []
    for words, least in ((True, GOOD_BAR), (False, LEAST_BAR)):
        spans = [(f"{finished:,}/{total:,}{more}", "strong"), (" rollouts", "muted")]
        gap = " " * (GAP if words else GAP - 1)
        for part in counted(counts, words):
            spans += [(gap, ""), *part]
        spans += [(f"{gap}{text}", "muted") for text in spent(suite)]
        room = width - line_width(spans) - 2
        if room >= least:
            return (*bar_spans(finished, errored, running, total, room), ("  ", ""), *spans)
    return tuple(spans)


class Blank(PlainPanel):
    """A panel that says why there is no run to show, and what comes next."""

    def __init__(self, suite: SuiteState, *, id: str) -> None:
        super().__init__(self._all, id=id)
        self.suite = suite
        self.place = 0
        self.fault = ""

    def _all(self, width: int) -> list[Line]:
        return [EMPTY, *blank_lines(self.suite, self.place, self.fault, width)]

    def lay_out(self) -> None:
        super().lay_out()
        # Its lines change with other evaluations: the list must not move with them.
        self.styles.max_height = RULE + self.count() if self.suite.end is not None else None


def blank_lines(suite: SuiteState, place: int, fault: str, width: int) -> Iterator[Line]:
    """The status of the evaluation at this place, and its reason.

    Args:
        fault: The reason why its run cannot be shown; empty for none.
    """
    one = suite.evaluations[place]
    look = look_of(one, suite)
    name = title_of(one, 60)
    yield (
        (f"  {look.glyph} ", look.ink),
        (name, "role"),
        (f"  {variation_of(one, suite, 80)}", "muted"),
    )
    yield EMPTY
    text = one.last.text or fault
    if text:
        words, _ = shown_lines(text, max(width - 6, 8), REASON_LINES)
        yield from (((f"    {part}", "fault"),) for part in words)
    elif one.last.status != "waiting":
        word = "starting…" if one.last.status == "running" and not one.last.path else "opening…"
        yield ((f"    {word}", "faint"),)
    elif suite.started is not None and not suite.started.at:
        text = "reading…" if suite.end is None else "Not begun: there is no run of it on disk."
        yield ((f"    {text}", "muted"),)
    elif suite.end is not None:
        yield (("    Not begun: the suite ended before its turn.", "muted"),)
    else:
        yield from _waiting(suite, place)


def _waiting(suite: SuiteState, place: int) -> Iterator[Line]:
    before = sum(not one.is_over for one in suite.evaluations[:place])
    come = "comes" if before == 1 else "come"
    what = f"{plural(before, 'evaluation')} {come} before it." if before else "It is the next one."
    yield ((f"    Waiting for its turn. {what}", "muted"),)
    started = suite.started
    if started is not None and started.max_concurrent:
        limit = f"    max_concurrent {started.max_concurrent} is over all evaluations."
        yield ((limit, "muted"),)
        yield (("    One that sleeps between two tries does not count.", "muted"),)
    if not suite.gate_open:
        yield ((f"    The suite is paused: {key_for('run.pause')} resumes it.", "warn"),)
    running = suite.running
    if running:
        yield EMPTY
        yield (("    Running now", "faint"),)
    for at in running[:NAMED]:
        one = suite.evaluations[at]
        yield (
            ("    ▶ ", "busy"),
            (title_of(one, 40), ""),
            (f"  {variation_of(one, suite, 40)}", "muted"),
            (f"  {done_text(one)}", "strong"),
        )
    if len(running) > NAMED:
        yield ((f"      and {len(running) - NAMED} more", "faint"),)
