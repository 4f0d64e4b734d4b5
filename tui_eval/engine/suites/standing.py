"""How one evaluation of several stands: what the engine tells of it."""

from __future__ import annotations

import asyncio
import time

from tui_eval.config.plan import RunPlan
from tui_eval.engine.seam.hub import Hub
from tui_eval.events import EvaluationMoved, RunStarted
from tui_eval.fold.run_state import RunState
from tui_eval.stats.mean import half_of

NOTHING = RunState()
"""What there is of an evaluation that has not begun."""


class Standing:
    """One evaluation; `last` is what was told of it last, `hub` its own hub while it is at work.

    `all_begun` is set once none of its rollouts waits to begin; `exit_code` is None until nobody
    works on it any more.
    """

    def __init__(self, place: int, plan: RunPlan) -> None:
        self.place = place
        self.plan = plan
        self.hub: Hub | None = None
        self.all_begun = asyncio.Event()
        self.exit_code: int | None = None
        self.last = EvaluationMoved(0, 0.0, place, "waiting")
        self._changed = -1
        self._used = (0, 0.0)

    def begin(self, run: RunStarted, done: int, socket: str) -> Hub:
        """Its run has a directory now, and a socket; returns its hub.

        Args:
            done: Rollouts that earlier sessions finished.
        """
        self.last = EvaluationMoved(
            *(0, time.time(), self.place, "running", run.path, socket, run.total, done),
            saved=run.saved,
        )
        self.hub = Hub()
        self.hub.path = run.path
        return self.hub

    @property
    def _state(self) -> RunState:
        return self.hub.state if self.hub is not None else NOTHING

    def has_moved(self) -> bool:
        """Whether anything happened since it was told last."""
        return self._state.changed != self._changed

    def moved(self) -> EvaluationMoved:
        """How far it is."""
        return self._told(self.last.status, "")

    def over(self, status: str, exit_code: int, text: str) -> EvaluationMoved:
        """Nobody works on it any more."""
        self._used = self.used()
        self.exit_code = exit_code
        told = self._told(status, text)
        self.hub = None  # its rows may be many
        return told

    def count(self, tokens: int, cost: float | None) -> None:
        """Takes in what earlier sessions spent on its run."""
        self._used = (tokens, cost or 0.0)

    def used(self) -> tuple[int, float]:
        """Tokens and US dollars that its rollouts used, also before it goes on."""
        tokens, cost = self._used
        return max(tokens, self._state.tokens), max(cost, self._state.cost or 0.0)

    def _told(self, status: str, text: str) -> EvaluationMoved:
        state = self._state
        reward = state.reward_mean.result()
        half_width = None
        if reward.low is not None and reward.high is not None:
            half_width = half_of(reward.mean, reward.low, reward.high)
        self._changed = state.changed
        now = time.time()
        self.last = EvaluationMoved(
            seq=0,
            at=now,
            index=self.place,
            status=status,
            path=self.last.path,
            socket=self.last.socket if self.exit_code is None else "",
            total=state.total if state.run is not None else self.last.total,
            finished=state.finished if state.run is not None else self.last.finished,
            errored=state.errored,
            running=state.running,
            reward=reward.mean,
            half_width=half_width,
            reward_std=reward.std,
            input_tokens=state.usage.tokens_in,
            output_tokens=state.usage.tokens_out,
            cost=state.cost if state.run is not None else None,
            elapsed_s=_elapsed(state, now),
            text=text,
            saved=self.last.saved,
            sleeping=state.sleeping,
            cause=state.last_cause,
            again_at=state.next_try_at,
        )
        return self.last


def _elapsed(state: RunState, now: float) -> float:
    """Seconds that were worked on a run so far."""
    if state.run is None:
        return 0.0
    end = state.end.at if state.end is not None else now
    return max(end - state.run.at, 0.0) + state.run.worked_ms / 1000
