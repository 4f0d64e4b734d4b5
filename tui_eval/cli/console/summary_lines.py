"""The summary of one run as plain text of 80 columns: the main numbers first."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tui_eval.fold.mean_reward import ANYTIME
from tui_eval.fold.outcome_words import endings, left_out_text
from tui_eval.fold.run_state import RunState
from tui_eval.fold.summary import Summary, summarize, worst_examples
from tui_eval.model_names import is_same_model
from tui_eval.printable import one_line
from tui_eval.stats.cost import prices_text
from tui_eval.stats.examples import ExampleFigures
from tui_eval.stats.intervals import Interval
from tui_eval.stats.mean import Mean
from tui_eval.stats.passk import ks_up_to
from tui_eval.stats.quantiles import Quantiles
from tui_eval.stats.rewards import is_equal
from tui_eval.text.figures import NONE, decimal_text, money_text, ms_text, plural, reward_text
from tui_eval.token_kinds import in_words

WIDTH = 80
NAME_WIDTH = 40
CAUSE_WIDTH = 160
MOST_EXAMPLES = 8
MOST_NAMES = 6
"""Errors, tools and metrics in a block at most; the JSON summary has all of them."""


FIXED_NUMBER = "for a fixed number of rollouts; too narrow where --until ends a run"
"""Note on the intervals of metrics and pass rates of a run that could stop by its numbers."""


def result_lines(
    state: RunState, *, abbreviated: bool = False, examples: int = MOST_EXAMPLES
) -> Iterator[str]:
    """Reward and metrics as mean ± standard deviation, their intervals, and all the rest.

    Args:
        abbreviated: Leave out the tables: intervals of metrics, latency, tools and examples.
        examples: The worst so many examples; -1 for all.
    """
    if state.run is None:
        return
    summary = summarize(state)
    yield ""
    yield "Results:"
    yield f"  Reward: {_mean_std(summary.reward, 2)}"
    for name, mean in summary.metrics.items():
        yield f"  {one_line(name, WIDTH - 24)}: {mean_std(mean)}"
    yield ""
    yield from _reward_lines(summary)
    yield from _what_went_wrong(summary)
    yield from _spent(summary)
    if not abbreviated:
        yield from _metric_intervals(summary.metrics)
        yield from _latency(summary)
        yield from _tools(summary.tools)
        yield from _examples(state, summary, examples)


def mean_std(mean: Mean) -> str:
    """Mean ± standard deviation with the digits that suit it; a dash for none."""
    return _mean_std(mean, 2 if abs(mean.mean or 0.0) < 1 else 1)


def _mean_std(mean: Mean, digits: int) -> str:
    if mean.mean is None or mean.std is None:
        return NONE
    return f"{_number(mean.mean, digits)} ± {_number(mean.std, digits)}"


def _number(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return NONE
    return decimal_text(value, digits) if abs(value) < 1e9 else f"{value:.2e}"


def _reward_lines(summary: Summary) -> Iterator[str]:
    reward = summary.reward
    if reward.low is not None and reward.high is not None:
        ends = f"{decimal_text(reward.low, 2)} to {decimal_text(reward.high, 2)}"
        yield from _wrapped("Reward, 95% interval", [f"{ends} ({reward.interval_name})"])
    if reward.method == ANYTIME:
        yield from _wrapped("Other intervals", [FIXED_NUMBER])
    by_example = summary.example_mean
    if reward.mean is not None and by_example is not None and not is_equal(reward.mean, by_example):
        reported = f"Mean of the examples' means: {decimal_text(by_example, 2)}"
        yield f"{reported}; the reward above is over all rollouts"
    if without := left_out_text(summary.errored, summary.finished, summary.error_classes):
        as_0 = decimal_text(summary.reward_with_errors or 0.0, 2)
        yield from textwrap.wrap(
            f"Reward with errors as 0: {as_0} ({without})", WIDTH, subsequent_indent="  "
        )
    no_number = f"{summary.no_number} no number, " if summary.no_number else ""
    yield (
        f"Rollouts: {summary.used} used, {summary.errored} errored, {no_number}"
        f"{summary.missing} missing of {summary.total}"
    )
    if odd := summary.metrics_no_number:
        counts = (f"{one_line(n, NAME_WIDTH)} {c:,}" for n, c in _first(odd))
        yield from _wrapped("Metrics with values that are no number", counts)
    if found := summary.code_versions:
        rows = ", ".join(f"{one.finished:,} of version {one.number}" for one in found)
        means = ", ".join(reward_text(one.mean) for one in found)
        yield f"Code: {plural(len(found), 'version')} of it: {rows}; mean rewards {means}"
    if summary.run.rollouts_per_example > 1:
        yield from _group_lines(summary)


def _group_lines(summary: Summary) -> Iterator[str]:
    """Pass rates, and how many examples have all their rollouts."""
    rates = summary.pass_rates
    if rates:
        yield from _wrapped("pass@k", (_rate(r.k, r.any_passes, r.any_interval) for r in rates))
        yield from _wrapped("pass^k", (_rate(r.k, r.all_pass, r.all_interval) for r in rates))
        yield "  [95%: Wilson, by the spread between examples]"
    left_out = [f"{rate.left_out} at k={rate.k}" for rate in rates if rate.left_out]
    if rates:
        beyond = (k for k in ks_up_to(summary.run.rollouts_per_example) if k > rates[-1].k)
        left_out += [f"{summary.examples} at k={k}" for k in beyond]
    if left_out:
        yield from _wrapped("Examples left out, with too few rewards", left_out)
    yield f"Complete examples: {summary.complete_examples} of {summary.examples}"
    if summary.groups:
        yield f"Examples with all rewards equal: {summary.equal_groups} of {summary.groups}"


def _rate(k: int, value: float, interval: Interval) -> str:
    low, high = (decimal_text(end, 2) for end in interval)
    return f"{k}={decimal_text(value, 2)}\N{NO-BREAK SPACE}[{low},\N{NO-BREAK SPACE}{high}]"


def _what_went_wrong(summary: Summary) -> Iterator[str]:
    if summary.errors:
        yield "Errors:"
        for name, count in _first(summary.errors):
            yield f"  {one_line(name, WIDTH - 12)}: {count}"
        yield from _further(summary.errors)
    if summary.last_cause:
        yield f"No rollout succeeded; {met(summary.last_cause)}"
    if summary.refused_requests:
        yield f"Refused requests (429, 529), tried again: {summary.refused_requests:,}"
    if summary.stop_conditions:
        stops = (f"{one_line(n, NAME_WIDTH)} {c}" for n, c in _first(summary.stop_conditions))
        yield from _wrapped("Stopped by", stops)
    if summary.missing_columns:
        yield "Columns:"
        yield from (f"  {line}" for line in missing_column_lines(summary))
    for word, count in endings(summary.truncated, summary.finish_reasons).items():
        yield _share(word.capitalize(), count, summary.finished)
    if summary.failed_tools:
        yield _share("With a tool call that went wrong", summary.failed_tools, summary.finished)
    yield from _models(summary)


def _share(what: str, count: int, finished: int) -> str:
    return f"{what}: {count} of {finished} ({count / max(finished, 1):.0%})"


def _models(summary: Summary) -> Iterator[str]:
    """Models that answered in place of the requested one, and other names of that one."""
    requested = summary.run.model
    others = {n: c for n, c in summary.models.items() if not is_same_model(requested, n)}
    same = {n: c for n, c in summary.models.items() if n not in others}
    for what, models in (
        ("Answered by other models than requested", others),
        ("Answered under the name", same),
    ):
        calls = (f"{one_line(n, NAME_WIDTH)} {plural(c, 'call')}" for n, c in _first(models))
        if models:
            yield from _wrapped(what, calls)


def met(cause: str) -> str:
    """Cause of the last retry."""
    return f"the last one to be tried again met {one_line(cause, CAUSE_WIDTH)}"


def missing_column_lines(summary: Summary) -> Iterator[str]:
    """The columns that no rollout's state had, and what may have been meant."""
    for name, hint in _first(summary.missing_columns):
        reported = f"{one_line(name, NAME_WIDTH)}: in no rollout's state, so null in every row"
        yield f"{reported}. {one_line(hint, NAME_WIDTH)}" if hint else reported


