"""The two lines on top: environment, model and status; progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tui_eval.feeds.feed import Feed
from tui_eval.fold.mean_reward import mean_reward
from tui_eval.fold.rollout_columns import HELD
from tui_eval.fold.run_state import RunState
from tui_eval.fold.usage import projected_cost
from tui_eval.printable import one_line
from tui_eval.stats.mean import Mean
from tui_eval.text.blocks import columns
from tui_eval.text.figures import (
    NONE,
    clock_text,
    count_text,
    list_price_text,
    money_text,
    named_interval,
    plural,
    rate_text,
    reward_text,
    tokens_text,
)
from tui_eval.text.run_words import changed_max_concurrent, status
from tui_eval.text.stages import TOOL_FAILED
from tui_eval.text.waits import LONG_S, longest_wait
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, line_width, spread

WIDE = 100
LEAST_BAR, SHORT_BAR = 12, 6
"""Cells of the bar, and where the numbers are without words."""
LEVELS = (
    *((3, False), (2, False), (2, True), (1, False), (0, False), (0, True)),
    *((-1, True), (-2, True)),
)
"""Levels of words, and whether numbers are terse, widest first; see `progress_spans`."""
LEAST_NAME, GOOD_NAME, BOTH_NAMES, MOST_NAME = 6, 10, 26, 16
"""Cells that the name of the environment keeps beside the reward, beside its interval, and, with
that of the model, beside the whole reward; and the most that it takes beside the bar."""
LIMIT_SPANS = 2
"""Spans of a limit that gives way; with those of refused requests there are more."""


class Header(LineView, can_focus=False):
    """Title and progress, a line each; progress alone where there is one line."""

    def __init__(self, feed: Feed, state: RunState, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.feed = feed
        self.state = state
        self.now = now
        self.requested_pause: bool | None = None
        self.requested_max_concurrent: int | None = None
        """The requested pause and limit that the engine has not answered yet."""
        self._longest_at = (0, 0)
        self._longest = 0.0
        """Seconds of the longest wait: all in flight are looked at, so once a second, and where
        their number changes."""
        self._made_for = (0, False)
        self._lines: tuple[Line, Line] = (EMPTY, EMPTY)

    def count(self) -> int:
        return 1 if self._is_short else 2

    def line(self, index: int) -> Line:
        """Title or progress, as of the last update."""
        if self._made_for != (self.line_width, self._is_short):
            self._make()
        return self._lines[index + self._is_short]

    def update(self) -> None:
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
        bar = progress(state, now, width, self.requested_max_concurrent, named, self._longest)
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

    Where rollouts errored, the mean with errors as 0 has priority over the interval.
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
    requested_max_concurrent: int | None = None,
    named: bool = False,
    longest: float = 0.0,
) -> Line:
    """A bar of finished, running and waiting rollouts, and their numbers.

    Args:
        requested_max_concurrent: The limit that was just requested, until the engine answers.
        named: Whether the environment is named before the bar, where both have room.
        longest: Seconds of the longest wait of a rollout.
    """
    moved = changed_max_concurrent(state, now, requested_max_concurrent)
    if state.run is None:
        return (("─" * width, "rule"),)
    name: Line = ((one_line(state.run.env_id, MOST_NAME), "role"), ("  ", "")) if named else EMPTY
    spans: Line = EMPTY
    for words, terse in LEVELS:
        spans = progress_spans(state, now, words, terse, moved, longest)
        room = width - line_width((*name, *spans)) - 2
        least = SHORT_BAR if words < 2 else LEAST_BAR
        if room >= (least if words < 3 else WIDE // 4):
            counts = (state.finished, state.errored, state.running, state.expected)
            return (*name, *bar_spans(*counts, room), ("  ", ""), *spans)
    return progress(state, now, width, requested_max_concurrent) if named else spans


def bar_spans(finished: int, errored: int, running: int, total: int, width: int) -> list[Span]:
    """A bar of finished (and errored), running and waiting rollouts."""
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


def progress_spans(
    state: RunState, now: float, words: int, terse: bool, moved: str, longest: float
) -> Line:
    """The numbers beside the bar: 3 with all words, 2 with most, 1 and 0 with signs only.

    Where it is `terse`, tokens are one number beside words, and none beside signs. A limit with
    refused requests then replaces the waiting, with -1 the rate, and with -2 the time left.
    `longest` is the longest wait of a rollout in seconds.
    """
    left_out, words = max(-words, 0), max(words, 0)
    is_known = state.run is None or state.run.total_known
    of = f"/{state.expected:,}" if is_known else ""
    done: Line = ((f"{state.finished:,}{of}", "strong"),)
    noun = " finished" if is_known else " rollout" if state.finished == 1 else " rollouts"
    gives_way = EMPTY if moved else _concurrency(state, words, terse)
    is_tight = terse and not words and len(gives_way) > LIMIT_SPANS
    comes = state.end is None and not state.is_foreign
    bad = len(state.details.no_number)
    has_tokens = (words or not terse) and (comes or state.tokens)
    texts = [
        *_pace(state, now, words)[left_out if is_tight else 0 :],
        _tokens(state, 1 if terse else words) if has_tokens else "",
        _cost(state, is_brief=not words or (terse and words == 2)),
    ]
    spans = (
        (*done, (noun, "muted")) if words == 3 else done,
        *_states(state, words, is_tight),
        ((f"! {bad:,} no number" if words else f"!{bad:,}", "warn"),) if bad else EMPTY,
        _faults_of_files(state, words),
        _waits_in_memory(state, words),
        _held_up(state, longest, words),
        (("limit ", "muted"), (moved, "warn")) if moved else gives_way,
        *(((text, "muted"),) for text in texts if text),
    )
    gap: Span = ("   " if words > 1 and not terse else "  ", "")
    return tuple(span for part in spans if part for span in (gap, *part))[1:]


def _states(state: RunState, words: int, is_tight: bool) -> list[Line]:
    """Numbers of rollouts that are held, sleep, run, wait and have errored, where there are any.

    Where it is tight, waiting rollouts and failed tools are left out.
    """
    held, sleeping = state.by_stage[HELD], state.sleeping
    waiting, failed = (0, 0) if is_tight else (state.waiting, state.outcomes.failed_tools)
    glyphs = (
        (held, "‖", "held", "warn"),
        (sleeping, "~", "sleeping", "warn"),
        (state.running - held - sleeping, "▶", "running", "busy"),
        (waiting, "·", "waiting" if state.end is None else "missing", "muted"),
        (state.errored, "✗", "errors" if state.errored != 1 else "error", "bad"),
        (failed, TOOL_FAILED, "with failed tools" * (words > 2), "warn"),
    )
    return counted(glyphs, words > 1)


def counted(counts: Iterable[tuple[int, str, str, str]], spoken: bool) -> list[Line]:
    """Counts that are not 0, each with its glyph, its word where there is room, and its ink."""
    parts: list[Line] = []
    for count, glyph, word, ink in counts:
        if count:
            before, after = (f"{glyph} ", f" {word}") if spoken and word else (glyph, "")
            parts.append(((before, ink), (f"{count:,}", ""), (after, "muted")))
    return parts


def _concurrency(state: RunState, words: int, terse: bool) -> Line:
    """The limit of concurrent generation while endpoints refuse requests, and their refusals."""
    limit, most = state.concurrency_limits if state.end is None else (0, 0)
    shown: list[Span] = []
    if limit and limit != most:
        of = f"{'/' if terse else ' of '}{most:,}" if most else ""
        history = columns([one for one, _ in state.limits], 1)[0]
        shown = [(f"{history} ", "faint")] if words == 3 else []
        shown += [("limit ", "muted"), (f"{limit:,}{of}", "warn")]
    if refused := state.refused_requests:
        what = f"{refused:,} req." if terse and shown else plural(refused, "request")
        shown.append((f"{' · ' if shown else ''}{what} refused", "muted"))
    return tuple(shown)


def _tokens(state: RunState, words: int) -> str:
    read, written = state.usage.tokens_in, state.usage.tokens_out
    if words > 2 or (words == 2 and not read):
        return f"{'tokens ' if read else ''}{tokens_text(read, written)}"
    both = f"{count_text(read)} → {count_text(written)}"
    return f"{both if words > 1 else count_text(read + written)} tok"


def _waits_in_memory(state: RunState, words: int) -> Line:
    """Rows and records that the disk has not taken."""
    if state.refusal is None:
        return EMPTY
    rows, answers = state.refusal.rows, state.refusal.records
    if not words:
        return ((f"!{rows + answers:,} unsaved", "bad"),)
    both = [plural(count, noun) for count, noun in ((rows, "row"), (answers, "answer")) if count]
    return ((f"! {', '.join(both) or 'nothing'} in memory", "bad"),)


def _held_up(state: RunState, longest: float, words: int) -> Line:
    """A warning of still workers, of replicas that are out, or of a long wait."""
    if state.end is not None:
        return EMPTY
    seen = state.workers.workers if state.workers is not None else ()
    if still := sum(bool(one.still_since) for one in seen):
        verb = "stands still" if still == 1 else "stand still"
        return ((f"! {plural(still, 'worker')} {verb}" if words else "!worker", "warn"),)
    if out := len(state.out):
        return ((f"! {plural(out, 'replica')} out" if words else f"!{out} out", "warn"),)
    if longest < LONG_S:
        return EMPTY
    return ((f"longest wait {clock_text(longest)}" if words > 1 else clock_text(longest), "warn"),)


def _faults_of_files(state: RunState, words: int) -> Line:
    """Counts of unreadable lines and of contradictions, and the pane with more."""
    bad = state.unreadable_lines
    against = len(state.end.contradictions) if state.end is not None else 0
    if bad or against:
        texts = [
            (f"! {plural(bad, 'line')} unreadable" if words else f"!{bad:,}", "bad"),
            (f"! {plural(against, 'contradiction')}" if words else f"!{against:,}", "warn"),
        ]
        first, *other = [one for one, count in zip(texts, (bad, against), strict=True) if count]
        key = key_for("run.log" if against or state.is_foreign else "run.numbers")
        where = f", see pane {key}" if words > 1 else ""
        return first, *((f" {text}", ink) for text, ink in other), (where, "muted")
    if state.unfinished and state.end is None:
        text = f"~ line {state.unfinished:,} unfinished" if words else f"~{state.unfinished:,}"
        return ((text, "warn"),)
    return EMPTY


def _cost(state: RunState, *, is_brief: bool) -> str:
    """The cost so far, and the projected one while the run continues."""
    if not state.cost:
        return ""
    projected = projected_cost(state) if state.end is None else None
    listed = list_price_text(state.prices.listed)
    if projected is None or is_brief:
        return money_text(state.cost) + ("" if is_brief else listed)
    return f"{money_text(state.cost)} of ~{money_text(projected)}{listed}"


def _pace(state: RunState, now: float, words: int) -> list[str]:
    """Rate and time left, while rollouts still finish."""
    remaining = state.expected - state.finished
    if state.run is None or state.end is not None or not remaining:
        return []
    if state.run.complete_at or not state.gate_open:
        return []
    rate = state.rate.per_second(now)
    if rate <= 0:
        return [f"{NONE} left"] if words > 1 else []
    if remaining < rate:
        return [rate_text(rate)]
    return [rate_text(rate), f"{clock_text(remaining / rate)} left"]
