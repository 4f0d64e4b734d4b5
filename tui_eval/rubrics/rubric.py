"""Weighted reward functions, and what they make of a rollout."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from tui_eval.errors import ScoringError
from tui_eval.parsers.parser import Parser
from tui_eval.rubrics import calling
from tui_eval.rubrics.calling import Failure, Signature
from tui_eval.state import State
from tui_eval.types import RewardFunc, ScoreRecord


class Rubric:
    """Scores rollouts with functions, each of which has a weight.

    A function names what it wants: `prompt`, `completion`, `answer`, `state`, `task`, `info` and
    the class objects (`parser` is one). One that asks for `prompts`, `completions`, `answers`,
    `states`, `tasks` or `infos`, or is annotated to return a list, scores all rollouts of one
    example at once. Functions are plain or async, and give finite numbers. One that raises or
    gives anything else makes the rollout an errored one: its record in `state.scores` and
    `state["error"]` say so.

    Args:
        funcs: The functions, in the order in which they run.
        weights: What each counts, 1 by default; 0 makes it a metric.
        parser: Given to functions that ask for `parser`.

    Raises:
        ValueError: Not as many weights as functions, or a weight that is no finite number.
    """

    def __init__(
        self,
        funcs: Sequence[RewardFunc] | None = None,
        weights: Sequence[float] | None = None,
        parser: Parser | None = None,
    ) -> None:
        self.funcs: list[RewardFunc] = []
        self.weights: list[float] = []
        self.parser = parser if parser is not None else Parser()
        self.class_objects: dict[str, Any] = {"parser": self.parser}
        self._signatures: dict[int, tuple[RewardFunc, Signature]] = {}
        functions = list(funcs or [])
        if weights is not None and len(weights) != len(functions):
            raise ValueError(f"{len(weights)} weights were given for {len(functions)} functions")
        for func, weight in zip(functions, weights or [1.0] * len(functions), strict=True):
            self.add_reward_func(func, weight)

    def add_reward_func(self, func: RewardFunc, weight: float = 1.0) -> None:
        """Adds a function whose score counts `weight` times."""
        if not math.isfinite(weight):
            raise ValueError(f"The weight of {calling.name_of(func)!r} is {weight}, not a number")
        self._signature(func)
        self.funcs.append(func)
        self.weights.append(float(weight))

    def add_metric(self, func: RewardFunc, weight: float = 0.0) -> None:
        """Adds a function that is watched and, by default, does not count."""
        self.add_reward_func(func, weight)

    def add_class_object(self, name: str, obj: Any) -> None:
        """Gives functions an object under the parameter name `name`."""
        self.class_objects[name] = obj

    @property
    def has_group_funcs(self) -> bool:
        """Whether a rollout can be scored only together with the others of its example."""
        return any(self._signature(func).is_group for func in self.funcs)

    async def score_rollout(self, state: State) -> None:
        """Scores one rollout by itself: reward, metrics and records; no advantage.

        A group function cannot be used here and is recorded as failed.
        """
        await self._score([state], alone=True)

    async def score_group(self, states: list[State]) -> None:
        """Scores all rollouts of one example: reward, advantage, metrics and records.

        Rollouts with an error are not scored; group functions and advantages see only those
        without.
        """
        await self._score(states, alone=False)

    async def add_scores(self, states: list[State], alone: bool) -> None:
        """Runs every function on states that were made ready, and adds to what they have."""
        for func, weight in zip(list(self.funcs), list(self.weights), strict=True):
            name = calling.name_of(func)
            signature = self._signature(func)
            scored = states
            if signature.is_group:
                scored = [state for state in states if state.get("error") is None]
                for state in states:
                    if state.get("error") is not None:
                        _leave_out(state, name, weight)
                scores = await self._call_group(func, signature, scored, alone)
            else:
                scores = await self._call_each(func, signature, states)
            for state, score in zip(scored, scores, strict=True):
                _record(state, name, weight, score)

    def _signature(self, func: Callable[..., Any]) -> Signature:
        known = self._signatures.get(id(func))
        if known is None or known[0] is not func:
            known = self._signatures[id(func)] = (func, calling.read_signature(func))
        return known[1]

    async def _call_each(
        self, func: RewardFunc, signature: Signature, states: list[State]
    ) -> list[float | Failure]:
        calls = [calling.values_for(state, self.class_objects) for state in states]
        results = await calling.call_all(func, signature.names, calls)
        return [calling.number(result) for result in results]

    async def _call_group(
        self, func: RewardFunc, signature: Signature, states: list[State], alone: bool
    ) -> list[float | Failure]:
        if not states:
            return []
        if alone:
            error = TypeError("needs all rollouts of the example, and one was scored by itself")
            return [calling.failure(error)] * len(states)
        values = calling.group_values(states, self.class_objects)
        (result,) = await calling.call_all(func, signature.names, [values])
        return calling.numbers(result, len(states))

    async def _score(self, states: list[State], alone: bool) -> None:
        began = time.perf_counter()
        for state in states:
            state.scores = []
            state["reward"] = 0.0
            state["metrics"] = {}
        ready = [state for state in states if state.get("error") is None]
        if ready:
            await self.add_scores(ready, alone)
        for state in ready:
            _settle_reward(state)
        if not alone:
            _set_advantages(states)
        elapsed = (time.perf_counter() - began) * 1000
        for state in states:
            _time(state, 0.0)
        for state in ready:
            _time(state, elapsed)


def _record(state: State, name: str, weight: float, score: float | Failure) -> None:
    if isinstance(score, Failure):
        state.scores.append(ScoreRecord(name=name, raw=None, weight=weight, error=score.text))
        if state.get("error") is None:
            error = ScoringError(f"Reward function {name!r} failed: {score.text.splitlines()[0]}")
            error.__cause__ = score.error
            state["error"] = error
        return
    state.scores.append(ScoreRecord(name=name, raw=score, weight=weight, error=None))
    state["reward"] += weight * score
    state["metrics"][name] = score


def _leave_out(state: State, name: str, weight: float) -> None:
    text = "Not called: another reward function failed for this rollout"
    state.scores.append(ScoreRecord(name=name, raw=None, weight=weight, error=text))


def _settle_reward(state: State) -> None:
    """Makes sure that the reward is finite, and gives it to the steps that have none."""
    if not math.isfinite(state["reward"]):
        if state.get("error") is None:
            state["error"] = ScoringError(f"The weighted scores sum up to {state['reward']}")
        state["reward"] = 0.0
    for step in state.get("trajectory") or ():
        if step.get("reward") is None:
            step["reward"] = state["reward"]


def _set_advantages(states: list[State]) -> None:
    members = [state for state in states if state.get("error") is None]
    mean = sum(state["reward"] for state in members) / len(members) if members else 0.0
    for state in states:
        errored = state.get("error") is not None
        state["advantage"] = None if errored else state["reward"] - mean
        for step in state.get("trajectory") or ():
            if step.get("advantage") is None:
                step["advantage"] = state["advantage"]


def _time(state: State, scoring_ms: float) -> None:
    timing = state.get("timing")
    if timing is None:
        timing = state["timing"] = {}
    timing["scoring_ms"] = scoring_ms
    timing["total_ms"] = timing.get("generation_ms", 0.0) + scoring_ms
