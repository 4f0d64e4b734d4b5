"""What became of the rollouts of a run, as lines: errors, how answers ended, tools, models."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from tui_eval.fold.outcome_words import ENDED, endings, has_many_errors, left_out_text
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.stats.mean import Mean
from tui_eval.text.figures import reward_text
from tui_eval.text.stages import TRUNCATED, error_word
from tui_eval.tui.base.look.ink import EMPTY, Line, cut, left, line_width, right, spread
from tui_eval.tui.base.look.wrap import shown_lines
from tui_eval.tui.run.numbers.number_line import NumberLine

ERRORS_MOST = 20
TOOLS_MOST = 20
NAME_MOST = 60
ENDING_FILTERS = {TRUNCATED: "truncated:yes"} | {w: f"finish:{r}" for r, w in ENDED.items()}
"""The filters for rollouts whose answers ended so, by the word for it."""


def left_out(state: RunState, reward: Mean, width: int) -> Iterator[Line]:
    """What the mean would be with errors as 0, and what it is without."""
    zeros: Line = ()
    if reward.n:
        as_0 = reward_text(reward.with_zeros(state.errored))
        zeros = ((left("", 7), ""), (as_0, "strong"), (" with errors as 0", "muted"))
    text = left_out_text(state.errored, state.finished, state.outcomes.classes)
    ink = "warn" if has_many_errors(state.errored, state.finished) else "muted"
    said: Line = ((text, ink),)
    if line_width(zeros) + line_width(said) + 2 <= width:
        yield spread(zeros, said, width)
    else:
        yield from (zeros,) if zeros else ()
        yield from (((part, ink),) for part in shown_lines(text, width, 3)[0])


def errors(state: RunState, width: int) -> Iterator[NumberLine | Line]:
    """How many rollouts errored, by the names of their exceptions."""
    counts = state.outcomes.errors.most_common(ERRORS_MOST)
    if not counts:
        return
    yield EMPTY
    yield (("errors", "faint"),)
    for name, count in counts:
        words = _chain(one_line(error_word(name), 400), max(width - 9, 4))
        line = ((right(f"{count:,}", 5), "strong"), ("  ✗ ", "bad"), (words, "bad"))
        yield NumberLine(line, ("error", name))
    if (left_out := len(state.outcomes.errors) - len(counts)) > 0:
        yield ((f"       and {left_out:,} more kinds", "faint"),)


def _chain(error: str, width: int) -> str:
    """An error and its causes; where they do not fit, the last one rather than those before."""
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
    yield EMPTY
    yield (("stopped by", "faint"),)
    for name, count in outcomes.stops.most_common(8):
        yield ((right(f"{count:,}", 5), "strong"), (f"  {one_line(name, max(width - 7, 4))}", ""))
    of_them = "of them " if outcomes.stops else ""
    for word, count in ended.items():
        line: Line = ((right(f"{count:,}", 5), "strong"), (f"  {of_them}{word}", "warn"))
        yield NumberLine(line, ("where", ENDING_FILTERS[word]))
    yield from _models(state, width)


def _models(state: RunState, width: int) -> Iterator[NumberLine | Line]:
    """Calls that another model answered than was asked."""
    if not state.outcomes.models:
        return
    from tui_eval.fold.filter_nodes import quoted  # which the first frame needs not

    yield EMPTY
    yield (("answered by other models", "faint"),)
    for name, calls in state.outcomes.models.most_common(8):
        words = one_line(name, max(width - 7, 4))
        line: Line = ((right(f"{calls:,}", 5), "strong"), (f"  {words}", ""))
        yield NumberLine(line, ("where", f"model={quoted(name)}"))


def tools(state: RunState, width: int) -> Iterator[NumberLine | Line]:
    """What each tool was called, first those of which most calls went wrong."""
    if not state.outcomes.tools:
        return
    uses = sorted(state.outcomes.tools.items(), key=lambda item: (-item[1][1], -item[1][0]))
    yield EMPTY
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
