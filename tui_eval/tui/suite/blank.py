"""What stands in place of the panes while an evaluation has no run to show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui_eval.text.evaluation_words import done_text, look_of, title_of, variation_of
from tui_eval.text.figures import plural
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import EMPTY, Line
from tui_eval.tui.base.look.wrap import shown_lines

if TYPE_CHECKING:
    from tui_eval.fold.suite_state import SuiteState

NAMED = 4
"""Running evaluations that are named."""
TEXT_LINES = 200
RULE = 1
"""Lines that the rule above takes."""


class Blank(LineView, can_focus=False):
    """Says why there is nothing to see, and what comes next."""

    def __init__(self, suite: SuiteState, *, id: str) -> None:
        super().__init__(id=id)
        self.suite = suite
        self.place = 0
        self.fault = ""
        self._lines: list[Line] = []

    def update(self) -> None:
        """Writes the lines anew."""
        self._lines = [EMPTY, *blank_lines(self.suite, self.place, self.fault, self.line_width)]
        # While others come and go the lines change: the list is not to move with them.
        self.styles.max_height = RULE + len(self._lines) if self.suite.end is not None else None
        super().update()

    def count(self) -> int:
        """Lines of text."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """A line of text."""
        return self._lines[index]


def blank_lines(suite: SuiteState, place: int, fault: str, width: int) -> Iterator[Line]:
    """How the evaluation at this place stands, and why.

    Args:
        fault: Why its run cannot be shown; empty where nothing went wrong.
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
        words, _ = shown_lines(text, max(width - 6, 8), TEXT_LINES)
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
        most = plural(started.max_concurrent, "rollout")
        limit = f"    At most {most} at a time over all evaluations."
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
