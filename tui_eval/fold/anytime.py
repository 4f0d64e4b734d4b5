"""Anytime intervals, which may stop a run early."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tui_eval.fold.query.condition_parser import parse_condition
from tui_eval.fold.query.conditions import ConditionError, Estimate, Judged
from tui_eval.fold.rollout_columns import DONE
from tui_eval.stats.intervals import AnytimeInterval

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState

REWARD = "reward"


class AnytimeMeans:
    """Anytime intervals of the reward, and of the metrics in the condition that stops a run.

    A value is the mean of one example. What finishes first is shorter than the rest, so an interval
    over whatever is finished would be biased: only the examples count that are before the first
    one with a rollout that is not over, in the order of the run. That order must be random.

    `examples` is how many of the first examples are in the intervals, and `unusable` has the names
    that have no interval because of a value outside 0 to 1, with that value.

    Args:
        until: The condition that stops the run once it is true.

    Raises:
        ConditionError: It is none.
    """

    def __init__(self, until: str) -> None:
        self.until = until
        self.condition = parse_condition(until)
        self._begin(0)

    def _begin(self, taken_back: int) -> None:
        self._taken_back = taken_back
        self.examples = 0
        self.unusable: dict[str, str] = {}
        names = (REWARD, *(one.name for one in self.condition.measures()))
        self._intervals = {name: AnytimeInterval() for name in names}

    def advance(self, state: RunState) -> None:
        """Takes in the examples that are over by now; constant cost an example."""
        if self._taken_back != state.taken_back:
            self._begin(state.taken_back)
        each = state.per_example
        while (start := self.examples * each) + each <= state.total:
            rows = range(start, start + each)
            if any(state.stage[row] < DONE for row in rows):
                return
            self.examples += 1
            for name, interval in self._intervals.items():
                self._add(name, interval, [_value(state, name, row) for row in rows])

    def _add(self, name: str, interval: AnytimeInterval, found: list[float]) -> None:
        values = [value for value in found if not math.isnan(value)]
        outside = next((value for value in values if not interval.fits(value)), None)
        if outside is not None:
            self.unusable.setdefault(name, f"{outside:g} is not from 0 to 1")
        elif values:
            interval.add(sum(values) / len(values))

    def takes(self, name: str) -> bool:
        """Whether a name has or will have an interval."""
        return name in self._intervals and name not in self.unusable

    def estimate(self, name: str) -> Estimate | None:
        """The mean and the interval of a name; None where it has none."""
        if not self.takes(name) or not (interval := self._intervals[name]).n:
            return None
        return Estimate(interval.mean, interval.low, interval.high)

    def judge(self) -> Judged:
        """Whether the condition is true."""
        return self.condition.judge(self.estimate, {})


def _value(state: RunState, name: str, row: int) -> float:
    if name == REWARD:
        return state.reward[row]
    return state.details.metric(name, row) if name in state.details.metrics else math.nan


def anytime_means(state: RunState) -> AnytimeMeans | None:
    """The anytime intervals of a run as it is now; None of one that nothing may stop early."""
    until = state.run.until if state.run is not None else ""
    if not until:
        return None
    if state.anytime is None or state.anytime.until != until:
        try:
            state.anytime = AnytimeMeans(until)
        except ConditionError:  # a file beside the run that somebody edited
            return None
    state.anytime.advance(state)
    return state.anytime
