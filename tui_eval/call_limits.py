"""Time limits of calls of people's code, and the call that the loop is in.

Setup, stop conditions, answers of an environment, tools, reward functions, judges and cleanup are
called through here where `--call-timeout` is given. A call within another one has a time of its
own, and that of the outer one stops meanwhile, as it does while a request sleeps. Time in
which others hold the loop does not count either.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from tui_eval.deadline import BEATS_EVERY_S, STALL_S, Deadline, pulse_of
from tui_eval.errors import CallTimeoutError, is_ours, must_propagate

if TYPE_CHECKING:
    from tui_eval.observer import Observer


IGNORED_AFTER_S = 30.0
"""Seconds that a cancelled call may take for its cleanup."""


class CallLimit(Deadline):
    """The limit of one call, and the call's name and class.

    Args:
        observer: That of the rollout; has the limit in seconds.
        what: What is called, for people.
        error_class: The class of its errors, one of `error_classes.ERROR_CLASSES`.
    """

    def __init__(self, observer: Observer, what: str, error_class: str) -> None:
        super().__init__(observer.call_timeout)
        self._observer = observer
        self._what = what
        self._error_class = error_class
        self._loop = asyncio.get_running_loop()
        outer = CURRENT_CALL.get()
        self._outer = outer if outer is not None and outer.is_here() else None
        self._pulse = pulse_of(self._loop)
        self._ignored: asyncio.TimerHandle | None = None
        self._is_in_step = False
        self._step_began = self._own_s = 0.0

    def is_here(self) -> bool:
        """Whether its event loop is the running one; a plain function may have one of its own."""
        return self._loop is asyncio.get_running_loop()

    def error(self) -> CallTimeoutError:
        """The error of the rollout."""
        return CallTimeoutError.of(self._what, self.seconds or 0.0, self._error_class)

    def __enter__(self) -> Self:
        self._pulse.begin()
        return super().__enter__()

    def __exit__(self, *raised: Any) -> bool:
        self._pulse.end()
        if self._ignored is not None:
            self._ignored.cancel()
        is_over = super().__exit__(*raised)
        if self._left <= 0:  # it held the loop, and came back
            self.expired = True
        return is_over

    def _end(self) -> None:
        super()._end()
        self._ignored = self._loop.call_later(IGNORED_AFTER_S, self._ignores_end)

    def _ignores_end(self) -> None:
        self._observer.call_ignores_end(self._error_class, self._what)

    def _lost_s(self) -> float:
        return self._pulse.still_s() - self._held_s()

    def _held_s(self) -> float:
        """Seconds for which it held the loop itself."""
        step = self._loop.time() - self._step_began if self._is_in_step else 0.0
        return self._own_s + (step if step > STALL_S - BEATS_EVERY_S else 0.0)

    def begin_step(self) -> None:
        """The loop goes into the call."""
        if self._outer is not None:
            self._outer.note_step()
        self.note_step()
        self._is_in_step = True
        self._observer.call_runs(self._error_class, self._what)

    def end_step(self) -> None:
        """The loop is out of it, or back in the one around it."""
        self.note_step()
        self._is_in_step = False
        if self._outer is not None and self._outer._is_in_step:
            self._outer.begin_step()
        else:
            self._observer.call_waits()

    def note_step(self) -> None:
        """Notes the time that it has held the loop so far; a step begins or continues."""
        self._own_s = self._held_s()
        self._step_began = self._loop.time()

    def in_thread(self, call: Callable[[], Any]) -> Any:
        """Runs a plain function of the call in this thread; returns or raises as it does."""
        self._observer.call_runs(self._error_class, self._what)
        try:
            return call()
        finally:
            self._observer.call_waits()


CURRENT_CALL: ContextVar[CallLimit | None] = ContextVar("call_limit", default=None)
"""The innermost call with a limit that this task is in."""


def uncounted() -> AbstractContextManager[None]:
    """The context of time that the call around it does not count."""
    limit = CURRENT_CALL.get()
    return _NOTHING if limit is None or not limit.is_here() else limit.held()


_NOTHING = nullcontext()


async def limited(observer: Observer, what: str, error_class: str, call: Callable[[], Any]) -> Any:
    """The result of a call of people's code, awaited where it can be.

    Args:
        what: What is called, for people: `Tool 'search'`.
        error_class: The class of its errors, one of `error_classes.ERROR_CLASSES`.

    Raises:
        CallTimeoutError: It took longer than it may.
    """
    if observer.call_timeout is None:
        result = call()
        if not inspect.isawaitable(result):
            return result
        with observer.waits_for(what):
            return await noted(observer, result)
    with observer.waits_for(what), uncounted():
        limit = CallLimit(observer, what, error_class)
        before = CURRENT_CALL.set(limit)
        try:
            result = await _within(limit, call)
        finally:
            CURRENT_CALL.reset(before)
    return result


def noted(observer: Observer, result: Awaitable[Any]) -> Awaitable[Any]:
    """The same result; the loop is noted to be in the rollout's code whenever it comes back to it.

    Others have run meanwhile: where the code holds or ends the process then, it is not theirs. Our
    own code does neither, and is awaited as it is.
    """
    if not isinstance(result, types.CoroutineType):
        return in_steps(_awaited(lambda: result), observer.code_begins)
    if _is_ours(result.cr_code.co_filename):
        return result
    return in_steps(result, observer.code_begins)


_is_ours = functools.cache(is_ours)


async def _within(limit: CallLimit, call: Callable[[], Any]) -> Any:
    cancelled: BaseException | None = None
    try:
        with limit:
            try:
                limit.begin_step()
                result = await in_steps(_awaited(call), limit.begin_step, limit.end_step)
            except asyncio.CancelledError as error:
                cancelled = error
                raise
    except BaseException as error:
        if not limit.expired or must_propagate(error):
            raise
        raise limit.error() from error
    if limit.expired:  # also where it made something of its cancellation
        raise limit.error() from cancelled
    return result


async def _awaited(call: Callable[[], Any]) -> Any:
    result = call()
    return await result if inspect.isawaitable(result) else result


@types.coroutine
def in_steps(
    work: Coroutine[Any, Any, Any],
    resumes: Callable[[], None],
    pauses: Callable[[], None] | None = None,
) -> Generator[Any, Any, Any]:
    """Awaits a coroutine; calls whenever the loop comes out of it, and whenever it goes back."""
    sent: Any = None
    raised: BaseException | None = None
    while True:
        try:
            waits_for = work.send(sent) if raised is None else work.throw(raised)
        except StopIteration as end:
            return end.value
        finally:
            if pauses is not None:
                pauses()
        sent = raised = None
        try:
            sent = yield waits_for
        except BaseException as error:
            raised = error
        resumes()
