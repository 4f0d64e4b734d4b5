"""The numbers of a run as lines: pure functions of its state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import TypeAlias

from tui_eval.fold.mean_reward import ANYTIME, held_mean, mean_reward
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.stats.mean import NO_MEAN, Mean
from tui_eval.stats.passk import pass_at_k
from tui_eval.stats.quantiles import Quantiles
from tui_eval.text.blocks import columns
from tui_eval.text.figures import (
    NONE,
    count_text,
    interval_text,
    ms_text,
    named_interval,
    refusal_text,
    reward_text,
)
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut_line, left, line_width, right, spread
from tui_eval.tui.base.look.wrap import hanging
from tui_eval.tui.run.numbers import sections
from tui_eval.tui.run.numbers.sections import NAME_MOST, NumberLine

MEASURE = 84
"""The most cells for the numbers: related ones stay close."""
BESIDE, APART = 100, 4
"""The least width for two columns, and the cells between them."""
OTHER_INTERVALS = "pass rates and metrics: intervals for a fixed number"
EXAMPLE = 10
"""Cells for the name of an example."""
ERRORS, FIGURES, QUESTION_LEAST = 8, 49, 20
"""Cells for an example's errors, for all its figures, and at least for its question."""
METRIC = 7
"""Cells for the mean of a metric."""
HISTOGRAM_LINES, TREND_LINES, SENTENCE_LINES = 3, 2, 6
SMALL = 0.1
"""The greatest reward below which rewards over time are scaled to that one, else to 1."""
BINS = 20


def numbers(state: RunState, width: int) -> Iterator[NumberLine]:
    """The lines of all numbers but those of examples, most important first."""
    measure = min(width, MEASURE)
    yield from _stacked(state, measure, _why_ended)
    if not state.finished:
        yield NumberLine((("no rollout has finished yet", "faint"),))
        yield from _stacked(state, measure, sections.refusals, _notices)
        return
    if width >= BESIDE:
        yield from _two_columns(state, width)
    else:
        yield from _stacked(state, measure, *SECTIONS)
    if state.per_example > 1:
        yield from _stacked(state, width, _examples_head)


def _stacked(state: RunState, width: int, *parts: Section) -> Iterator[NumberLine]:
    """Sections under each other, most with a blank line before them."""
    for part in parts:
        for at, line in enumerate(part(state, width)):
            if at == 0 and part not in CLOSE:
                yield NumberLine(EMPTY)
            yield line if isinstance(line, NumberLine) else NumberLine(line)


