"""Two or more runs beside each other: their settings, their numbers, their examples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tui_eval.fold.columns import Columns
from tui_eval.fold.filter_fields import METRIC
from tui_eval.fold.outcome_words import left_out_text, no_number_text
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.run_state import RunState
from tui_eval.stats.paired import NO_DIFFERENCE, PairedDifference, holm, paired_difference
from tui_eval.stats.rewards import is_equal, rounded
from tui_eval.stats.verdict import Verdict, judge

if TYPE_CHECKING:
    import numpy as np

MOST_PARTS = 6
"""Parts of the code, and versions, that are named where more differ."""

FIGURES = ("turns", "calls", "tokens", "time")
"""What is compared beside reward and metrics."""


class Change(StrEnum):
    """What became of an example from the first run to the second."""

    FIXED = "fixed"
    BROKEN = "broken"
    BOTH_WRONG = "both-wrong"
    BOTH_RIGHT = "both-right"


@dataclass(frozen=True, slots=True)
class Side:
    """A run to compare.

    Args:
        digests: What tells each example from the others, by its place in the run: its content, or
            its id where its row does not say what was asked.
        system: The system prompts that its examples have.
        untold: How many examples have only their ids.
        code: The parts of its code by name, as it was last; empty where nothing tells.
        versions: What was installed when it was worked on last, those that matter first.
    """

    state: RunState
    digests: Mapping[int, bytes]
    system: frozenset[str] = frozenset()
    untold: int = 0
    code: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def rows_by_content(self) -> dict[bytes, list[int]]:
        """The rows of every example; examples of the same content count as one."""
        found: dict[bytes, list[int]] = {}
        for place, digest in sorted(self.digests.items()):
            start = place * self.state.per_example
            end = min(start + self.state.per_example, self.state.total)
            found.setdefault(digest, []).extend(range(start, end))
        return found


@dataclass(frozen=True, slots=True)
class PairedExample:
    """An example that both runs have with a reward.

    Args:
        first, second: Mean reward in each run; it passes from the run's threshold on.
        first_rows, second_rows: Its rollouts in each run.
    """

    example_id: Any
    first: float
    second: float
    change: Change
    first_rows: Sequence[int]
    second_rows: Sequence[int]

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.second - self.first


@dataclass(slots=True)
class PairedFigure:
    """One number of both runs over the examples that both have, and second minus first.

    Args:
        field: What it is in the language of filters.
        first, second: Means over the rollouts, as a report has them; None where there is none.
        by_example: Means of the examples' means, whose difference is tested.
        holm_p: The chance of its difference, raised for so many runs compared at once; None where
            it has none.
    """

    field: str
    first: float | None
    second: float | None
    difference: PairedDifference
    by_example: tuple[float, float] | None = None
    holm_p: float | None = None

    @property
    def is_uneven(self) -> bool:
        """Whether the means over rollouts differ otherwise than the examples' means."""
        if self.first is None or self.second is None or self.difference.mean is None:
            return False
        return not is_equal(self.second - self.first, self.difference.mean)

    @property
    def verdict(self) -> Verdict:
        """What its difference tells."""
        return judge(self.difference, self.holm_p)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.field.removeprefix(METRIC)


@dataclass(slots=True)
class Comparison:
    """A run beside the first one.

    Args:
        examples: Those that both have, in the order of the first run.
        figures: The reward first, then metrics that both have, then what was spent.
        unpaired: How many examples could not be paired, by why.
        doubts: Why the numbers may say less than they seem to.
    """

    examples: list[PairedExample]
    figures: list[PairedFigure]
    unpaired: dict[str, int]
    doubts: list[str]
    changes: Counter[Change] = field(default_factory=Counter)
    thresholds: tuple[float, float] = (0.5, 0.5)
    """From which mean reward on an example passes, in the first and in the second run."""

    @property
    def comparable(self) -> bool:
        """Whether there is any example that both runs have with a reward."""
        return bool(self.examples)

    @property
    def holm_p(self) -> float | None:
        """That of the reward."""
        return self.figures[0].holm_p if self.figures else None


