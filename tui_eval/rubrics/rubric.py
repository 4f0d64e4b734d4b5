"""Weighted reward functions, and the scores that they give rollouts.

Reward functions are people's code: they may block, print, raise, or return no number. So each is
called by itself, with a limit and a record of its own, and one that fails spoils neither the
scores of the others nor another rollout. Reward and advantages are settled once all are done.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import math
import sys
import time
from collections.abc import Awaitable, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple

from tui_eval.output import CALL
from tui_eval.parsers.parser import Parser
from tui_eval.plain_calls.functions import plain_function
from tui_eval.rubrics import reward_call
from tui_eval.rubrics.functions import HasFunctions, has_own
from tui_eval.rubrics.reward_call import Failure, RewardFunction
from tui_eval.rubrics.scored_state import (
    record_not_called,
    record_score,
    set_advantages,
    set_scoring_time,
    settle_reward,
)
from tui_eval.state import State
from tui_eval.types import RewardFunc

TIMEOUT_SECONDS = 600.0

WITHIN: ContextVar[bool] = ContextVar("within", default=False)
"""Whether a rubric scores as one of several, which together settle rewards, advantages, times."""


class _Named(NamedTuple):
    known: RewardFunction
    name: str
    weight: float


_Ordered = tuple[list[RewardFunc], list[float], list[tuple[bool, list[_Named]]]]
"""Functions and weights, and how they run: group functions apart from the others."""


class Rubric(HasFunctions):
    """Scores rollouts with functions, each of which has a weight.

    A function names what it wants: `prompt`, `completion`, `answer`, `state`, `task`, `info` and
    the class objects (`parser` is one). One that names `prompts`, `completions`, `answers`,
    `states`, `tasks` or `infos`, or is annotated to return a list, scores all rollouts of one
    example at once. Functions give finite numbers. One that raises, takes too long or gives
    anything else makes the rollout an errored one: its record in `state.scores` and
    `state["error"]` say so. One of weight 0 only lacks its own number then, which is NaN.

    Async functions run on the event loop; plain ones in threads, where they see the caller's
    context variables. The functions of one rollout run in their order, and a group function when
    all before it are done; those of different rollouts overlap, so what they share needs a lock,
    or they are declared with `thread_safe`. The first call of a plain function runs alone for 5 s
    at most, as it may prepare what all others use.
    A plain function that turns out to need the main thread, because it sets a signal handler or
    needs the running loop, is called on the loop from then on, where no limit holds; below a
    loop of another thread it is an error. To notice such functions, also those that catch every
    exception, `signal.signal` is wrapped in this process when the first plain function is called;
    it does what it did.

    Attributes:
        on_loop: Whether plain functions run on the event loop, and all without a time limit:
            right only for such as count something and can never wait.
        logger: The logger of the rubric and its functions.

    Args:
        funcs: The functions, in the order in which they run.
        weights: The weight of each, 1 where no weights are given; 0 makes it a metric.
        parser: Given to functions that name `parser`.
        timeout_seconds: Limit of one call of a function, unless it has its own;
            `math.inf` for any time. An async function is cancelled then; a plain one is left
            behind in its thread.
        thread_safe: False where the plain functions of this rubric must not run beside others of
            that kind; see `thread_safe`, the decorator of a single one.

    Raises:
        ValueError: Not as many weights as functions, a weight that is no finite number, or a
            limit that is not positive.
    """

    on_loop: ClassVar[bool] = False
    thread_safe: bool = True

    def __init__(
        self,
        funcs: Sequence[RewardFunc] | None = None,
        weights: Sequence[float] | None = None,
        parser: Parser | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        thread_safe: bool | None = None,
    ) -> None:
        self.logger = logging.getLogger(f"{__name__}.{type(self).__name__}")
        self.funcs: list[RewardFunc] = []
        self.weights: list[float] = []
        self.parser = parser if parser is not None else Parser()
        self.class_objects: dict[str, Any] = {"parser": self.parser}
        self._timeout_seconds = math.inf if self.on_loop else _limit(timeout_seconds)
        if thread_safe is not None:
            self.thread_safe = thread_safe
        self._functions: dict[int, RewardFunction] = {}
        self._ordered: _Ordered | None = None
        if callable(funcs):
            raise TypeError(f"'funcs' is a list of functions: [{reward_call.name_of(funcs)}]")
        if isinstance(weights, (str, int, float)):
            raise TypeError(f"'weights' is a list with a number for each function: [{weights}]")
        functions = list(funcs or [])
        if weights is not None and len(weights) not in (0, len(functions)):
            raise ValueError(f"{len(weights)} weights were given for {len(functions)} functions")
        given = weights if weights is not None and len(weights) else [1.0] * len(functions)
        for func, weight in zip(functions, given, strict=True):
            self.add_reward_func(func, weight)

    def add_reward_func(
        self, func: RewardFunc, weight: float = 1.0, timeout_seconds: float | None = None
    ) -> None:
        """Adds a function whose score counts `weight` times.

        Args:
            timeout_seconds: Limit of one call; the rubric's where none is given.

        Raises:
            TypeError: It cannot be called.
            ValueError: The weight is no finite number, or the limit not positive.
        """
        given: Any = weight
        if isinstance(given, str) or not abs(given) <= sys.float_info.max:  # NaN is not either
            raise ValueError(
                f"The weight of {reward_call.name_of(func)!r} is {weight!r}, not a number"
            )
        known = self._function(func)
        if timeout_seconds is not None:
            known.timeout_seconds = _limit(timeout_seconds)
        self.funcs.append(func)
        self.weights.append(float(weight))

    def add_metric(
        self, func: RewardFunc, weight: float = 0.0, timeout_seconds: float | None = None
    ) -> None:
        """Adds a function that is watched and, by default, does not count."""
        if timeout_seconds is None:
            self.add_reward_func(func, weight)  # which people's subclasses have with two arguments
        else:
            self.add_reward_func(func, weight, timeout_seconds)

    def add_class_object(self, name: str, obj: Any) -> None:
        """Gives functions an object under the parameter name `name`."""
        self.class_objects[name] = obj

    @property
    def has_group_funcs(self) -> bool:
        """Whether a rollout can be scored only together with the others of its example.

        It is so with a group function, and where a subclass has its own `score_group`.
        """
        if has_own(self, Rubric, "score_group"):
            return True
        return any(self._function(func).signature.is_group for func in self.funcs)

    @property
    def scores_in_groups(self) -> bool:
        """Whether rollouts are scored together unless each is requested by itself.

        A `score_rollout` of a subclass is called only where each is.
        """
        return self.has_group_funcs or has_own(self, Rubric, "score_rollout")

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
        for is_group, functions in self._in_order():
            if is_group:
                for one in functions:
                    await self._score_together(one, states, alone)
            elif len(states) == 1:
                await self._score_each(functions, states[0])
            else:
                await asyncio.gather(*(self._score_each(functions, state) for state in states))

    def _in_order(self) -> list[tuple[bool, list[_Named]]]:
        """The functions as they run, group functions apart; people may have changed the lists."""
        if self._ordered is None or self._ordered[:2] != (self.funcs, self.weights):
            if len(self.funcs) != len(self.weights):
                self.logger.warning(
                    "The rubric has %d functions and %d weights: those without are not called. "
                    "Add functions with add_reward_func or add_metric, or change both lists",
                    len(self.funcs),
                    len(self.weights),
                )
            names = reward_call.metric_names(self.funcs)
            given = zip(self.funcs, names, self.weights, strict=False)
            named = [_Named(self._with_hook(func), name, weight) for func, name, weight in given]
            parts = itertools.groupby(named, lambda one: one.known.signature.is_group)
            runs = [(is_group, list(some)) for is_group, some in parts]
            self._ordered = (list(self.funcs), list(self.weights), runs)
        return self._ordered[2]

    def _with_hook(self, func: RewardFunc) -> RewardFunction:
        """A function as it is called: through the hook of a subclass that has one of its own."""
        known = self._function(func)
        is_group = known.signature.is_group
        hook = "_call_group_reward_func" if is_group else "_call_individual_reward_func"
        if not has_own(self, Rubric, hook):
            return known
        return reward_call.hooked(functools.partial(getattr(self, hook), func), is_group)

    def _function(self, func: RewardFunc) -> RewardFunction:
        known = self._functions.get(id(func))
        if known is None or known.func is not func:
            plain = None if self.on_loop else plain_function(func, reward_call.name_of(func))
            if plain is not None and not self.thread_safe:
                plain.thread_safe = False
            known = RewardFunction(func, reward_call.read_signature(func), plain)
            self._functions[id(func)] = known
        return known

    async def dummy_score_rollout(self, state: State) -> None:
        """Gives a rollout the reward 0 and no metrics."""
        state["reward"], state["metrics"] = 0.0, {}

    async def dummy_score_group(self, states: list[State]) -> None:
        """Gives each rollout the reward 0 and no metrics."""
        for state in states:
            await self.dummy_score_rollout(state)

    async def _call_individual_reward_func(self, func: RewardFunc, state: State) -> float:
        """The score that a function gives a rollout; subclasses may have their own way.

        Raises:
            Exception: What the function raised, or why what it gave is no number.
        """
        values = functools.partial(reward_call.values_for, state, self.class_objects)
        result = await reward_call.call(self._function(func), values, self._timeout_seconds)
        return reward_call.unwrap(reward_call.number(result))

    async def _call_group_reward_func(self, func: RewardFunc, states: list[State]) -> list[float]:
        """The scores that a group function gives; subclasses may have their own way.

        Raises:
            Exception: What the function raised, or why what it gave is not a number for each.
        """
        values = functools.partial(reward_call.group_values, states, self.class_objects)
        result = await reward_call.call(self._function(func), values, self._timeout_seconds)
        return [reward_call.unwrap(one) for one in reward_call.numbers(result, len(states))]

    async def _score_each(self, functions: list[_Named], state: State) -> None:
        values = functools.partial(reward_call.values_for, state, self.class_objects)
        for one in functions:
            printing = reward_call.Call()
            CALL.set(printing)
            state.observer.code_begins()
            result = await self._result(state, one, values)
            score = reward_call.number(result)
            record_score(state, one.name, one.weight, score, printing.end())
        CALL.set(None)

    async def _score_together(self, one: _Named, states: list[State], alone: bool) -> None:
        scored = [state for state in states if state.get("error") is None]
        for state in states:
            if state.get("error") is not None:
                record_not_called(state, one.name, one.weight)
        scores: list[float | Failure] = []
        printing = reward_call.Call()
        if alone:
            error = TypeError("needs all rollouts of the example, and one was scored by itself")
            scores = [reward_call.failure(error)] * len(scored)
        elif scored:
            CALL.set(printing)
            scored[0].observer.code_begins()
            values = functools.partial(reward_call.group_values, scored, self.class_objects)
            result = await self._result(scored[0], one, values)
            CALL.set(None)
            scores = reward_call.numbers(result, len(scored))
        output = printing.end()
        for state, score in zip(scored, scores, strict=True):
            record_score(state, one.name, one.weight, score, output)

    def _result(self, state: State, one: _Named, values: reward_call.Values) -> Awaitable[Any]:
        """The result of a function, or a `Failure`."""
        if self.on_loop:
            return reward_call.call(one.known, values, self._timeout_seconds)
        return reward_call.call_limited(
            state.observer, one.name, one.known, values, self._timeout_seconds
        )

    async def _score(self, states: list[State], alone: bool) -> None:
        began = time.perf_counter()
        for state in states:
            state.scores = []
            state["reward"] = 0.0
            state["metrics"] = {}
        ready = [state for state in states if state.get("error") is None]
        try:
            if ready:
                await self.add_scores(ready, alone)
        finally:  # also where it is cut short
            if not WITHIN.get():
                elapsed = (time.perf_counter() - began) * 1000
                for state in states:
                    set_scoring_time(state, 0.0)
                for state in ready:
                    set_scoring_time(state, elapsed)
        if WITHIN.get():
            return
        for state in ready:
            settle_reward(state)
        if not alone:
            set_advantages(states)


def _limit(seconds: float) -> float:
    if not seconds > 0:
        raise ValueError(f"A time limit is a positive number of seconds, not {seconds}")
    return float(seconds)