def _two_columns(state: RunState, width: int) -> Iterator[NumberLine]:
    """Rewards, errors and tools on the left; all else on the right."""
    first = min((width - APART) * 11 // 20, MEASURE)
    not_right = (*ON_THE_LEFT, sections.pass_rates)
    others = (sections.pass_rate_table, *(one for one in SECTIONS if one not in not_right))
    one_side = _stacked(state, first, *ON_THE_LEFT)
    other_side = _stacked(state, min(width - first - APART, MEASURE), *others)
    next(other_side, None)  # the gap that it begins with
    for one, other in zip_longest(one_side, other_side, fillvalue=NumberLine(EMPTY)):
        gap: Span = (" " * (first + APART - line_width(one.line)), "")
        yield NumberLine((*one.line, gap, *other.line) if other.line else one.line, one.target)


def _why_ended(state: RunState, width: int) -> Iterator[Line]:
    """Why the run ended; or the disk's refusal, what waits, and what to do."""
    if state.end is not None and state.end.text:
        from tui_eval.events import STOPPED_EARLY  # which the first frame needs not

        text, is_well = state.end.text, state.end.status == STOPPED_EARLY
        sign, ink = (("✓ ", "good"), "") if is_well else (("✗ ", "bad"), "fault")
    elif state.end is None and (refusal := state.refusal) is not None:
        what = refusal_text(refusal.path, refusal.why, refusal.rows, refusal.records)
        elsewhere = f"Or save it elsewhere: {key_for('run.save-as')}."
        text = f"{what}. {refusal.advice}: the run continues then. {elsewhere}"
        sign, ink = ("‖ ", "bad"), "fault"
    else:
        return
    yield from hanging(sign, text, ink, width, SENTENCE_LINES)
    yield EMPTY


def _scored(state: RunState, reward: Mean) -> str:
    parts = [f"{reward.n:,} scored"]
    if state.errored:
        parts.append(f"{state.errored:,} errored")
    if no_number := len(state.details.no_number):
        parts.append(f"{no_number:,} no number")
    expected = state.expected if state.end is not None else state.finished
    if (missing := expected - reward.n - state.errored - no_number) > 0:
        parts.append(f"{missing:,} missing")
    return " · ".join(parts)


def _reward(state: RunState, width: int) -> Iterator[Line | NumberLine]:
    reward = mean_reward(state)
    interval = named_interval(reward)
    start: Line = (
        ("reward ", "strong"),
        (reward_text(reward.mean), "strong"),
        (f" {interval}" if interval else "", "muted"),
    )
    yield spread(start, ((_scored(state, reward), "muted"),), width)
    if name := reward.interval_name:
        long = f"95 % interval: {name}"
        yield cut_line(((long if len(long) <= width else name, "faint"),), width)
    if reward.method == ANYTIME:
        yield cut_line(((OTHER_INTERVALS, "faint"),), width)
    if state.end is None and state.run is not None and state.run.until:
        until = one_line(state.run.until, NAME_MOST)
        yield cut_line(((f"stops early once {until}", "faint"),), width)
    if state.errored:
        yield from sections.left_out(state, reward, width)
    if not state.outcomes.later_code:
        return
    from tui_eval.fold.summary import code_versions  # which the first frame needs not

    for one in code_versions(state):
        mean: Line = (
            (f"version {one.number} of the code ", "muted"),
            (reward_text(one.mean), "strong"),
        )
        text = f"{one.used:,} of {one.finished:,} scored"
        line = spread(mean, ((text, "muted"),), width)
        yield NumberLine(line, ("where", f"code:{one.number}"))


def _histogram(state: RunState, width: int) -> Iterator[Line]:
    from tui_eval.stats.quantiles import histogram

    if not state.reward_mean.result().n:
        return
    yield (("rollouts by reward", "faint"),)
    counts, low, high = histogram(state.reward, BINS)
    top = count_text(max(counts)).rjust(4)
    label = " " * len(top)
    cells = max(min((width - len(label) - 2) // BINS, 3), 1)
    wide = BINS * cells
    for at, row in enumerate(columns(counts, HISTOGRAM_LINES, cells)):
        yield ((f"{label if at else top} ", "faint"), (row, "histogram"))
    ends = reward_text(low), reward_text(high)
    middle = reward_text((low + high) / 2)
    before = wide // 2 - len(ends[0]) - len(middle) // 2
    after = wide - len(ends[0]) - before - len(middle) - len(ends[1])
    yield (
        (f"{label} {ends[0]} ", "faint"),
        ("─" * (before - 2), "rule"),
        (f" {middle} ", "faint"),
        ("─" * (after - 2), "rule"),
        (f" {ends[1]}", "faint"),
    )


def _metrics(state: RunState, width: int) -> Iterator[Line]:
    no_number = state.details.metrics_no_number
    names = [*state.metrics, *(name for name in no_number if name not in state.metrics)]
    if not names:
        return
    longest = max(len(one_line(name, NAME_MOST)) for name in names)
    name_width = max(min(longest, width - 24), 8)
    yield ((left("metric", name_width) + "   mean  95 % interval", "faint"),)
    known = state.metrics
    means = [
        held_mean(state, name, known[name].result()) if name in known else NO_MEAN for name in names
    ]
    intervals = [f"  {interval_text(mean.low, mean.high) or NONE}" for mean in means]
    cells = max(map(len, intervals))
    estimators = _estimators(means, width - name_width - METRIC - cells)
    for name, mean, interval, estimator in zip(names, means, intervals, estimators, strict=True):
        spans: list[Span] = [
            (left(one_line(name, NAME_MOST), name_width), ""),
            (right(reward_text(mean.mean), METRIC), "strong"),
            (left(interval, cells) if estimator else interval, "muted"),
            (estimator, "faint"),
        ]
        note: Line = ((f"  {no_number[name]:,} no number", "warn"),) if name in no_number else ()
        is_beside = line_width([*spans, *note]) <= width
        yield (*spans, *note) if is_beside else tuple(spans)
        if note and not is_beside:
            yield note


def _estimators(means: list[Mean], room: int) -> list[str]:
    """The estimator of each interval: in full, in a word, or none, as all have room."""
    for gap, form in (("  ", r".+"), (" ", r"\w+")):
        found = [re.match(form, mean.estimator) for mean in means]
        texts = [gap + one[0] if one else "" for one in found]
        if max(map(len, texts)) <= room:
            return texts
    return [""] * len(means)


def _quantiles(state: RunState, width: int) -> Iterator[Line]:
    def seconds_text(seconds: float) -> str:
        return ms_text(seconds * 1000)

    out = "  tokens out" if state.usage.tokens_in else "  tokens"
    every: tuple[tuple[str, Quantiles, Callable[[float], str]], ...] = (
        ("a rollout", state.times.rollout_s.result(), seconds_text),
        ("  tokens in", state.usage.rollout_in.result(), count_text),
        (out, state.usage.rollout_out.result(), count_text),
        ("a model call", state.times.model_call_s.result(), seconds_text),
    )
    parts = [one for one in every if one[1].p99]
    if not parts:
        return
    yield ((left("percentile", 14) + "    p50     p90     p99", "faint"),)
    if parts[0][0].startswith(" "):
        yield (("a rollout", "muted"),)
    for name, one, text in parts:
        yield (
            (left(name, 14), "muted"),
            (right(text(one.p50 or 0.0), 7), "strong"),
            (right(text(one.p90 or 0.0), 8), ""),
            (right(text(one.p99 or 0.0), 8), ""),
        )


def _trend(state: RunState, width: int) -> Iterator[Line]:
    means = state.trend.result()
    if len(means) < 2:
        return
    least, each = min(0.0, *means), state.trend.each
    most = state.trend.most if 0 < state.trend.most < SMALL else state.reward_most
    top, base = reward_text(most), reward_text(least)
    label = max(len(top), len(base))
    cells = max(min((width - label - 2) // len(means), 3), 1)
    what = "each one rollout" if each == 1 else f"each the mean of {each:,} rollouts"
    yield spread((("reward over time", "faint"),), ((what, "faint"),), width, 2)
    heights = [mean - least for mean in means]
    for at, row in enumerate(columns(heights, TREND_LINES, cells, most - least)):
        yield ((f"{right('' if at else top, label)} ", "faint"), (row, "histogram"))
    yield ((f"{right(base, label)} ", "faint"), ("─" * (len(means) * cells), "rule"))


def _times(state: RunState, width: int) -> Iterator[Line]:
    if state.times.mean_ms is None:
        return
    generation, scoring = state.times.mean_ms
    yield (
        ("mean time  ", "faint"),
        (ms_text(generation), "strong"),
        (" generating", "muted"),
        (f"  {ms_text(scoring)}", "strong"),
        (" scoring", "muted"),
    )


def _notices(state: RunState, width: int) -> Iterator[Line]:
    if not state.notices:
        return
    yield (("notices", "faint"),)
    for level, text in state.notices[-5:]:
        sign, ink = ("! ", "warn") if level == "warning" else ("· ", "muted")
        yield from hanging((sign, ink), text, ink, width, SENTENCE_LINES)


Section: TypeAlias = Callable[[RunState, int], Iterable[Line | NumberLine]]

ON_THE_LEFT: tuple[Section, ...] = (_reward, _histogram, _trend, sections.errors, sections.tools)
SECTIONS: tuple[Section, ...] = (
    *(_reward, sections.pass_rates, _histogram, _trend, _metrics, sections.errors),
    *(sections.stops, sections.tools, sections.spending, sections.refusals),
    *(_quantiles, _times, _notices),
)
"""The sections in the order of one column."""
CLOSE: tuple[Section, ...] = (_why_ended, _reward, sections.pass_rates, _histogram)
"""Sections without a gap before them."""


def _examples_head(state: RunState, width: int) -> Iterator[Line]:
    equal, groups = state.examples.equal, state.examples.with_several
    if equal:
        yield ((f"= {equal:,} of {groups:,} examples have equal rewards", "warn"),)
    head = _row("example", "mean", "std", "passed", f"pass@{state.pass_rates.ks[-1]}")
    has_questions = state.details.questions.has_any and width - FIGURES >= QUESTION_LEAST
    head += "  errors" if state.errored else " " * ERRORS if has_questions else ""
    yield ((f"{head}  question" if has_questions else head, "faint"),)


def _row(name: str, mean: str, std: str, passed: str, rate: str) -> str:
    return left(name, EXAMPLE) + right(mean, 7) + right(std, 6) + right(passed, 8) + right(rate, 8)


def example_line(state: RunState, place: int, width: int) -> Line:
    """The numbers of one example, and the beginning of its question; `=`: equal rewards."""
    one = state.examples.result(place)
    name = one_line(str(state.example_id(place * state.per_example)), EXAMPLE)
    room = width - FIGURES
    words = state.details.questions.get(place) if room >= QUESTION_LEAST else ""
    question: Span = (f"  {one_line(words, room)}" if words else "", "faint")
    if not one.n and not one.errored:
        return ((left(_row(name, NONE, "", "", ""), FIGURES - 2), "faint"), question)
    k = state.pass_rates.ks[-1]
    rate = reward_text(pass_at_k(one.n, one.passed, k)) if one.n >= k else NONE
    return (
        (left(name, EXAMPLE), ""),
        (right(reward_text(one.mean), 7), "strong"),
        (right(reward_text(one.std), 6), "muted"),
        (right(f"{one.passed}/{one.n}" if one.n else NONE, 8), ""),
        (right(rate, 8), "muted"),
        (" =" if one.all_equal else "  ", "warn"),
        (right(f"✗ {one.errored:,}" if one.errored else "", ERRORS - 2), "bad"),
        question,
    )
