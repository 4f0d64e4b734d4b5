"""Recognizes that a plain function, which ran in a thread, works in another one only."""

from __future__ import annotations

import functools
import re
import signal
import threading
from typing import Any

_BOUND = re.compile(r"The object was created in thread id (\d+)")
"""SQLite's error for a connection that is used in another thread than the one that made it."""

_REFUSALS = "signal only works in main thread", "no running event loop", "no current event loop"


class NeedsMainThreadError(RuntimeError):
    """A function set a signal handler, which Python allows in the main thread only."""


_HERE = threading.local()


@functools.cache
def notice_refusals() -> None:
    """Has `signal.signal` remember, in the thread that calls it, that Python refused it there.

    It behaves as ever. Many functions take the refusal for a wrong answer, those that use
    math-verify among them: they catch every exception, and nothing else reports it.
    """
    original = signal.signal

    @functools.wraps(original)
    def noticed(signalnum: Any, handler: Any) -> Any:
        try:
            return original(signalnum, handler)
        except ValueError:
            _HERE.refused = True
            raise

    signal.signal = noticed


def forget_refusals() -> None:
    """Makes `refusal` report only later refusals in this thread."""
    _HERE.refused = False


def refusal() -> NeedsMainThreadError | None:
    """The error of a function that was refused a signal handler, whatever it did then."""
    if not getattr(_HERE, "refused", False):
        return None
    return NeedsMainThreadError(
        "it sets a signal handler, which Python allows in the main thread only"
    )


def is_for_main_thread(error: BaseException) -> bool:
    """Whether a function failed because it was not called where the event loop runs."""
    if isinstance(error, NeedsMainThreadError):
        return True
    owner = _owner(error)
    if owner is not None:
        return owner == threading.main_thread().ident
    message = str(error) if type(error) in (ValueError, RuntimeError) else ""
    return any(text in message for text in _REFUSALS)


def is_for_one_thread(error: BaseException) -> bool:
    """Whether a function failed as it uses an object of a thread other than the main one."""
    return _owner(error) not in (None, threading.main_thread().ident)


def _owner(error: BaseException) -> int | None:
    """The number of the only thread that may use a function's object, where SQLite says it."""
    found = _BOUND.search(str(error)) if type(error).__name__ == "ProgrammingError" else None
    return None if found is None else int(found[1])
