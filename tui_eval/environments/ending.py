"""The end of a rollout: stop conditions, cleanup handlers, and the environment's teardown."""

from __future__ import annotations

import asyncio
import atexit
import functools
import gc
import inspect
import logging
import time
from collections.abc import Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from tui_eval.call_limits import limited, noted
from tui_eval.environments.decorators import marked_methods
from tui_eval.errors import ErrorChain, is_ours, must_propagate
from tui_eval.observer import CURRENT, SILENT
from tui_eval.plain_calls.functions import PlainFunctions, call_plain
from tui_eval.state import State

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment


logger = logging.getLogger(__name__)

# By identity: an author's class may have an equality of its own.
_made: WeakValueDictionary[int, Environment] = WeakValueDictionary()
_used: dict[int, Environment] = {}


def expect_teardown(env: Environment) -> None:
    """Takes note of a new environment; it is not kept alive."""
    _made[id(env)] = env


def expect_teardown_of_used(env: Environment) -> None:
    """Takes note of an environment that runs a rollout; it is kept alive until it is torn down."""
    _used[id(env)] = env


@atexit.register
def _tear_down_all() -> None:
    if not _made and not _used:
        return
    gc.collect()  # what is only half made, because its constructor failed, must not be met
    for env in {**_made, **_used}.values():
        for error in asyncio.run(env.run_teardown()):
            logger.error("a teardown handler failed", exc_info=error)


class Ending:
    """The part of `Environment` that ends rollouts."""

    logger: logging.Logger
    thread_safe: bool = True
    plain_functions: PlainFunctions

    def find_handlers(self) -> None:
        """Takes note of the methods that are marked."""
        self.plain_functions = PlainFunctions(self.thread_safe)
        self._stop_conditions = [self._as_async(one) for one in marked_methods(self, "stop")]
        self._own_conditions: frozenset[Callable[..., Any]] = frozenset()
        if type(self)._render_stop is Ending._render_stop:
            own = (one for one in self._stop_conditions if not self._may_wait(one))
            self._own_conditions = frozenset(own)
        self._cleanup_handlers = [self._as_async(one) for one in marked_methods(self, "cleanup")]
        self._teardown_handlers = marked_methods(self, "teardown")

    def _as_async(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method, or what calls a plain one where plain functions run."""
        plain = self.plain_functions.of(method, method.__name__)
        if plain is None:
            return method

        @functools.wraps(method)
        async def call(state: State) -> Any:
            result = await call_plain(plain, functools.partial(method, state))
            return await noted(CURRENT.get(), result) if inspect.isawaitable(result) else result

        return call

    async def is_completed(self, state: State, **kwargs: Any) -> bool:
        """Whether a stop condition holds; the first that does ends the rollout.

        Its name goes to `state["stop_condition"]`, the clock stops, and cleanup handlers run. A
        condition that raises ends the rollout too: the exception is its error.
        """
        for condition in self._stop_conditions:
            try:
                if condition in self._own_conditions:  # at every turn: it takes little time
                    if not await condition(state):
                        continue
                    self._note_held(state, condition)
                elif not await self._render_stop(state, condition):
                    continue
            except BaseException as error:
                if must_propagate(error):
                    raise
                record_error(state, error)
                self._note_stop(state, "has_error")
            await self.end_rollout(state)
            return True
        return False

    async def end_rollout(self, state: State, stop_condition: str | None = None) -> None:
        """Stops the clock of a rollout and runs its cleanup handlers.

        Args:
            stop_condition: Why it ends, where that is not written down yet.
        """
        if stop_condition is not None:
            self._note_stop(state, stop_condition)
        self._stop_clock(state)
        await self.run_cleanup(state)

    async def _render_stop(self, state: State, condition: Callable[..., Any]) -> bool:
        """Checks one condition and writes down that it holds; subclasses may do so otherwise.

        Raises:
            Exception: Whatever the condition raises.
        """
        is_limited = getattr(state, "observer", SILENT).call_timeout is not None
        if is_limited and self._may_wait(condition):
            what = f"Stop condition {condition.__name__!r}"
            holds = await limited(state.observer, what, "environment", lambda: condition(state))
        else:
            holds = condition(state)
            if isinstance(holds, CoroutineType) or inspect.isawaitable(holds):
                holds = await noted(getattr(state, "observer", SILENT), holds)
        if holds:
            self._note_held(state, condition)
        return bool(holds)

    def _note_held(self, state: State, condition: Callable[..., Any]) -> None:
        self._note_stop(state, condition.__name__)
        if state.get("error") is not None and state.observer.row is None:  # a run logs it itself
            self.logger.error(f"A rollout ended with an error: {ErrorChain(state['error'])!r}")

    @staticmethod
    def _may_wait(condition: Callable[..., Any]) -> bool:
        """Whether a condition has a limit, where calls have one: our own never wait."""
        code = getattr(inspect.unwrap(condition), "__code__", None)
        return code is None or not is_ours(code.co_filename)

    def _note_stop(self, state: State, name: str) -> None:
        state["is_completed"] = True
        state["stop_condition"] = name
        if any(step.get("is_truncated") for step in state["trajectory"]):
            state["is_truncated"] = True

    def _stop_clock(self, state: State) -> None:
        began = getattr(state, "began", None)
        if began is None:  # a dict of people's own
            return
        elapsed = (time.perf_counter() - began) * 1000
        state["timing"]["generation_ms"] = elapsed
        state["timing"]["total_ms"] = elapsed + state["timing"].get("scoring_ms", 0.0)

    async def run_cleanup(self, state: State) -> None:
        """Runs every cleanup handler, once per rollout.

        What a handler raises is recorded on the state, and the others still run; so they do when
        the rollout is cancelled meanwhile, and the cancellation propagates after them.
        """
        if getattr(state, "cleaned_up", False):
            return
        if isinstance(state, State):
            state.cleaned_up = True
        await self._cleanup(state)

    async def _cleanup(self, state: State) -> None:
        """Runs the cleanup handlers; subclasses may do more."""
        cancelled: BaseException | None = None
        observer = getattr(state, "observer", SILENT)  # a dict of people's own has none
        for handler in self._cleanup_handlers:
            try:
                what = f"Cleanup handler {handler.__name__!r}"
                call = functools.partial(handler, state)
                await limited(observer, what, "environment", call)
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
        made = _made.pop(id(self), None)
        if _used.pop(id(self), made) is None:
            return raised
        has_own = type(self)._teardown is not Ending._teardown
        for handler in [self._teardown] if has_own else self._teardown_handlers:
            try:
                await maybe_await(handler)
            except BaseException as error:
                if must_propagate(error):
                    raise
                raised.append(error)
        return raised

    async def _teardown(self) -> None:
        """Runs the teardown handlers; subclasses may do more.

        Raises:
            Exception: Whatever the first that fails raises.
        """
        for handler in self._teardown_handlers:
            await maybe_await(handler)


def record_error(state: State, error: BaseException) -> None:
    """Makes an exception the error of a rollout, unless it has one; the object is kept as it is."""
    if state.get("error") is None:
        state["error"] = error
        state.failed_at = state.observer.stage_of_call


async def maybe_await(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function, and awaits what it returns if that can be awaited.

    Raises:
        Exception: Whatever the function raises.
    """
    result = func(*args, **kwargs)
    return await result if inspect.isawaitable(result) else result
