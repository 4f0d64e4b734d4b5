"""Retries of rollouts that errored, in generation or scoring, and the wait before each.

`is_retryable` says which errors may be gone then, and which every other rollout would meet.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any

from tui_eval.clients.causes import cause_of
from tui_eval.clients.faults import ABOUT_THE_KEY
from tui_eval.clients.request_retries import is_transient
from tui_eval.errors import Error, ErrorChain, InfraError, ModelError
from tui_eval.events import Stage
from tui_eval.open_files import REASON, is_out_of_files
from tui_eval.state import State
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.work import Work

log = logging.getLogger("tui_eval.rollout")

LONGEST_BACKOFF_S = 60.0
LONGEST_STARVING_S = 8.0
MOST_SHORT_STARVES = 10
"""Most quick retries of a rollout for want of open files: each pays for its model calls again."""

_TYPES = (InfraError, ModelError, ConnectionError, TimeoutError)
# Base classes of httpx, aiohttp, requests, and of the SDKs of providers and sandboxes. They are
# known by name: none of these packages is loaded for the sake of an error that it did not raise.
_NAMES = frozenset(
    {
        *("TransportError", "ClientConnectionError", "ClientPayloadError", "ConnectionError"),
        *("Timeout", "APIError"),
    }
)


class RolloutRetries:
    """The retries that `--max-retries` gives each rollout of a run.

    One that found no open file left is tried again without end: that is the machine's fault.
    """

    def __init__(self, work: Work) -> None:
        self._work = work

    def runs_again(self, observer: RolloutObserver, state: State, tries: int = 0) -> bool:
        """Whether a rollout is tried again.

        Args:
            tries: How often it was scored again.
        """
        error = fault_of(state)
        if error is None or observer.cancelled is not None:
            return False
        if not is_out_of_files(error):
            retries_left = self._work.max_retries - observer.failed_attempts - tries
            if retries_left <= 0 or not is_retryable(error):
                return False
        return not self._work.out_of_budget()

    async def sleep(self, observer: RolloutObserver, state: State, tries: int = 0) -> None:
        """Waits twice as long as last time, without the slots of the rollout."""
        error = fault_of(state)
        is_starved = is_out_of_files(error)
        doublings = observer.starved if is_starved else observer.failed_attempts + tries
        is_soon = is_starved and observer.starved < MOST_SHORT_STARVES
        pause = min(2.0**doublings, LONGEST_STARVING_S if is_soon else LONGEST_BACKOFF_S)
        pause *= 0.75 + random.random() / 2
        log.warning("%s: %s; runs again in %.1f s", observer, ErrorChain(error), pause)
        why = REASON if is_starved else type(error).__name__
        observer.sleeps_for(pause, f"{why}, runs again in {pause:.0f}s")
        observer.staged(Stage.SLEEPING)
        async with observer.held.lent():
            await asyncio.sleep(pause)
            observer.slept()
        observer.woke()


_SETTLED = ("reward", "advantage")
"""Keys that scoring adds to steps."""


class Unscored:
    """A rollout without an error that is about to be scored."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._open: list[tuple[dict[str, Any], str]] = [
            (step, key)
            for step in state.get("trajectory") or ()
            for key in _SETTLED
            if step.get(key) is None
        ]

    def restore(self) -> None:
        """Removes the marks of scoring, but for values that reward functions kept themselves."""
        self.state["error"] = None
        self.state.failed_at = self.state.metric_error = None
        for step, key in self._open:
            step[key] = None


def fault_of(state: State) -> Any:
    """The fault of a rollout: its error, or that of a metric that counts nothing."""
    error = state.get("error")
    return state.metric_error if error is None else error


def is_retryable(error: object) -> bool:
    """Whether a rollout that ended with an error is worth another try.

    True for a failed model call, every `InfraError`, and any exception of a network, an API or a
    time-out, also as the cause of another one: of a reward function's failure, for one. False for
    a status that the endpoint would answer with again: a wrong key, an unknown model, a bad
    request.
    """
    if not isinstance(error, BaseException):
        return False
    if isinstance(error, InfraError):
        return True
    links = [*ErrorChain(error)]
    if any(getattr(link, "status_code", None) and not is_transient(link) for link in links):
        return False
    if any((cause := cause_of(link)) and not cause.passes for link in links):
        return False
    if isinstance(error, Error):
        return isinstance(error, ModelError) or is_retryable(error.__cause__)
    return any(_is_of_network(link) for link in links)


def refuses_key(state: State) -> bool:
    """Whether a rollout ended as the endpoint refused its key (401, 403)."""
    error = state.get("error")
    if error is None or state.failed_at is not Stage.MODEL:
        return False
    return any(getattr(link, "status_code", None) in ABOUT_THE_KEY for link in ErrorChain(error))


def _is_of_network(link: BaseException) -> bool:
    if isinstance(link, _TYPES):
        return True
    names = [kind.__name__ for kind in type(link).__mro__]
    return any(name in _NAMES or name.endswith("TimeoutError") for name in names)
