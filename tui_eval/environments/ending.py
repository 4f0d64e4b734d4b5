"""How a rollout ends: stop conditions, cleanup handlers, and the environment's teardown."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from tui_eval.environments import teardowns
from tui_eval.environments.decorators import marked_methods
from tui_eval.errors import must_propagate
from tui_eval.plain_calls.functions import PlainFunction, PlainFunctions, call_plain
from tui_eval.state import State

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment


class Ending:
    """The part of `Environment` that ends rollouts."""

    thread_safe: bool = True
    plain_functions: PlainFunctions

    def find_handlers(self) -> None:
        """Takes note of the methods that are marked."""
        self.plain_functions = PlainFunctions(self.thread_safe)
        self._stops = self._with_what_is_known(marked_methods(self, "stop"))
        self._cleanups = self._with_what_is_known(marked_methods(self, "cleanup"))
        self._teardowns = marked_methods(self, "teardown")

    def _with_what_is_known(
        self, methods: Iterable[Callable[..., Any]]
    ) -> list[tuple[Callable[..., Any], PlainFunction | None]]:
        return [(one, self.plain_functions.of(one, one.__name__)) for one in methods]

    async def is_completed(self, state: State) -> bool:
        """Whether a stop condition holds; the first that does ends the rollout.

        Its name goes to `state["stop_condition"]`, the clock stops, and cleanup handlers run. A
        condition that raises ends the rollout too: the exception is its error.
        """
        for condition, plain in self._stops:
            name = condition.__name__
            try:
                if plain is None:
                    answer = await condition(state)
                else:
                    answer = await call_plain(plain, functools.partial(condition, state))
                    if inspect.isawaitable(answer):
                        answer = await answer
                if not answer:
                    continue
            except BaseException as error:
                if must_propagate(error):
                    raise
                record_error(state, error)
                name = "has_error"
            await self._complete(state, name)
            return True
        return False

    async def _complete(self, state: State, stop_condition: str) -> None:
        state["is_completed"] = True
        state["stop_condition"] = stop_condition
        if any(step.get("is_truncated") for step in state["trajectory"]):
            state["is_truncated"] = True
        self._stop_clock(state)
        await self.run_cleanup(state)

    def _stop_clock(self, state: State) -> None:
        elapsed = (time.perf_counter() - state.began) * 1000
        state["timing"]["generation_ms"] = elapsed
        state["timing"]["total_ms"] = elapsed + state["timing"].get("scoring_ms", 0.0)

    async def run_cleanup(self, state: State) -> None:
        """Runs every cleanup handler, once per rollout.

        What a handler raises is recorded on the state, and the others still run; so they do when
        the rollout is cancelled meanwhile, and the cancellation goes on after them.
        """
        if state.cleaned_up:
            return
        state.cleaned_up = True
        cancelled: BaseException | None = None
        for handler, plain in self._cleanups:
            try:
                if plain is None:
                    await handler(state)
                else:
                    left = await call_plain(plain, functools.partial(handler, state))
                    if inspect.isawaitable(left):
                        await left
            except BaseException as error:
                if must_propagate(error):
                    cancelled = error
                else:
                    record_error(state, error)
        if cancelled is not None:
            raise cancelled

    async def run_teardown(self) -> list[BaseException]:
        """Runs every teardown handler and returns what they raised.

        A second call does nothing, unless a rollout has begun since the first.
        """
        raised: list[BaseException] = []
        if not teardowns.settle(cast("Environment", self)):
            return raised
        for handler in self._teardowns:
            try:
                await maybe_await(handler)
            except BaseException as error:
                if must_propagate(error):
                    raise
                raised.append(error)
        return raised


def record_error(state: State, error: BaseException) -> None:
    """Makes an exception the error of a rollout, unless it has one; the object is kept as it is."""
    if state.get("error") is None:
        state["error"] = error
        state.failed_at = state.observer.going_on


async def maybe_await(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function, and awaits what it returns if that can be awaited.

    Raises:
        Exception: Whatever the function raises.
    """
    result = func(*args, **kwargs)
    return await result if inspect.isawaitable(result) else result
