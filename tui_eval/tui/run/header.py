"""The two lines on top: what runs and how it is, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable

from tui_eval.feeds.feed import Feed
from tui_eval.fold.mean_reward import mean_reward
from tui_eval.fold.outcome_words import has_many_errors
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.stats.mean import Mean
from tui_eval.text.figures import clock_text, limit_text, named_interval, reward_text, took_text
from tui_eval.text.waits import longest_wait
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, line_width, spread
from tui_eval.tui.run.progress_facts import progress_facts

WIDE = 100
LEAST_BAR, SHORT_BAR = 12, 6
"""Cells of the bar, and where the numbers are without words."""
LEVELS = (
    *((3, False), (2, False), (2, True), (1, False), (0, False), (0, True)),
    *((-1, True), (-2, True)),
)
"""How many words the numbers have and whether they are terse, the widest first: see
`progress_facts`."""
LEAST_NAME, GOOD_NAME, BOTH_NAMES, MOST_NAME = 6, 10, 26, 16
"""Cells that the name of the environment keeps beside the reward, beside its interval, and, with
that of the model, beside all that is told of the reward; and the most that it takes beside the
bar."""
REASON_WIDTH = 24
"""Cells of what the disk says."""
MOVED_S = 10.0
"""How long a limit is shown that was moved; longer while more rollouts than that are in flight."""


class Header(LineView, can_focus=False):
    """Title and progress, a line each; progress alone where there is one line."""

    def __init__(self, feed: Feed, state: RunState, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.feed = feed
        self.state = state
        self.now = now
        self.requested_pause: bool | None = None
        self.requested_limit: int | None = None
        self._longest_at = (0, 0)
        self._longest = 0.0
        """Seconds of the longest wait: all in flight are looked at, so once a second, and where
        their number changes."""
        self._made_for = (0, False)
        self._lines: tuple[Line, Line] = (EMPTY, EMPTY)

    def count(self) -> int:
        """Two lines, or one."""
        return 1 if self._is_short else 2

    def line(self, index: int) -> Line:
        """Title or progress, as they were when the panes were filled."""
        if self._made_for != (self.line_width, self._is_short):
            self._make()
        return self._lines[index + self._is_short]

    def update(self) -> None:
        """Makes both lines anew."""
        self._make()
        super().update()

    @property
    def _is_short(self) -> bool:
        return self.size.height == 1

    def _make(self) -> None:
        width, now, state, named = self.line_width, self.now(), self.state, self._is_short
        how = status(state, self.feed.live, self.requested_pause, now)
        if (at := (int(now), state.running)) != self._longest_at:
            self._longest_at, self._longest = at, longest_wait(state, now)
        bar = progress(state, now, width, self.requested_limit, named, self._longest)
        self._made_for, self._lines = (width, named), (title(state, how, width), bar)


def elapsed(state: RunState, now: float) -> float:
    """Seconds that the run has taken, in earlier sessions as well."""
    run = state.run
    if run is None:
        return 0.0
    over = state.end.at if state.end is not None else now
    return (run.complete_at or over) - run.at + run.worked_ms / 1000


def status(state: RunState, live: bool, requested_pause: bool | None, now: float) -> Span:
    """How the run is, in a word or two."""
    if state.run is None:
        return ("starting engine…" if live else "reading…", "muted")
    seconds = elapsed(state, now)
    if state.end is not None or not live:
        return _end_status(state, took_text(seconds) if seconds else "")
    if state.refusal is not None:
        return (f"‖ paused: {one_line(state.refusal.why, REASON_WIDTH)}", "bad")
    if not state.gate_open:
        if state.in_flight:
            return (f"‖ pausing… {state.in_flight:,} in flight", "warn")
        return ("‖ paused", "warn")
    if requested_pause:
        return ("‖ pausing…", "warn")
    return (f"▶ running {clock_text(seconds)}", "busy")


def _end_status(state: RunState, took: str) -> Span:
    from tui_eval.events import OUT_OF_BUDGET, STOPPED_EARLY

    word = state.end.status if state.end is not None else None
    if word == "failed":
        return (f"✗ failed after {took}" if took else "✗ failed", "bad")
    if word is None:
        if not state.is_read:
            return (f"reading {state.read[0] / state.read[1]:.0%}", "muted")
        return ("▶ followed", "busy")
    if has_many_errors(state.errored, state.finished):
        far = "finished" if word == "finished" else "stopped"
        all_of = state.errored == state.finished
        text = f"{far}, {state.errored:,} of {state.finished:,} errored"
        if word in ("finished", STOPPED_EARLY, "interrupted"):
            return (f"✗ {text}", "bad") if all_of else (f"! {text}", "warn")
    if word == "finished":
        return (f"✓ finished in {took}" if took else "✓ finished", "good")
    if word == STOPPED_EARLY:
        return (f"✓ stopped early after {took}" if took else "✓ stopped early", "good")
    how = "out of budget" if word == OUT_OF_BUDGET else "stopped"
    return (f"■ {how}{'' if state.is_foreign else ', resumable'}", "warn")


def title(state: RunState, how: Span, width: int) -> Line:
    """Environment and model on the left; reward and state of the run on the right."""
    if state.run is None:
        return spread((("tui-eval", "role"),), (how,), width)
    run, mean = state.run, mean_reward(state)
    end: list[Span] = [how]
    if state.finished:
        for shown, least in _reward_forms(mean, state.errored):
            end = [*shown, ("   " if shown else "", ""), how]
            if width - line_width(end) - 2 >= least:
                break
    room = max(width - line_width(end) - 2, LEAST_NAME)
    env = one_line(run.env_id, min(40, room))
    start: list[Span] = [(env, "role")]
    if (left_over := room - len(env) - 3) >= 4:
        start.append((f" · {one_line(run.model, left_over)}", "muted"))
    if run.saved and len(run.path) + 3 <= room - line_width(start) - 8:
        start.append((f" · {one_line(run.path, 200)}", "faint"))
    if not run.saved and room - line_width(start) >= 11:
        start.append(("  unsaved", "warn"))
    return spread(tuple(start), tuple(end), width)


def _reward_forms(mean: Mean, errored: int) -> list[tuple[Line, int]]:
    """The mean reward, the longest form first, and the cells that each leaves for the name.

    Where rollouts errored, what it would be with them as 0 is worth more than the interval.
    """
    number: Line = (("reward ", "muted"), (reward_text(mean.mean), "strong"))
    interval: Line = ((f" {named_interval(mean)}".rstrip(), "muted"),)
    forms = [((*number, *interval), GOOD_NAME), (number, LEAST_NAME), (EMPTY, 0)]
    if not errored or not mean.n:
        return forms
    zeros = ((", ", "muted"), (reward_text(mean.with_zeros(errored)), "strong"))
    long, short = (" with errors as 0", "muted"), (" with ✗ as 0", "muted")
    whole = ((*number, *interval, *zeros, long), BOTH_NAMES)
    without = [((*number, *zeros, words), GOOD_NAME) for words in (long, short)]
    return [whole, *without, *forms[1:]]


def progress(
    state: RunState,
    now: float,
    width: int,
    requested_limit: int | None = None,
    named: bool = False,
    longest: float = 0.0,
) -> Line:
    """A bar of finished, running and waiting rollouts, and their numbers.

    Args:
        requested_limit: Rollouts in flight that somebody just asked for, until the engine answers.
        named: The environment is named before the bar, where there is room for both.
        longest: Seconds for which the rollout has waited that waits longest.
    """
    moved = moved_limit(state, now, requested_limit)
    if state.run is None:
        return (("─" * width, "rule"),)
    name: Line = ((one_line(state.run.env_id, MOST_NAME), "role"), ("  ", "")) if named else EMPTY
    facts: Line = EMPTY
    for words, terse in LEVELS:
        facts = progress_facts(state, now, words, terse, moved, longest)
        room = width - line_width((*name, *facts)) - 2
        least = SHORT_BAR if words < 2 else LEAST_BAR
        if room >= (least if words < 3 else WIDE // 4):
            counts = (state.finished, state.errored, state.running, state.expected)
            return (*name, *bar_spans(*counts, room), ("  ", ""), *facts)
    return progress(state, now, width, requested_limit) if named else facts


def bar_spans(finished: int, errored: int, running: int, total: int, width: int) -> list[Span]:
    """A bar of finished rollouts, errored ones among them, of running and of waiting ones."""
    total = max(total, 1)
    done = min(round(finished / total * width), width)
    bad = min(-(-errored * width // total), done) if errored else 0
    ahead = max(min(round((finished + running) / total * width), width) - done, 0)
    if running and not ahead and done < width:
        ahead = 1
    return [
        ("━" * (done - bad), "good"),
        ("╍" * bad, "bad"),
        ("━" * ahead, "busy"),
        ("─" * (width - done - ahead), "rule"),
    ]


def moved_limit(state: RunState, now: float, requested: int | None) -> str:
    """How the limit of the run is being moved, or was a moment ago: `16 → 24`."""
    last, run = state.limit_moved, state.run
    if state.end is not None or run is None:
        return ""
    if requested is not None and requested != run.max_concurrent:
        return f"{limit_text(run.max_concurrent)} → {limit_text(requested)}"
    if last is None:
        return ""
    in_flight = state.running - state.sleeping
    fits = not last.max_concurrent or in_flight <= last.max_concurrent
    if fits and now - last.at > MOVED_S:
        return ""
    return f"{limit_text(last.before)} → {limit_text(last.max_concurrent)}"