def compare_runs(sides: Sequence[Side]) -> list[Comparison]:
    """Every run but the first beside the first one.

    The reward is what the comparison is about: its chances are raised over the runs. All other
    numbers are looked at together, so theirs are raised over the runs and over each other.
    """
    found = [_compare(sides[0], side) for side in sides[1:]]
    rewards = [one for each in found for one in each.figures[:1]]
    for family in (rewards, [one for each in found for one in each.figures[1:]]):
        chances = [1.0 if one.difference.p is None else one.difference.p for one in family]
        for figure, p in zip(family, holm(chances), strict=True):
            if figure.difference.p is not None:
                figure.holm_p = p
    return found


def _compare(first: Side, second: Side) -> Comparison:
    ours, theirs = first.rows_by_content(), second.rows_by_content()
    sides = ((first, ours), (second, theirs))
    shared = [digest for digest in ours if digest in theirs]
    rewards = [_values(side, "reward", rows, shared).means for side, rows in sides]
    examples: list[PairedExample] = []
    paired: list[bytes] = []
    for digest, a, b in zip(shared, *(means.tolist() for means in rewards), strict=True):
        if math.isnan(a) or math.isnan(b):
            continue
        change = _change(first.state.passes(a), second.state.passes(b))
        example_id = first.state.example_id(ours[digest][0])
        examples.append(PairedExample(example_id, a, b, change, ours[digest], theirs[digest]))
        paired.append(digest)
    return Comparison(
        examples,
        list(_figures(sides, paired)) if paired else [],
        _unpaired(first, second, ours, theirs, len(shared) - len(paired)),
        list(_doubts(first, second, (len(examples), len(shared), max(len(ours), len(theirs))))),
        changes=Counter(one.change for one in examples),
        thresholds=(first.state.threshold, second.state.threshold),
    )


Rows: TypeAlias = Mapping[bytes, Sequence[int]]


def _figures(
    sides: Sequence[tuple[Side, Rows]], digests: Sequence[bytes]
) -> Iterator[PairedFigure]:
    (first, _), (second, _) = sides
    theirs = second.state.facts.metrics
    metrics = [METRIC + name for name in first.state.facts.metrics if name in theirs]
    for name in ("reward", *metrics, *FIGURES):
        yield _figure(name, *(_values(side, name, rows, digests) for side, rows in sides))


class _Values(NamedTuple):
    """A number of each example: its mean over the rollouts that have it, and how many have."""

    means: np.ndarray
    counts: np.ndarray

    def of(self, chosen: np.ndarray) -> _Values:
        """Those of some examples."""
        return _Values(self.means[chosen], self.counts[chosen])

    @property
    def pooled(self) -> float:
        """The mean over the rollouts."""
        return math.fsum(self.means * self.counts) / float(self.counts.sum())


def _values(side: Side, name: str, rows: Rows, digests: Sequence[bytes]) -> _Values:
    """A field over the rollouts without an error of each example; NaN without any."""
    import numpy as np

    columns = Columns(side.state)
    values = columns.numbers(name)
    values[columns.stages() != DONE] = np.nan
    sizes = [len(rows[digest]) for digest in digests]
    flat = np.fromiter((row for digest in digests for row in rows[digest]), np.int64, sum(sizes))
    example = np.repeat(np.arange(len(digests)), sizes)
    there = ~np.isnan(values[flat])
    counts = np.bincount(example[there], minlength=len(digests))
    sums = np.bincount(example[there], values[flat][there], minlength=len(digests))
    return _Values(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), counts)


