"""Why a comparison may say less than its numbers seem to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_eval.fold.compared_side import Side
from tui_eval.fold.outcome_words import left_out_text, no_number_text
from tui_eval.fold.paired_figures import PairedFigure

NAMED = 3
"""Numbers that are named where more are uneven."""


def comparison_doubts(
    first: Side, second: Side, counts: tuple[int, int, int], figures: Sequence[PairedFigure]
) -> Iterator[str]:
    """What speaks against a comparison.

    Args:
        counts: Of the examples that are paired, that both runs have, and that the greater one has.
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
    if first.untold and second.untold:
        yield "the rows do not say what was asked: examples are paired by their ids"
    elif first.untold or second.untold:
        which = "first" if first.untold else "second"
        yield f"the rows of the {which} run do not say what was asked, and cannot be paired"
    for which, run in (("first", first), ("second", second)):
        if count := len(run.digests) - len(set(run.digests.values())):
            ask = "1 example asks the same as another, and counts as one with it"
            if count > 1:
                ask = f"{count:,} examples ask the same as others, and count as one with them"
            yield f"of the {which} run {ask}"
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
        if count := len(side.facts.no_number):
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
