"""The one way to call a plain function of an author's, and the choice of its thread."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import math
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import msgspec

from tui_eval.call_limits import CURRENT_CALL, CallLimit
from tui_eval.errors import must_propagate
from tui_eval.plain_calls.call import Outcome
from tui_eval.plain_calls.main_thread import is_for_main_thread, is_for_one_thread
from tui_eval.plain_calls.threads import MOST_AT_ONCE, Threads

logger = logging.getLogger(__name__)

Func = TypeVar("Func", bound=Callable[..., Any])

FIRST_CALL_S = 5.0
"""Seconds for which the first call of a function is alone, at most."""
QUICK_S = 0.001
THREADS = Threads(MOST_AT_ONCE, 1000)
ONE_THREAD = Threads(1)
"""The thread of functions that are not thread-safe."""


class PlainFunction(msgspec.Struct, eq=False, weakref=True):
    """Properties of a plain function."""

    name: str
    """Its name, for people."""
    on_loop: bool = False
    """Whether it works on the event loop only, and is called there."""
    thread_safe: bool = True
    """Whether it may run beside others; functions that may not run one at a time."""
    is_quick: bool = False
    """Whether its last call took less than a millisecond."""
    first: Future[None] | None = None
    """Its first call, until that has ended; `began` is its start, in seconds of `time.monotonic`.
    """
    began: float = 0.0
    is_tried: bool = False
    """Whether the first call has ended."""


_KNOWN: weakref.WeakKeyDictionary[Any, PlainFunction] = weakref.WeakKeyDictionary()


def thread_safe(value: bool) -> Callable[[Func], Func]:
    """Declares whether a plain function may run beside others in threads, as by default.

    Those that may not run one at a time, in the order in which they are called, and all in the
    same thread: tools, reward functions, stop conditions and cleanup handlers alike. It does
    nothing to async functions.

    Args:
        value: False for one at a time.
    """

    def mark(func: Func) -> Func:
        func.thread_safe = value  # type: ignore[attr-defined]
        return func

    return mark


def plain_function(func: Callable[..., Any], name: str) -> PlainFunction | None:
    """The properties of a function, whoever calls it; None for an async one."""
    if inspect.iscoroutinefunction(func):
        return None
    try:
        known = _KNOWN.get(func)
    except TypeError:  # it cannot be a key
        return PlainFunction(name, thread_safe=_is_declared_safe(func))
    if known is None:
        known = PlainFunction(name, thread_safe=_is_declared_safe(func))
        if not inspect.ismethod(func):  # which is made again for each look at it
            try:
                _KNOWN[func] = known
            except TypeError:  # nothing can refer to it weakly
                pass
    return known


def _is_declared_safe(func: Any) -> bool:
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func, "thread_safe", True) is not False


class PlainFunctions:
    """Properties of the functions and methods of one owner, which may be made thread-safe or not
    all together.

    Args:
        thread_safe: The default of functions that do not declare it themselves.
    """

    def __init__(self, thread_safe: bool = True) -> None:
        self.thread_safe = thread_safe
        self._known: dict[int, tuple[Any, PlainFunction | None]] = {}

    def of(self, func: Callable[..., Any], name: str) -> PlainFunction | None:
        """The properties of a function; None for an async one."""
        bare = getattr(func, "__func__", func)  # a method is made again for each look at it
        known = self._known.get(id(bare))
        if known is None or known[0] is not bare:
            function = plain_function(func, name)
            if function is not None and not self.thread_safe:
                function.thread_safe = False
            known = self._known[id(bare)] = bare, function
        return known[1]


async def call_plain(function: PlainFunction, call: Callable[[], Any]) -> Any:
    """Calls a plain function by `call`; returns or raises as it does, also for its limits."""
    outcome = await attempt_in_call(function, call)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def attempt_in_call(
    function: PlainFunction, call: Callable[[], Any], limit_s: float = math.inf
) -> Awaitable[Outcome]:
    """Calls a plain function as `attempt` does, within the limit of the call that it is in.

    Its wait for a turn is no part of that call's time.
    """
    limit = CURRENT_CALL.get()
    if limit is None or not limit.is_here() or limit.seconds is None:
        return attempt(function, call, limit_s)
    return _attempt_within(limit, limit.seconds, function, call, limit_s)


async def _attempt_within(
    limit: CallLimit, most_s: float, function: PlainFunction, call: Callable[[], Any], own_s: float
) -> Outcome:
    with limit.held():
        seconds = min(own_s, most_s)
        outcome = await attempt(function, functools.partial(limit.in_thread, call), seconds)
    if outcome.is_given_up and most_s < own_s:
        error = limit.error()
        error.__cause__ = outcome.error
        outcome.error = error
    return outcome


async def attempt(
    function: PlainFunction, call: Callable[[], Any], limit_s: float = math.inf
) -> Outcome:
    """Calls a plain function where it belongs, and returns the outcome.

    The first call of a function is alone for 5 s at most, as it may prepare what all others use;
    then calls run at once. One that is not thread-safe is called in one thread, after all others of
    that kind, and one that works on the main thread only is called on the event loop, where nothing
    holds it to a limit. The limit does not count its wait for a turn.
    """
    if function.is_tried and function.thread_safe and not function.on_loop:
        outcome = await THREADS.attempt(call, limit_s, function.is_quick)
        function.is_quick = outcome.seconds < QUICK_S
        if outcome.error is None:
            return outcome
    elif _is_here(function):
        return _outcome_here(call)
    elif function.is_tried:
        outcome = await _in_threads(function, call, limit_s)
    else:
        outcome = await _in_turn(function, call, limit_s)
    if outcome.error is not None and _moves(function, outcome.error):
        if not _is_here(function):
            outcome = await ONE_THREAD.attempt(call, limit_s)
        if _is_here(function) or (outcome.error is not None and _moves(function, outcome.error)):
            return _outcome_here(call)
    return outcome


async def _in_threads(function: PlainFunction, call: Callable[[], Any], limit_s: float) -> Outcome:
    if _is_here(function):
        return _outcome_here(call)
    if not function.thread_safe:
        return await ONE_THREAD.attempt(call, limit_s)
    outcome = await THREADS.attempt(call, limit_s, function.is_quick)
    function.is_quick = outcome.seconds < QUICK_S
    return outcome


async def _in_turn(function: PlainFunction, call: Callable[[], Any], limit_s: float) -> Outcome:
    """Makes the first call of a function, or one that waits for that."""
    if function.first is not None:
        left = FIRST_CALL_S - (time.monotonic() - function.began)
        if left > 0:
            await asyncio.wait([asyncio.wrap_future(function.first)], timeout=left)
        return await _in_threads(function, call, limit_s)
    function.first, function.began = Future(), time.monotonic()
    try:
        if ONE_THREAD.is_free():  # the thread to stay in, if what it makes turns out to be bound
            return await ONE_THREAD.attempt(call, limit_s)
        return await _in_threads(function, call, limit_s)
    finally:
        function.is_tried = True
        function.first.set_result(None)


def _is_here(function: PlainFunction) -> bool:
    """Whether a function is to be called on this event loop."""
    return function.on_loop and threading.current_thread() is threading.main_thread()


def _outcome_here(call: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(call())
    except BaseException as error:
        if must_propagate(error):
            raise
        return Outcome(error=error)


def _moves(function: PlainFunction, error: BaseException) -> bool:
    """Whether a function that failed in its thread belongs elsewhere from now on."""
    if is_for_one_thread(error):
        if function.thread_safe:
            function.thread_safe = False
            logger.warning(
                "Plain function %r works in one thread only (%s): from now on its calls run one "
                "at a time. Declare it with @thread_safe(False)",
                *(function.name, error),
            )
        return True
    if threading.current_thread() is not threading.main_thread():
        return False
    if not is_for_main_thread(error):
        return False
    if not function.on_loop:
        function.on_loop = True
        logger.warning(
            "Plain function %r works on the main thread only (%s): from now on it holds up "
            "everything else while it runs, and no time limit ends it",
            *(function.name, error),
        )
    return True
