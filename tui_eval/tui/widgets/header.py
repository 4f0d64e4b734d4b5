"""The two lines on top: what runs and how it is, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable

from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.tui.figures import (
    clock_text,
    count_text,
    interval_text,
    rate_text,
    reward_text,
)
from tui_eval.tui.ink import EMPTY, Line, Span, line_width, spread
from tui_eval.tui.widgets.line_view import LineView

WIDE = 100
LEAST_BAR = 10


class Header(LineView, can_focus=False):
    """Title and progress, a line each."""

    def __init__(self, state: RunState, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.state = state
        self.now = now
        self.live = False
        self.asked_pause: bool | None = None

    def count(self) -> int:
        """Two lines."""
        return 2

    def line(self, index: int) -> Line:
        """Title or progress."""
        width, now = self.line_width - 1, self.now()
        if index == 0:
            return title(self.state, self._status(now), width)
        return progress(self.state, now, width)

    def _status(self, now: float) -> Span:
        return status(self.state, self.live, self.asked_pause, now)


def elapsed(state: RunState, now: float) -> float:
    """Seconds that the run has taken."""
    if state.run is None:
        return 0.0
    if state.end is not None and state.run.complete_at == 0:
        return state.end.at - state.run.at
    return (state.run.complete_at or now) - state.run.at


def status(state: RunState, live: bool, asked_pause: bool | None, now: float) -> Span:
    """How the run is, in a word or two."""
    if state.run is None:
        return ("starting engine…", "muted")
    took = clock_text(elapsed(state, now))
    if state.end is not None or not live:
        return _end_status(state, took)
    if not state.gate_open:
        if state.in_flight:
            return (f"‖ pausing… {state.in_flight:,} in flight", "warn")
        return ("‖ PAUSED", "warn")
    if asked_pause:
        return ("‖ pausing…", "warn")
    return (f"▶ running {took}", "busy")


def _end_status(state: RunState, took: str) -> Span:
    word = state.end.status if state.end is not None else None
    if word == "failed":
        return (f"✗ failed after {took}", "bad")
    if word == "finished" or (word is None and state.finished == state.total):
        return (f"✓ finished in {took}", "good")
    return ("■ interrupted, resumable", "warn")


def title(state: RunState, how: Span, width: int) -> Line:
    """Environment and model on the left; reward and state of the run on the right."""
    if state.run is None:
        return spread((("tui-eval", "role"),), (how,), width)
    run, mean = state.run, state.reward_mean.result()
    end: list[Span] = [how]
    if mean.n:
        interval = interval_text(mean.low, mean.high) if width >= WIDE else ""
        shown: Line = (
            ("reward ", "muted"),
            (reward_text(mean.mean), "strong"),
            (f" {interval}" if interval else "", "muted"),
            ("   ", ""),
        )
        end = [*shown, *end]
    room = max(width - line_width(end) - 2, 12)
    env = one_line(run.env_id, min(40, room))
    start: list[Span] = [(env, "role")]
    if (left_over := room - len(env) - 3) >= 4:
        start.append((f" · {one_line(run.model, left_over)}", "muted"))
    if not run.saved and room - line_width(start) >= 11:
        start.append(("  unsaved", "warn"))
    return spread(tuple(start), tuple(end), width)


def progress(state: RunState, now: float, width: int) -> Line:
    """A bar of finished, running and waiting rollouts, and their numbers."""
    if state.run is None:
        return (("─" * width, "rule"),)
    for facts in (_facts(state, now, wide=True), _facts(state, now, wide=False)):
        room = width - line_width(facts) - 2
        if room >= LEAST_BAR:
            return (*_bar(state, room), ("  ", ""), *facts)
    return spread(facts, EMPTY, width)


def _bar(state: RunState, width: int) -> list[Span]:
    total = max(state.total, 1)
    begun = state.finished + state.running
    finished = round(state.finished / total * width)
    bad = min(-(-state.errored * width // total), finished) if state.errored else 0
    running = max(round(begun / total * width) - finished, 0)
    if state.running and not running and finished < width:
        running = 1
    return [
        ("━" * (finished - bad), "good"),
        ("━" * bad, "bad"),
        ("━" * running, "busy"),
        ("─" * (width - finished - running), "rule"),
    ]


def _facts(state: RunState, now: float, wide: bool) -> Line:
    """The numbers beside the bar, in words where there is room for them."""
    facts: list[Line] = [
        ((f"{state.finished:,}/{state.total:,}", "strong"), (" finished" if wide else "", "muted"))
    ]
    for count, glyph, word, ink in (
        (state.running, "▶", "running", "busy"),
        (state.waiting, "·", "waiting", "muted"),
        (state.errored, "✗", "errors" if state.errored != 1 else "error", "bad"),
    ):
        if count:
            facts.append(
                (
                    (glyph + (" " if wide else ""), ink),
                    (f"{count:,}", ""),
                    (f" {word}" if wide else "", "muted"),
                )
            )
    remaining = state.total - state.finished
    rate = state.rate.per_second(now) if state.end is None and not _at_rest(state) else 0.0
    if rate and remaining:
        facts.append(((rate_text(rate), "muted"),))
        facts.append(
            (
                (
                    f"{clock_text(remaining / rate)} left"
                    if wide
                    else f"-{clock_text(remaining / rate)}",
                    "muted",
                ),
            )
        )
    elif remaining and state.end is None and wide and not _at_rest(state):
        facts.append((("– left", "faint"),))
    used = f"{count_text(state.tokens_in)} in {count_text(state.tokens_out)} out"
    tokens = used if wide else f"{count_text(state.tokens_in + state.tokens_out)} tok"
    facts.append(((tokens, "muted"),))
    gap: Line = (("   " if wide else "  ", ""),)
    joined: list[Span] = []
    for at, fact in enumerate(facts):
        joined += [*(gap if at else ()), *fact]
    return tuple(joined)


def _at_rest(state: RunState) -> bool:
    return state.run is not None and bool(state.run.complete_at)
