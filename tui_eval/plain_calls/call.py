"""One call of a plain function: done in a thread, or given up on the loop before that."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from tui_eval.plain_calls import main_thread
from tui_eval.plain_calls.line import GivenUp

if TYPE_CHECKING:
    from tui_eval.plain_calls.threads import Crew

logger = logging.getLogger(__name__)

_SOON_S = 1.0
_MOST_FRAMES = 12


class Outcome(msgspec.Struct):
    """The outcome of a call: value or error, and its seconds, infinite where it was given up."""

    value: Any = None
    error: BaseException | None = None
    seconds: float = math.inf
    is_given_up: bool = False


class Call:
    """A call, from its start to its outcome."""

    def __init__(
        self,
        crew: Crew,
        call: Callable[[], Any],
        limit_s: float,
        is_quick: bool,
        future: asyncio.Future[Outcome],
    ) -> None:
        self.future = future
        self.is_quick = is_quick
        self.has_place = not is_quick
        self._crew = crew
        self._call = call
        self._limit_s = limit_s
        self._context = contextvars.copy_context()
        self._timer: asyncio.TimerHandle | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._has_begun = False
        self._finished = False
        self._given_up = False

    def start(self) -> None:
        """Starts its time. Called on the loop."""
        self._has_begun = True
        if not self.is_quick or self._limit_s < _SOON_S:
            self.begin_time()

    def begin_time(self) -> None:
        """Starts its limit, which most quick calls never need. Called on the loop."""
        if self._limit_s < math.inf and self._timer is None:
            loop = self.future.get_loop()
            context = self._context.copy()  # a thread may be in the one there is
            self._timer = loop.call_later(self._limit_s, self._run_out, context=context)

    def work(self) -> bool:
        """Makes the call; returns whether the thread is still wanted. Called in a thread."""
        with self._lock:
            if self._given_up:
                return True
            self._thread = threading.current_thread()
        outcome = self._context.run(_outcome, self._call)
        with self._lock:
            self._finished = not self._given_up
        return self._finished and self._crew.deliver(self, outcome)

    def settle(self, outcome: Outcome) -> None:
        """Sets its outcome. Called on the loop."""
        if self._timer is not None:
            self._timer.cancel()
        if not self.future.done():
            self.future.set_result(outcome)

    def abandon(self) -> None:
        """Gives it up, as nobody waits for it any more. Called on the loop."""
        if self._timer is not None:
            self._timer.cancel()
        if self._has_begun:
            self._give_up()

    def never_begins(self) -> None:
        """Fails it, as no thread takes it. Called on the loop."""
        self._given_up = True
        if self._timer is not None:
            self._timer.cancel()

    def _run_out(self) -> None:
        error = TimeoutError(f"ran longer than its time limit of {self._limit_s:g} s")
        if not self._give_up(error):
            return
        logger.warning("A function %s. Its thread is left behind", error)
        if not self.future.done():
            self.future.set_result(Outcome(error=error, is_given_up=True))

    def _give_up(self, error: BaseException | None = None) -> bool:
        """Gives up a call that has not ended, noting on an error where it was."""
        with self._lock:
            if self._finished or self._given_up:
                return False
            self._given_up = True
            if self._thread is not None:
                if error is not None:
                    error.add_note(f"It was here:\n{_place_of(self._thread)}")
                _interrupt(self._thread)
        self._crew.leave_behind(self, self._thread)
        return True


def _outcome(call: Callable[[], Any]) -> Outcome:
    main_thread.forget_refusals()
    began = time.perf_counter()
    try:
        outcome = Outcome(call())
    except BaseException as error:
        tb = error.__traceback__
        outcome = Outcome(error=error.with_traceback(tb.tb_next if tb else None))
    outcome.seconds = time.perf_counter() - began
    refused = main_thread.refusal()
    return outcome if refused is None else Outcome(error=refused)


def _place_of(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    return "".join(traceback.format_stack(frame, limit=_MOST_FRAMES)) if frame else ""


def _interrupt(thread: threading.Thread) -> None:
    """Raises in a thread, so that an endless loop does not slow everything for good."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(GivenUp)
    )