def _figure(name: str, first: _Values, second: _Values) -> PairedFigure:
    import numpy as np

    there = ~(np.isnan(first.means) | np.isnan(second.means))
    a, b = first.of(there), second.of(there)
    if not len(a.means):
        return PairedFigure(name, None, None, NO_DIFFERENCE)
    ends = [*map(rounded, (min(a.means.min(), b.means.min()), max(a.means.max(), b.means.max())))]
    is_share = name == "reward"
    if name not in FIGURES and name != "reward":  # where all are equal they may as well be a count
        is_share = ends == [0.0, 1.0]
    in_range = is_share and 0.0 <= ends[0] <= ends[1] <= 1.0
    single = is_share and bool((a.counts == 1).all() and (b.counts == 1).all())
    difference = paired_difference(b.means, a.means, single=single, scale=1.0 if in_range else None)
    return PairedFigure(
        name,
        a.pooled,
        b.pooled,
        difference,
        (float(a.means.mean()), float(b.means.mean())),
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


def _doubts(first: Side, second: Side, counts: tuple[int, int, int]) -> Iterator[str]:
    """What speaks against a comparison.

    Args:
        counts: Of the examples that are paired, that both runs have, and that the greater one has.
    """
    a, b = first.state, second.state
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
    environments = [_environment(side) for side in (first, second)]
    if all(environments) and environments[0] != environments[1]:
        names = ", ".join(map(str, environments))
        yield f"the environments differ ({names}): their rewards may not mean the same"
    for which, side in (("first", a), ("second", b)):
        if without := left_out_text(side.errored, side.finished, side.outcomes.classes):
            as_0 = side.reward_mean.result().with_zeros(side.errored)
            yield f"of the {which} run {without}; {as_0:.2f} with errors as 0"
        if count := len(side.facts.no_number):
            yield f"of the {which} run {no_number_text(count)}"
    yield from _contradictions((("first", a), ("second", b)))
    if a.threshold != b.threshold:
        yield f"an example passes from {a.threshold:g} on in one, from {b.threshold:g} in the other"
    if a.waiting or b.waiting or a.running or b.running:
        yield "not every rollout is finished"


def _contradictions(runs: Iterable[tuple[str, RunState]]) -> Iterator[str]:
    for which, state in runs:
        if state.end is not None:
            yield from (f"of the {which} run {text}" for text in state.end.contradictions)


def differing_settings(sides: Sequence[Side]) -> dict[str, list[Any]]:
    """Every setting that is not the same in all runs: its value in each, None where it has none.

    Then what of the code and of what was installed differs, as far as that matters.
    """
    asked = [_settings(side) for side in sides]
    names = dict.fromkeys(name for one in asked for name in one)
    found = {name: [one.get(name) for one in asked] for name in names}
    settings = {
        name: values
        for name, values in found.items()
        if any(value != values[0] for value in values)
    }
    return settings | _parts_that_differ(sides)


def _environment(side: Side) -> str | None:
    """The environment that a run was of, where its files tell that."""
    run = side.state.run
    return run.env_id if run is not None and run.env_told else None


def _settings(side: Side) -> dict[str, Any]:
    run = side.state.run
    if run is None:
        return {}
    return {
        "environment": _environment(side),
        "model": run.model,
        "base_url": run.base_url,
        "examples": run.num_examples,
        "rollouts per example": run.rollouts_per_example,
        "pass threshold": side.state.threshold,
        **run.sampling_args,
        **{f"env_args.{name}": value for name, value in run.env_args.items()},
        "system prompt": "\n".join(sorted(side.system)) or None,
    }


def _parts_that_differ(sides: Sequence[Side]) -> dict[str, list[Any]]:
    """Parts of the code and versions that are not the same, where all runs tell theirs.

    The first of each are named, those that matter first, and how many more there are.
    """
    found: dict[str, list[Any]] = {}
    for before, more, parts in (
        ("", "more parts of the code", [side.code for side in sides]),
        ("version of ", "more versions", [side.versions for side in sides]),
    ):
        if not all(parts):
            continue
        names = dict.fromkeys(name for one in parts for name in one)
        told = {name: [one.get(name) for one in parts] for name in names}
        differing = [name for name, values in told.items() if len(set(values)) > 1]
        found |= {f"{before}{name}": told[name] for name in differing[:MOST_PARTS]}
        if len(differing) > MOST_PARTS:
            found[more] = [len(differing) - MOST_PARTS] * len(sides)
    return found
