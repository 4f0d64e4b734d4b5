"""Whether a rollout that errored is generated or scored again, and after which wait."""

from __future__ import annotations

import asyncio
import logging
import random

from tui_eval.errors import ErrorChain
from tui_eval.events import Stage
from tui_eval.open_files import REASON, is_out_of_files
from tui_eval.state import State
from tui_eval.worker.groups import fault_of
from tui_eval.worker.retryable import is_retryable
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.work import Work

log = logging.getLogger("tui_eval.rollout")

LONGEST_BACKOFF_S = 60.0
LONGEST_STARVING_S = 8.0
MOST_SHORT_STARVES = 10
"""So often a rollout soon runs again for want of open files: each time its model calls are paid."""


class RolloutRetries:
    """What `--max-retries` gives each rollout of a run.

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
        """Waits twice as long as the time before, without the slots of the rollout.

        Args:
            tries: How often it was scored again.
        """
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
