"""Comparison of two or more runs: their numbers and their examples.

Examples are paired by content, not by id: a dataset that was reordered or filtered gives other ids
to the same examples. Only examples with a reward in both runs count, so that a difference is not
one of which examples were run. Whatever weakens the numbers is a sentence in `doubts`, shown beside
them by console, screen and export alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from tui_eval.fold.compare.compared_side import Rows, Side, is_rerun
from tui_eval.fold.compare.paired_figures import (
    ExampleRollouts,
    NoiseFloor,
    PairedFigure,
    paired_figures,
)
from tui_eval.fold.outcome_words import left_out_text, no_number_text
from tui_eval.stats.paired import holm


class Change(StrEnum):
    """Outcome of an example in the second run against the first."""

    FIXED = "fixed"
    BROKEN = "broken"
    BOTH_WRONG = "both-wrong"
    BOTH_RIGHT = "both-right"


class PairedExample(msgspec.Struct, frozen=True):
    """An example that both runs have with a reward."""

    example_id: Any
    first: float
    second: float
    """Mean reward in each run; it passes from the run's threshold on."""
    change: Change
    first_rows: Sequence[int]
    second_rows: Sequence[int]
    """Its rollouts in each run."""

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.second - self.first


class Comparison(msgspec.Struct):
    """A run beside the first one."""

    examples: list[PairedExample]
    """Examples that both runs have, in the order of the first."""
    figures: list[PairedFigure]
    """The reward first, then metrics that both have, then what was spent."""
    unpaired: dict[str, int]
    """Numbers of examples that could not be paired, by reason."""
    doubts: list[str]
    """Reasons to trust the numbers less."""
    changes: Counter[Change] = msgspec.field(default_factory=Counter)
    thresholds: tuple[float, float] = (0.5, 0.5)
    """Mean rewards from which an example passes, in the first and second run."""
    is_rerun: bool = False
    """Whether both are runs of one configuration, which differ by chance alone."""

    @property
    def comparable(self) -> bool:
        """Whether there is any example that both runs have with a reward."""
        return bool(self.examples)

    @property
    def reward(self) -> PairedFigure:
        """The main number of a comparison; only of runs that are comparable."""
        return self.figures[0]


def compare_runs(sides: Sequence[Side]) -> list[Comparison]:
    """Compares every other run with the first one.

    The reward is the main number: its p-values are raised over the runs. All other numbers are
    looked at together, so theirs are raised over the runs and over each other. A rerun of the first
    run shows the size of chance: nothing is looked for in it, so it raises none.
    """
    found = [_compare(sides[0], side) for side in sides[1:]]
    for kind in (False, True):
        alike = [one for one in found if one.is_rerun is kind]
        _raise_chances([one for each in alike for one in each.figures[:1]])
        _raise_chances([one for each in alike for one in each.figures[1:]])
    _set_noise_floors(found)
    return found


def _raise_chances(family: Sequence[PairedFigure]) -> None:
    """Raises p-values of a family by Holm's method; a missing one counts as 1."""
    chances = [1.0 if one.difference.p is None else one.difference.p for one in family]
    for figure, p in zip(family, holm(chances), strict=True):
        if figure.difference.p is not None:
            figure.holm_p = p


def _set_noise_floors(found: Sequence[Comparison]) -> None:
    """Gives every number the widest floor that a rerun of the first run has for it."""
    floors: dict[str, NoiseFloor] = {}
    for place, one in enumerate(found, 1):
        for figure in one.figures if one.is_rerun else ():
            reach, widest = figure.reach, floors.get(figure.field)
            if reach is not None and (widest is None or reach > widest.reach):
                floors[figure.field] = NoiseFloor(reach, place)
    for one in found:
        for figure in one.figures:
            figure.floor = floors.get(figure.field)


def _compare(first: Side, second: Side) -> Comparison:
    ours, theirs = first.rows_by_content(), second.rows_by_content()
    shared = [digest for digest in ours if digest in theirs]
    sides = ((first, ours), (second, theirs))
    in_both = [ExampleRollouts(side, [rows[one] for one in shared]) for side, rows in sides]
    rewards = [one.values("reward").means.tolist() for one in in_both]
    examples: list[PairedExample] = []
    for digest, a, b in zip(shared, *rewards, strict=True):
        if math.isnan(a) or math.isnan(b):
            continue
        change = _change(first.state.passes(a), second.state.passes(b))
        example_id = first.state.example_id(ours[digest][0])
        examples.append(PairedExample(example_id, a, b, change, ours[digest], theirs[digest]))
    figures = paired_figures(
        ExampleRollouts(first, [one.first_rows for one in examples]),
        ExampleRollouts(second, [one.second_rows for one in examples]),
    )
    counts = len(examples), len(shared), max(len(ours), len(theirs))
    return Comparison(
        examples,
        figures,
        _unpaired(first, second, ours, theirs, len(shared) - len(examples)),
        list(comparison_doubts(first, second, counts, figures)),
        changes=Counter(one.change for one in examples),
        thresholds=(first.state.threshold, second.state.threshold),
        is_rerun=len(shared) == min(len(ours), len(theirs)) and is_rerun(first, second),
    )