def _spent(summary: Summary) -> Iterator[str]:
    tokens_in, tokens_out = summary.input_tokens, summary.output_tokens
    if not (tokens_in or tokens_out):
        return
    parts = [f"{tokens_in:,} in", f"{tokens_out:,} out"] if tokens_in else []
    each = ""
    if n := summary.with_usage:
        each = f"; a rollout {summary.used_out / n:,.0f}"
        if tokens_in:
            each = f"; a rollout {summary.used_in / n:,.0f} in, {summary.used_out / n:,.0f} out"
    yield from _wrapped("Tokens", [*parts, f"{tokens_in + tokens_out:,} in all{each}"])
    if summary.kinds.keys() - {"reasoning"}:  # thoughts alone are in --json: they cost what all do
        yield f"  {in_words(summary.kinds, '{:,}'.format)} of them"
    if lost := summary.lost_in + summary.lost_out:
        yield f"  {lost:,} of them in attempts that were cut short or run again"
    prices = summary.prices
    if summary.cost is None:
        yield "Cost: not known; the endpoint has no input_price and output_price"
    else:
        per = f"{prices_text(prices)} a million tokens"
        listed = f"; list price of {prices.listed}" if prices.listed else ""
        yield from _wrapped("Cost", [f"{money_text(summary.cost)} ({per}{listed})"])


