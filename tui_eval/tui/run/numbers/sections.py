"""Sections of the numbers of a run as lines: pass rates, errors, how answers ended, tools, use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from tui_eval.fold.outcome_words import ENDED, endings, has_many_errors, left_out_text
from tui_eval.fold.run_state import RunState
from tui_eval.fold.usage import projected_cost, projected_tokens
from tui_eval.printable import one_line
from tui_eval.stats.intervals import Interval
from tui_eval.stats.mean import Mean
from tui_eval.stats.passk import PassRate
from tui_eval.text.blocks import columns
from tui_eval.text.figures import (
    count_text,
    interval_text,
    limit_text,
    money_text,
    plural,
    reward_text,
)
from tui_eval.text.stages import TRUNCATED, error_word
from tui_eval.token_kinds import in_words, named
from tui_eval.tui.base.look.ink import (
    EMPTY,
    Line,
    Span,
    cut,
    cut_line,
    left,
    line_width,
    right,
    spread,
)
from tui_eval.tui.base.look.wrap import shown_lines

ERRORS_MOST = 20
TOOLS_MOST = 20
NAME_MOST = 60
ENDING_FILTERS = {TRUNCATED: "truncated:yes"} | {w: f"finish:{r}" for r, w in ENDED.items()}
"""Filters for rollouts by the word for how their answers ended."""
K, RATE = 4, 19
"""Cells for k, and for a rate with its interval."""
Target: TypeAlias = tuple[str, str] | tuple[str, int]
"""The target of a line: an error or a tool by name, an example by place, or a filter (`where`)."""


class NumberLine(NamedTuple):
    """A line and its target."""

    line: Line
    target: Target | None = None


def pass_rates(state: RunState, width: int) -> Iterator[Line]:
    """The pass rates in one line, pass^k for the greatest k alone, and the threshold."""
    rates = _rates(state)
    if not rates:
        return
    spans: list[Span] = []
    for rate in rates:
        words = _rate(f"pass@{rate.k}", rate.any_passes)
        if line_width((*spans, *words)) > width + 2:
            break
        spans += words
    last = rates[-1]
    all_pass = _rate(f"pass^{last.k}", last.all_pass)
    passes = f"passes from {state.threshold:g}"
    notes = [passes]
    if last.left_out:
        of = f"{last.examples:,} of {last.examples + last.left_out:,}"
        over = f"@{last.k} and ^{last.k} over {of} examples"
        short = f"@{last.k} ^{last.k} over {of}"
        notes = [f"{over} · {passes}", f"{short} · {passes}", over, short]
    below: Line = all_pass
    if line_width((*spans, *all_pass)) <= width + 2:
        spans += all_pass
        below = EMPTY
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
    """A table by k: both rates, their 95 % intervals, their number of examples."""
    rates = _rates(state)
    if not rates:
        return
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


def left_out(state: RunState, reward: Mean, width: int) -> Iterator[Line]:
    """The mean with errors as 0, and the rollouts that the mean leaves out."""
    zeros: Line = ()
    if reward.n:
        as_0 = reward_text(reward.with_zeros(state.errored))
        zeros = ((left("", 7), ""), (as_0, "strong"), (" with errors as 0", "muted"))
    text = left_out_text(state.errored, state.finished, state.outcomes.classes)
    ink = "warn" if has_many_errors(state.errored, state.finished) else "muted"
    words: Line = ((text, ink),)
    if line_width(zeros) + line_width(words) + 2 <= width:
        yield spread(zeros, words, width)
    else:
        yield from (zeros,) if zeros else ()
        yield from (((part, ink),) for part in shown_lines(text, width, 3)[0])


def errors(state: RunState, width: int) -> Iterator[NumberLine | Line]:
    """Numbers of errored rollouts, by the names of their exceptions."""
    counts = state.outcomes.errors.most_common(ERRORS_MOST)
    if not counts:
        return
    yield (("errors", "faint"),)
    for name, count in counts:
        words = _chain(one_line(error_word(name), 400), max(width - 9, 4))
        yield NumberLine(_counted(count, f"✗ {words}", "bad"), ("error", name))
    if (left_out := len(state.outcomes.errors) - len(counts)) > 0:
        yield ((f"       and {left_out:,} more kinds", "faint"),)


def _chain(error: str, width: int) -> str:
    """An error and its causes; the last cause has priority over those before."""
    first, *others = error.split(" -> ")
    if cell_len(error) <= width or not others:
        return cut(error, width)
    last = f" -> {others[-1]}"
    for end in (last,) if len(others) == 1 else (f" -> …{last}", last):
        if (room := width - cell_len(end)) >= 8:
            return cut(first, room) + end
    return cut(first, width)


def stops(state: RunState, width: int) -> Iterator[NumberLine | Line]:
    """Why rollouts ended, and how many have answers that did not end by themselves."""
    outcomes = state.outcomes
    ended = endings(outcomes.truncated, outcomes.finishes)
    if not outcomes.stops and not ended:
        return
    yield (("stopped by", "faint"),)
    for name, count in outcomes.stops.most_common(8):
        yield _counted(count, one_line(name, max(width - 7, 4)))
    of_them = "of them " if outcomes.stops else ""
    for word, count in ended.items():
        line = _counted(count, f"{of_them}{word}", "warn")
        yield NumberLine(line, ("where", ENDING_FILTERS[word]))
    yield from _models(state, width)


def _models(state: RunState, width: int) -> Iterator[NumberLine | Line]:
    """Calls answered by another model than the requested one."""
    if not state.outcomes.models:
        return
    from tui_eval.fold.query.nodes import condition  # which the first frame needs not

    yield EMPTY
    yield (("answered by other models", "faint"),)
    for name, calls in state.outcomes.models.most_common(8):
        line = _counted(calls, one_line(name, max(width - 7, 4)))
        yield NumberLine(line, ("where", condition("model", name)))


def _counted(count: int, words: str, ink: str = "") -> Line:
    return (right(f"{count:,}", 5), "strong"), (f"  {words}", ink)


def tools(state: RunState, width: int) -> Iterator[NumberLine | Line]:
    """Calls of each tool, the one with the most failed calls first."""
    if not state.outcomes.tools:
        return
    uses = sorted(state.outcomes.tools.items(), key=lambda item: (-item[1][1], -item[1][0]))
    longest = max(len(one_line(name, NAME_MOST)) for name, _ in uses[:TOOLS_MOST])
    name_width = max(min(longest, width - 18), 8)
    yield ((left("tool", name_width) + "   calls  failed", "faint"),)
    for name, (calls, failed) in uses[:TOOLS_MOST]:
        line = (
            (left(one_line(name, NAME_MOST), name_width), ""),
            (right(f"{calls:,}", 8), "strong"),
            (right(f"✗ {failed:,}", 8), "bad") if failed else (right("0", 8), "faint"),
        )
        yield NumberLine(line, ("tool", name))
    if len(uses) > TOOLS_MOST:
        yield ((f"and {len(uses) - TOOLS_MOST:,} more tools", "faint"),)


def spending(state: RunState, width: int) -> Iterator[Line]:
    """Tokens and their cost, so far and, while the run continues, projected."""
    if not state.tokens:
        return
    read, written = state.usage.tokens_in, count_text(state.usage.tokens_out)
    used = f"{count_text(read)} in  {written} out" if read else written
    tokens: Line = (("tokens  ", "faint"), (used, ""))
    whole = _for_all(state, projected_tokens(state), count_text)
    if line_width((*tokens, *whole)) <= width:
        yield (*tokens, *whole)
    else:
        yield tokens
        yield (("      ", ""), *whole)
    if state.usage.kinds:
        of_kinds = in_words(named(state.usage.kinds), count_text)
        yield cut_line((("        ", ""), (of_kinds, "muted")), width)
    if state.cost is not None:
        whole = _for_all(state, projected_cost(state), money_text)
        yield (("cost    ", "faint"), (money_text(state.cost), "strong"), *whole)
        if listed := state.prices.listed:
            words = shown_lines(f"list price {listed}", max(width - 8, 1), 4)[0]
            yield from ((("        ", ""), (part, "muted")) for part in words)


def _for_all(state: RunState, whole: float | None, text: Callable[[float], str]) -> Line:
    """The projected use of the whole run, while it continues."""
    if whole is None or state.end is not None or state.finished >= state.total:
        return EMPTY
    return ((f"  about {text(whole)} for all {state.total:,}", "muted"),)


def refusals(state: RunState, width: int) -> Iterator[Line]:
    """Requests that endpoints refused, and the limits of concurrent generation."""
    if not state.refused_requests:
        return
    refused = plural(state.refused_requests, "request")
    spans: list[Span] = [("refused ", "faint"), (refused, "warn")]
    if any(state.concurrency_limits):
        limit, most = state.concurrency_limits
        now = f" {limit_text(limit)}{f' of {most:,}' if most else ''}"
        spans.append(("  limit ", "faint"))
        room = max(width - line_width(spans) - len(now), 1)
        history = columns([one for one, _ in state.limits], 1)[0][-room:]
        spans += [(history, "histogram"), (now, "")]
    yield cut_line(spans, width)
