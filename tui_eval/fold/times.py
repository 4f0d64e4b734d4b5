"""Durations of rollouts, their parts and their model calls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tui_eval.stats.quantiles import RunningQuantiles

if TYPE_CHECKING:
    from tui_eval.events import RolloutFinished


class Times:
    """Times of finished rollouts, at constant cost a rollout.

    `rollout_s` has the seconds of every one without an error, `model_call_s` those of every
    answered model call.
    """

    def __init__(self) -> None:
        self.rollout_s = RunningQuantiles()
        self.model_call_s = RunningQuantiles()
        self._parted = 0
        self._generation_ms = self._scoring_ms = 0.0

    def add(self, event: RolloutFinished) -> None:
        """Takes in a finished rollout."""
        for ms in event.model_ms:
            self.model_call_s.add(ms / 1000)
        if event.error is not None:
            return
        self.rollout_s.add(event.total_ms / 1000 or math.nan)
        if event.generation_ms:  # 0 is a time that is not known
            self._parted += 1
            self._generation_ms += event.generation_ms
            self._scoring_ms += event.scoring_ms

    def remove(self, was: RolloutFinished) -> None:
        """Takes out an errored rollout that was added."""
        for ms in was.model_ms:
            self.model_call_s.remove(ms / 1000)

    @property
    def mean_ms(self) -> tuple[float, float] | None:
        """Milliseconds of generating and of scoring a rollout, on average; None if not known."""
        count = self._parted
        return (self._generation_ms / count, self._scoring_ms / count) if count else None
