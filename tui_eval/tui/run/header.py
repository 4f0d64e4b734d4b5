"""The two lines on top: what runs and how it is, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable

from tui_eval.feeds.feed import Feed
from tui_eval.fold.mean_reward import mean_reward
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.stats.mean import Mean
from tui_eval.text.figures import named_interval, reward_text
from tui_eval.text.run_words import moved_limit, status
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


class Header(LineView, can_focus=False):
    """Title and progress, a line each; progress alone where there is one line."""

    def __init__(self, feed: Feed, state: RunState, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.feed = feed
        self.state = state
        self.now = now
        self.requested_pause: bool | None = None
        self.requested_limit: int | None = None
        """What the engine was told last and has not answered: whether it pauses, how many run."""
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
