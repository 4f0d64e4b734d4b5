"""Sizes of the next runs, planned from small ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.fold.columns import Columns
from tui_eval.fold.compare.compared_side import Side
from tui_eval.fold.compare.comparison import compare_runs
from tui_eval.fold.query.fields import METRIC
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.run_state import RunState
from tui_eval.stats.power import (
    LEAST_EXAMPLES,
    Need,
    Spread,
    measured_unlike,
    needs,
    smallest_difference,
    spread_of,
    unlike,
)
from tui_eval.stats.rewards import rounded

ASSUMED = 0.5
"""Assumed correlation of two runs' examples where only one run is known."""


class NothingMeasuredError(Exception):
    """The pilot has too few rewards, or all are equal; says which."""


class Plan(msgspec.Struct, frozen=True):
    """Plan for showing a difference."""

    metric: str
    """Name of the compared number."""
    detect: float
    """The difference."""
    pilots: list[Spread]
    """The spread of each pilot."""
    correlation: float | None
    """Assumed correlation of both runs' examples; None where it was measured, and where no
    example has two rollouts."""
    needs: list[Need]
    """The ways, by rollouts of an example."""
    detectable: float | None
    """Smallest difference that two runs of the pilot's size show; None where there is none."""

    @property
    def cheapest(self) -> Need | None:
        """The way with the fewest rollouts; of equal ones that with more examples."""
        return min(self.needs, key=lambda one: (one.rollouts, one.each), default=None)


def plan_faults(
    sides: Sequence[Side], metric: str, detect: float, correlation: float | None
) -> list[Fault]:
    """Faults of the arguments of `plan_for`."""
    faults = []
    if not (math.isfinite(detect) and detect > 0):
        hint = "Say how great a difference is to be shown, as in --detect 0.03"
        faults.append(Fault("--detect", f"{detect:g} is no difference above 0", hint))
    if correlation is not None and not 0 <= correlation < 1:
        hint = "0: the runs have nothing in common; 0.9: they fail nearly the same examples"
        faults.append(Fault("--correlation", f"{correlation:g} is not from 0 to below 1", hint))
    if correlation is not None and len(sides) > 1:
        hint = "Leave out --correlation, or the second run"
        faults.append(Fault("--correlation", "how alike the two runs are is measured", hint))
    for side in sides:
        known = side.state.details.metrics
        names = ["reward", *known]
        if metric not in names:
            hint = nearest(metric, names) or f"There are: {', '.join(names)}"
            faults.append(Fault("--metric", f"{_path(side)} has no metric {metric!r}", hint))
        elif metric == "reward" and 1 < detect < math.inf and _is_from_0_to_1(side.state):
            what = f"rewards from 0 to 1, as in {_path(side)}, do not differ by {detect:g}"
            faults.append(Fault("--detect", what, f"Did you mean {detect / 100:g}?"))
    if len(sides) > 1 and _path(sides[0]) == _path(sides[1]):
        hint = "Name another run over the same examples, or leave it out"
        faults.append(Fault(_path(sides[1]), "this is the same run as A", hint))
    return faults


def _path(side: Side) -> str:
    return side.state.run.path if side.state.run is not None else "the run"


def _is_from_0_to_1(state: RunState) -> bool:
    values = Columns(state).numbers("reward")
    values = values[values == values]  # NaN is not itself
    return bool(len(values)) and 0.0 <= rounded(values.min()) <= rounded(values.max()) <= 1.0


def plan_for(sides: Sequence[Side], metric: str, detect: float, correlation: float | None) -> Plan:
    """Plans how to show a difference, by one pilot or two over the same examples.

    Raises:
        RefusedError: An option is wrong, a run has no such metric, or the two cannot be compared.
        NothingMeasuredError: They say nothing.
    """
    if faults := plan_faults(sides, metric, detect, correlation):
        raise RefusedError(faults)
    field = metric if metric == "reward" else METRIC + metric
    pilots = [_spread(side.state, field) for side in sides]
    first, second = pilots[0], pilots[-1]
    if len(sides) > 1:
        correlation = None
        true = measured_unlike(first, second, _variance_of_differences(sides, field))
    else:
        correlation = ASSUMED if correlation is None else correlation
        true = unlike(first, correlation)
        correlation = None if first.within is None else correlation
    chance = first.total + second.total
    if first.within is not None and second.within is not None:
        own = first.within * first.per_rollout + second.within * second.per_rollout
        chance = true + own
    detectable = smallest_difference(math.sqrt(chance), min(first.groups, second.groups))
    return Plan(metric, detect, pilots, correlation, needs(first, second, true, detect), detectable)


def _spread(state: RunState, field: str) -> Spread:
    columns = Columns(state)
    values = columns.numbers(field)
    values[columns.stages() != DONE] = float("nan")
    each = state.per_example
    groups = (values[start : start + each] for start in range(0, len(values), each))
    found = spread_of([group[group == group].tolist() for group in groups])  # NaN is not itself
    if found is None:
        raise NothingMeasuredError("a pilot needs two examples with a reward at least")
    if not found.total and not found.within:
        raise NothingMeasuredError(
            f"all {found.groups} examples of the pilot came to {found.mean:.3g}: nothing says how "
            "much they differ; take other examples, or more of them"
        )
    return found


def _variance_of_differences(sides: Sequence[Side], field: str) -> float:
    (found,) = compare_runs(sides)
    if not found.comparable:
        raise RefusedError([Fault("plan", found.doubts[0], "Name runs over the same examples")])
    figure = next(one for one in found.figures if one.field == field)
    n, se = figure.difference.n, figure.difference.se
    if se is None or n < LEAST_EXAMPLES:
        shared = f"{n} example{'s are' if n != 1 else ' is'} in both pilots"
        raise NothingMeasuredError(f"{shared} with a reward; {LEAST_EXAMPLES} are needed at least")
    return se * se * n
