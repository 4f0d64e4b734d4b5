"""pass@k and pass^k of a run as lines: in a row, or one under the other with their intervals."""

from __future__ import annotations

from collections.abc import Iterator

from tui_eval.fold.run_state import RunState
from tui_eval.stats.intervals import Interval
from tui_eval.stats.passk import PassRate
from tui_eval.text.figures import interval_text, reward_text
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut_line, left, line_width, spread

K, RATE = 4, 19
"""Cells for k, and for a rate with its interval."""


def pass_rates(state: RunState, width: int) -> Iterator[Line]:
    """The rates in as many cells, pass^k for the greatest k alone, and from what on one passes."""
    rates = _rates(state)
    if not rates:
        return
    spans: list[Span] = []
    for rate in rates:
        words = _rate(f"pass@{rate.k}", rate.any_passes)
        if line_width(spans) + line_width(words) > width + 2:
            break
        spans += words
    last = rates[-1]
    all_pass = _rate(f"pass^{last.k}", last.all_pass)
    passes = f"passes from {state.threshold:g}"
    notes = [passes]
    if last.left_out:
        of = f"{last.examples:,} of {last.examples + last.left_out:,}"
        over, short = (
            f"@{last.k} and ^{last.k} over {of} examples",
            f"@{last.k} ^{last.k} over {of}",
        )
        notes = [f"{over} · {passes}", f"{short} · {passes}", over, short]
    below: Line = ()
    if line_width(spans) + line_width(all_pass) <= width + 2:
        spans += all_pass
    else:
        below = all_pass
    room = width - line_width(below)
    note = next((one for one in notes if len(one) <= room), notes[-1])
    below = (*below, (note, "faint"))
    if line_width(spans) + line_width(below) <= width:
        yield spread(tuple(spans), below, width)
    else:
        yield tuple(spans[:-1])
        yield cut_line(below, width)
    if passes not in note:
        yield ((passes, "faint"),)


def pass_rate_table(state: RunState, width: int) -> Iterator[Line]:
    """Each k with both rates, their 95 % intervals, and the examples that they are over."""
    rates = _rates(state)
    if not rates:
        return
    yield EMPTY
    head = left("k", K) + left("pass@k", RATE) + "pass^k"
    yield spread(((head, "faint"),), ((f"passes from {state.threshold:g}", "faint"),), width, 2)
    for rate in rates:
        line = (
            (left(f"{rate.k}", K), "muted"),
            *_with_interval(rate.any_passes, rate.any_interval),
            *_with_interval(rate.all_pass, rate.all_interval),
        )
        of = f"{rate.examples:,} of {rate.examples + rate.left_out:,}" if rate.left_out else ""
        yield spread(line, ((of, "faint"),), width)


def _with_interval(rate: float, interval: Interval) -> Line:
    value = reward_text(rate)
    return (value, "strong"), (left(f" {interval_text(*interval)}", RATE - len(value)), "muted")


def _rates(state: RunState) -> list[PassRate]:
    return state.pass_rates.result(state.total // state.per_example)


def _rate(name: str, value: float) -> Line:
    return ((f"{name} ", "muted"), (reward_text(value), ""), ("  ", ""))
