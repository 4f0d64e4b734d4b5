"""Results of scoring on a rollout: records, metrics, reward, advantage and times."""

from __future__ import annotations

import math

from tui_eval.errors import ScoringError
from tui_eval.rubrics.reward_call import Failure
from tui_eval.state import State
from tui_eval.stats.rewards import is_equal, is_number
from tui_eval.types import ScoreRecord

NOT_CALLED = "Not called: another reward function failed for this rollout"
"""The error of a group function for a rollout that has one already."""


def record_score(
    state: State, name: str, weight: float, score: float | Failure, output: str
) -> None:
    """Adds what a function gave and printed, or why it gave nothing, to what a rollout has."""
    record = ScoreRecord(name=name, raw=None, weight=weight, error=None)
    if output:
        record["output"] = output
    state.scores.append(record)
    if isinstance(score, Failure):
        record["error"] = score.text
        if not weight:
            state["metrics"][name] = math.nan
            state.metric_error = score.error
        elif state.get("error") is None:
            error = ScoringError(f"Reward function {name!r} failed: {score.text.splitlines()[0]}")
            error.__cause__ = score.error
            state["error"] = error
        return
    record["raw"] = score
    state["reward"] += weight * score
    state["metrics"][name] = score


def record_not_called(state: State, name: str, weight: float) -> None:
    """Notes that a group function was not called for a rollout that has an error."""
    state.scores.append(ScoreRecord(name=name, raw=None, weight=weight, error=NOT_CALLED))


def settle_reward(state: State) -> None:
    """Makes sure that the reward is a number, and gives it to the steps that have none."""
    if not is_number(state["reward"]):
        if state.get("error") is None:
            state["error"] = ScoringError(f"The weighted scores sum up to {state['reward']}")
        state["reward"] = 0.0
    for step in state.get("trajectory") or ():
        if step.get("reward") is None:
            step["reward"] = state["reward"]


def set_advantages(states: list[State]) -> None:
    """Gives each rollout of a group its reward less the group's mean, and its steps the same.

    Rollouts with an error have none and are not in the mean.
    """
    members = [state for state in states if state.get("error") is None]
    rewards = [state["reward"] for state in members]
    mean = math.fsum(rewards) / len(rewards) if rewards else 0.0
    alike = bool(rewards) and is_equal(min(rewards), max(rewards))
    for state in states:
        errored = state.get("error") is not None
        state["advantage"] = None if errored else 0.0 if alike else state["reward"] - mean
        for step in state.get("trajectory") or ():
            if step.get("advantage") is None:
                step["advantage"] = state["advantage"]


def set_scoring_time(state: State, scoring_ms: float) -> None:
    """Says how long scoring took, and with it the whole rollout."""
    timing = state.get("timing")
    if timing is None:
        timing = state["timing"] = {}
    timing["scoring_ms"] = scoring_ms
    timing["total_ms"] = timing.get("generation_ms", 0.0) + scoring_ms
