"""A comparison of runs as text and as one JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tui_eval.fold.compare.compared_side import differing_settings
from tui_eval.fold.compare.comparison import Change, Comparison
from tui_eval.fold.compare.paired_figures import PairedFigure
from tui_eval.fold.mean_reward import mean_reward
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.runs.compared_runs import ComparedRun
from tui_eval.runs.summary_json import VERSION, mean_object
from tui_eval.text.changes import judged_texts, lettered
from tui_eval.text.figures import (
    EXACT,
    interval_text,
    plural,
    reward_text,
    signed_text,
    value_text,
)
from tui_eval.text.verdict_words import figure_sentence, verdict_word

NAME_MOST = 30
VALUE_MOST = 40


def comparison_lines(runs: Sequence[ComparedRun], only: str | None, most: int) -> Iterator[str]:
    """The runs, their settings that differ, then each run beside the first."""
    width = max(len(one.letter) for one in runs)
    for one in runs:
        yield f"{one.letter:<{width}}  {one.run.place}"
    yield ""
    settings = differing_settings([one.side for one in runs])
    yield "Settings that differ:" if settings else "Settings: the same"
    for name, values in settings.items():
        reported = "  ".join(
            f"{one.letter}: {one_line(value_text(value), VALUE_MOST)}"
            for one, value in zip(runs, values, strict=True)
        )
        yield f"  {one_line(name, NAME_MOST)}: {reported}"
    for one in runs[1:]:
        if one.comparison is not None:
            yield ""
            yield from _pair_lines(runs[0].letter, one.letter, one.comparison, only, most)


def _pair_lines(
    first: str, second: str, found: Comparison, only: str | None, most: int
) -> Iterator[str]:
    yield f"{first} and {second}: {plural(len(found.examples), 'example')} in both"
    for doubt in found.doubts:
        yield f"  ! {lettered(doubt, second, first)}"
    for why, count in found.unpaired.items():
        yield f"  not paired: {plural(count, 'example')} {lettered(why, second, first)}"
    if not found.comparable:
        return
    yield ""
    yield from _figure_lines(first, second, found)
    yield ""
    counts = ", ".join(f"{_words(change)} {found.changes[change]}" for change in Change)
    yield f"  {counts}"
    chosen = [one for one in found.examples if only is None or one.change == only]
    if only is None:
        chosen.sort(key=lambda one: -abs(one.difference))
    if chosen[:most]:
        yield ""
        yield f"  {'ex':>12} {first:>6} {second:>6} {second + ' − ' + first:>7}"
    for one in chosen[:most]:
        name = one_line(str(one.example_id), 12)
        numbers = " ".join(f"{text:>6}" for text in judged_texts(found, one))
        yield f"  {name:>12} {numbers} {signed_text(one.difference):>7}  {_words(one.change)}"
    if len(chosen) > most:
        yield f"  and {len(chosen) - most:,} more: -n {len(chosen)} shows all"


def _figure_lines(first: str, second: str, found: Comparison) -> Iterator[str]:
    rows = [(one_line(one.name, NAME_MOST), *_cells(one)) for one in found.figures]
    titles = ("", first, second, f"{second} − {first}", "95 %", "")
    table = [titles, *rows]
    widths = [max(len(row[place]) for row in table) for place in range(len(titles))]
    for row in table:
        name, *cells, interval, word = row
        reported = "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths[1:-2], strict=True))
        yield f"  {name:<{widths[0]}}  {reported}  {interval:<{widths[-2]}}  {word}".rstrip()
    yield ""
    for one in found.figures:
        matters = one.is_reward or (one.verdict.is_conclusive and not one.is_equal)
        if matters and (reported := figure_sentence(one, found)):
            yield f"  {reported}"


def _cells(one: PairedFigure) -> tuple[str, ...]:
    difference = one.difference
    means = reward_text(one.first, EXACT), reward_text(one.second, EXACT)
    interval = interval_text(difference.low, difference.high, EXACT)
    return *means, signed_text(difference.mean, EXACT), interval, verdict_word(one)


def _words(change: Change) -> str:
    return change.replace("-", " ")


def comparison_object(runs: Sequence[ComparedRun], only: str | None) -> dict[str, Any]:
    """The whole comparison; `docs/analysing.md` describes its keys."""
    return {
        "version": VERSION,
        "runs": [str(one.run.place.absolute()) for one in runs],
        "rewards": [mean_object(mean_reward(one.side.state)) for one in runs],
        "errors": [errors_object(one.side.state) for one in runs],
        "settings": differing_settings([one.side for one in runs]),
        "comparisons": [
            _pair_object(one.comparison, place, only)
            for place, one in enumerate(runs)
            if one.comparison is not None
        ],
    }


def errors_object(state: RunState) -> dict[str, Any]:
    """Counts that the mean of a run leaves out, and the mean with those as 0."""
    return {
        "finished": state.finished,
        "errored": state.errored,
        "no_number": len(state.details.no_number),
        "error_classes": dict(state.outcomes.classes.most_common()),
        "reward_with_errors_as_0": state.reward_mean.result().with_zeros(state.errored),
    }


def _pair_object(found: Comparison, place: int, only: str | None) -> dict[str, Any]:
    return {
        "first": 0,
        "second": place,
        "comparable": found.comparable,
        "doubts": found.doubts,
        "unpaired": found.unpaired,
        "is_rerun": found.is_rerun,
        "numbers": {one.name: _figure_object(one, found) for one in found.figures},
        "holm_p": found.reward.holm_p if found.comparable else None,
        "changes": {change.value: found.changes[change] for change in Change},
        "examples": [
            {
                "example_id": one.example_id,
                "first": one.first,
                "second": one.second,
                "difference": one.difference,
                "change": one.change.value,
            }
            for one in found.examples
            if only is None or one.change == only
        ],
    }


def _figure_object(one: PairedFigure, found: Comparison) -> dict[str, Any]:
    difference, verdict = one.difference, one.verdict
    first_by_example, second_by_example = one.by_example or (None, None)
    return {
        "first": one.first,
        "second": one.second,
        "first_by_example": first_by_example,
        "second_by_example": second_by_example,
        "difference": difference.mean,
        "se": difference.se,
        "low": difference.low,
        "high": difference.high,
        "method": difference.method,
        "test": difference.test,
        "p": difference.p,
        "holm_p": one.holm_p,
        "examples": difference.n,
        "verdict": verdict.direction.value,
        "why": verdict.why or None,
        "detectable": verdict.detectable,
        "needed": verdict.needed,
        "equal": one.is_equal,
        "noise_floor": None if one.floor is None else one.floor.reach,
        "noise_floor_run": None if one.floor is None else one.floor.place,
        "inside_noise_floor": one.is_inside_floor if one.floor and not found.is_rerun else None,
    }
