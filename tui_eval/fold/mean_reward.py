"""The mean reward of a run with the interval that holds for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState
    from tui_eval.stats.mean import Mean

ANYTIME = "anytime"
"""The method of an interval that may be looked at after every example."""


def mean_reward(state: RunState) -> Mean:
    """The mean reward, where the run may stop early with the anytime interval."""
    return held_mean(state, "reward", state.reward_mean.result())


def held_mean(state: RunState, name: str, found: Mean) -> Mean:
    """A mean of the reward or a metric with the interval that holds.

    One for a fixed number of rollouts does not hold where they decide themselves on the number.
    """
    if state.run is None or not state.run.until:
        return found
    from tui_eval.fold.anytime import anytime_means  # few runs need it

    means = anytime_means(state)
    if means is None or not means.takes(name):
        return found
    estimate = means.estimate(name)
    if estimate is None:
        return found._replace(low=None, high=None, method="none", weight=None)
    return found._replace(
        low=estimate.low, high=estimate.high, method=ANYTIME, weight=float(means.examples)
    )
