"""Context of threads that people's code starts: the rollout and the call that started them."""

from __future__ import annotations

import concurrent.futures.thread
import contextvars
import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tui_eval.observer import CURRENT, SILENT
from tui_eval.output import CALL
from tui_eval.worker.logging.run_log import CURRENT_LOG

_OURS = (CURRENT, CALL, CURRENT_LOG)
_WORKER = concurrent.futures.thread._worker


@functools.cache
def inherit_context() -> None:
    """Has threads inherit the owner of their output from the thread that started them, and
    functions given to a `ThreadPoolExecutor` from their caller. Before Python 3.14 threads begin
    with none; other context variables are left as Python has them.
    """
    _patch(threading.Thread, "start", _starts)
    _patch(ThreadPoolExecutor, "submit", _submits)


def _patch(owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(wrap(original)))


def _starts(start: Callable[[threading.Thread], None]) -> Callable[[Any], None]:
    def started(thread: Any) -> None:
        # The threads of an executor serve everybody; what they run has a context of its own.
        if CURRENT.get() is not SILENT and getattr(thread, "_target", None) is not _WORKER:
            context, run = _of_here(), thread.run

            def run_there() -> None:
                del thread.run
                context.run(run)

            thread.run = run_there
        start(thread)

    return started


def _submits(submit: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    def submitted(
        executor: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        if CURRENT.get() is SILENT:
            return submit(executor, fn, *args, **kwargs)
        return submit(executor, _of_here().run, fn, *args, **kwargs)

    return submitted


def _of_here() -> contextvars.Context:
    context = contextvars.Context()
    for variable in _OURS:
        context.run(variable.set, variable.get())  # type: ignore[arg-type]
    return context