def _change(first_passes: bool, second_passes: bool) -> Change:
    if first_passes:
        return Change.BOTH_RIGHT if second_passes else Change.BROKEN
    return Change.FIXED if second_passes else Change.BOTH_WRONG


def _unpaired(
    first: Side,
    second: Side,
    ours: Rows,
    theirs: Rows,
    without_reward: int,
) -> dict[str, int]:
    found = {
        "only in the first run": sum(digest not in theirs for digest in ours),
        "only in the second run": sum(digest not in ours for digest in theirs),
        "without a reward in one or both": without_reward,
        "not finished or not readable in the first run": _missing(first),
        "not finished or not readable in the second run": _missing(second),
    }
    return {why: count for why, count in found.items() if count}


def _missing(side: Side) -> int:
    return -(-side.state.total // side.state.per_example) - len(side.digests)


NAMED = 3
"""Uneven numbers that are named at most."""


def comparison_doubts(
    first: Side, second: Side, counts: tuple[int, int, int], figures: Sequence[PairedFigure]
) -> Iterator[str]:
    """Doubts about a comparison.

    Args:
        counts: Numbers of examples: paired, in both runs, and in the larger run.
    """
    yield from _unlike_examples(first, second, counts)
    yield from _unlike_means(first, second, figures)


def _unlike_examples(first: Side, second: Side, counts: tuple[int, int, int]) -> Iterator[str]:
    paired, shared, of = counts
    if not shared:
        yield "not comparable: the runs have no example in common"
    elif not paired:
        yield "not comparable: no example has a reward in both runs"
    elif paired * 2 < of:
        yield f"only {paired} of {of} examples are in both runs with a reward"
    if first.id_only and second.id_only:
        yield "the rows have no prompts: examples are paired by their ids"
    elif first.id_only or second.id_only:
        which = "first" if first.id_only else "second"
        yield f"the rows of the {which} run have no prompts, and cannot be paired"
    for which, run in (("first", first), ("second", second)):
        if count := len(run.digests) - len(set(run.digests.values())):
            same = "1 example is the same as another, and counts as one with it"
            if count > 1:
                same = f"{count:,} examples are the same as others, and count as one with them"
            yield f"of the {which} run {same}"
    environments = [first.environment, second.environment]
    if all(environments) and environments[0] != environments[1]:
        names = ", ".join(map(str, environments))
        yield f"the environments differ ({names}): their rewards may not mean the same"


def _unlike_means(first: Side, second: Side, figures: Sequence[PairedFigure]) -> Iterator[str]:
    a, b = first.state, second.state
    for which, side in (("first", a), ("second", b)):
        if without := left_out_text(side.errored, side.finished, side.outcomes.classes):
            as_0 = side.reward_mean.result().with_zeros(side.errored)
            yield f"of the {which} run {without}; {as_0:.2f} with errors as 0"
        if count := len(side.details.no_number):
            yield f"of the {which} run {no_number_text(count)}"
        if side.end is not None:
            yield from (f"of the {which} run {text}" for text in side.end.contradictions)
        if side.run is not None and side.run.until:
            yield (
                f"the {which} run could stop by its own numbers (--until): the interval of the "
                "difference is one for a fixed number of rollouts"
            )
    if uneven := [one.name for one in figures if one.is_uneven]:
        more = f" and {len(uneven) - NAMED} more" if len(uneven) > NAMED else ""
        yield (
            "examples have unequal numbers of rollouts: the difference of "
            f"{', '.join(uneven[:NAMED])}{more} is that of the examples' means, "
            "not of the means over rollouts beside it"
        )
    if a.threshold != b.threshold:
        yield f"an example passes from {a.threshold:g} on in one, from {b.threshold:g} in the other"
    if a.waiting or b.waiting or a.running or b.running:
        yield "not every rollout is finished"
