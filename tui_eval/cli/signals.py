"""The signals that end the command, wherever it is: each means what Ctrl-C means."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

COMES_AGAIN_S = 0.01

_taken: list[int] = []


def ending_signals() -> list[signal.Signals]:
    """The signals that end the command; under `nohup` a closed terminal does not."""
    requested = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        requested.append(signal.SIGHUP)
    return requested


def interrupt_on_signals() -> None:
    """Makes them raise `KeyboardInterrupt`; an event loop that handled them has to be over."""
    for number in ending_signals():
        # asyncio takes care of Ctrl-C only where it finds Python's own handler
        own = number == signal.SIGINT
        signal.signal(number, signal.default_int_handler if own else _interrupt)
    sys.unraisablehook = _dropped
    signal.signal(signal.SIGALRM, _come_again)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _taken.append(number)
    raise KeyboardInterrupt


def _dropped(found: UnraisableHookArgs) -> None:
    """Python drops what is raised while an object is taken down: such an interrupt comes again."""
    if issubclass(found.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, COMES_AGAIN_S)
    else:
        sys.__unraisablehook__(found)


def _come_again(number: int, frame: FrameType | None) -> None:
    signal.raise_signal(_taken[-1] if _taken else signal.SIGINT)


def was_interrupted(error: BaseException | None) -> bool:
    """Whether a signal has come; interrupted code may raise this other exception for it.

    A module that is loaded at that moment turns a `KeyboardInterrupt` into whatever it raises when
    it cannot be loaded.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return bool(_taken) or error is not None