def _metric_intervals(metrics: Mapping[str, Mean]) -> Iterator[str]:
    known = {name: mean for name, mean in metrics.items() if mean.low is not None}
    if not known:
        return
    yield ""
    room = NAME_WIDTH - 8
    yield f"{'95% intervals':{room}}{'low':>9}{'high':>9}{'used':>8}"
    for name, mean in _first(known):
        low, high = reward_text(mean.low), reward_text(mean.high)
        figures = f"{low:>9}{high:>9}{mean.n:>8}  {mean.estimator}"
        yield f"  {one_line(name, room - 3):{room - 2}}{figures}"
    yield from _further(known)


def _latency(summary: Summary) -> Iterator[str]:
    known = {"rollout": summary.rollout_s, "model call": summary.model_call_s}
    if not any(found.n for found in known.values()):
        return
    yield ""
    yield f"{'Latency':{NAME_WIDTH}}{'p50':>9}{'p90':>9}{'p99':>9}{'of':>9}"
    for name, found in known.items():
        yield f"  {_name(name)}{_times(found)}{found.n:>9,}"


def _times(found: Quantiles) -> str:
    times = (found.p50, found.p90, found.p99)
    return "".join(f"{NONE if s is None else ms_text(s * 1000):>9}" for s in times)


def _tools(tools: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    if not tools:
        return
    yield ""
    yield f"{'Tools':{NAME_WIDTH}}{'calls':>9}{'errors':>9}"
    for name, (calls, errors) in _first(tools):
        yield f"  {_name(name)}{calls:>9,}{errors:>9,}"
    yield from _further(tools)


def _examples(state: RunState, summary: Summary, most: int) -> Iterator[str]:
    if summary.examples < 2 or most == 0:
        return
    rows = worst_examples(state, summary.examples if most < 0 else most)
    if not rows:
        return
    all_ = len(rows) == summary.examples
    title = "Examples, worst first" if all_ else f"The worst {len(rows)} of {summary.examples}"
    yield ""
    yield f"{title:{NAME_WIDTH}}{'mean':>7}{'std':>7}{'used':>6}{'errors':>8}{'passed':>8}"
    for example_id, figures in rows:
        yield f"  {_name(str(example_id))}{_example_line(figures)}"
    if any(figures.all_equal for _, figures in rows):
        yield "  = all rewards of the example are equal"


def _example_line(figures: ExampleFigures) -> str:
    mean, std = reward_text(figures.mean), reward_text(figures.std)
    equal = " =" if figures.all_equal else ""
    return f"{mean:>7}{std:>7}{figures.n:>6}{figures.errored:>8}{figures.passed:>8}{equal}"


def _name(text: str) -> str:
    return f"{one_line(text, NAME_WIDTH - 3):{NAME_WIDTH - 2}}"


def _wrapped(title: str, parts: Iterable[str]) -> list[str]:
    text = f"{title}: {', '.join(parts)}"
    lines = textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _first(found: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(found.items())[:MOST_NAMES]


def _further(found: Mapping[str, Any]) -> Iterator[str]:
    if len(found) > MOST_NAMES:
        yield f"  and {plural(len(found) - MOST_NAMES, 'other')}: see --json"
