"""Stage and times of every rollout of a run: plain columns, one entry a rollout."""

from __future__ import annotations

import math
from array import array
from typing import NamedTuple

NAN = math.nan
WAITING, SLEEPING, HELD, MODEL, DONE, ERROR = 0, 1, 4, 5, 8, 9
"""Stages as numbers, in the order of `tui_eval.events.Stage`, which takes longer to load."""


class Wait(NamedTuple):
    """The wait of a running rollout."""

    call: str
    """The awaited call; empty where the stage says all."""
    since: float
    """Its begin in unix seconds."""
    worker: int
    """The process that runs it; 0 for the engine's own."""


class RolloutColumns:
    """Columns indexed by row: example position times rollouts per example, plus the number.

    `by_stage` counts the rollouts of every stage, `notes` says why rollouts sleep and `again_at`
    until when; `waits` has what running ones wait for. `since` is when a rollout began, in unix
    seconds, moved on by what a pause took.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gate_open = True

    def _make_columns(self, total: int, per_example: int) -> None:
        self.total = total
        self.per_example = max(per_example, 1)
        self.stage = bytearray(total)
        self.by_stage = [total] + [0] * ERROR
        self.attempt = array("H", bytes(2 * total))
        self.turns = array("I", bytes(4 * total))
        self.tool_calls = array("I", bytes(4 * total))
        self.input_tokens = array("q", bytes(8 * total))
        self.output_tokens = array("q", bytes(8 * total))
        self.reward = array("d", [NAN]) * total
        self.since = array("d", [NAN]) * total
        self.total_ms = array("d", [NAN]) * total
        self.offset = array("q", [-1]) * total
        self.length = array("q", bytes(8 * total))
        self.notes: dict[int, str] = {}
        self.again_at: dict[int, float] = {}
        self.waits: dict[int, Wait] = {}
        self._held_at: dict[int, float] = {}

    def _grow_columns(self, more: int) -> None:
        self.total += more
        self.by_stage[WAITING] += more
        self.stage.extend(bytes(more))
        self.attempt.frombytes(bytes(2 * more))
        for counts in (self.turns, self.tool_calls):
            counts.frombytes(bytes(4 * more))
        for sizes in (self.input_tokens, self.output_tokens, self.length):
            sizes.frombytes(bytes(8 * more))
        for numbers in (self.reward, self.since, self.total_ms):
            numbers.extend(array("d", [NAN]) * more)
        self.offset.extend(array("q", [-1]) * more)

    @property
    def finished(self) -> int:
        """Rollouts that have a row on disk, errored ones included."""
        return self.by_stage[DONE] + self.by_stage[ERROR]

    @property
    def errored(self) -> int:
        """Finished rollouts that ended in an error."""
        return self.by_stage[ERROR]

    @property
    def running(self) -> int:
        """Rollouts that have begun and not finished."""
        return self.total - self.by_stage[WAITING] - self.finished

    @property
    def sleeping(self) -> int:
        """Running rollouts that wait to be tried again."""
        return self.by_stage[SLEEPING]

    @property
    def next_try_at(self) -> float:
        """Unix seconds at which the first of them is; 0 where none waits."""
        return min(self.again_at.values(), default=0.0)

    def passed_s(self, row: int, now: float) -> float:
        """Seconds that a running rollout has taken, without those of a pause; NaN for others."""
        if not WAITING < self.stage[row] < DONE:
            return NAN
        return max(self._held_at.get(row, now) - self.since[row], 0.0)

    def is_held(self, row: int) -> bool:
        """Whether a pause holds a running rollout, so that its time does not pass."""
        return row in self._held_at

    def _pass_time(self, row: int, at: float, stands: bool) -> None:
        """Stops a rollout's time, or lets it pass again."""
        self.since[row] += at - self._held_at.pop(row, at)
        if stands:
            self._held_at[row] = at

    def _stands_still(self, stage: int, again_at: float) -> bool:
        """Whether a pause holds a rollout back: at the gate, or from its slot."""
        return stage == HELD or (stage == SLEEPING and not again_at and not self.gate_open)

    def _move_gate(self, is_open: bool, at: float) -> None:
        self.gate_open = is_open
        for row in self.notes:
            again_at = self.again_at.get(row, 0.0)
            self._pass_time(row, at, self._stands_still(self.stage[row], again_at))

    def _woke(self, row: int) -> None:
        self.notes.pop(row, None)
        self.again_at.pop(row, None)

    def _move(self, row: int, stage: int) -> None:
        self.by_stage[self.stage[row]] -= 1
        self.by_stage[stage] += 1
        self.stage[row] = stage
