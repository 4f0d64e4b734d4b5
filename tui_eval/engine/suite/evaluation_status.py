"""Status and spending of the evaluations of a suite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tui_eval import clock
from tui_eval.config.plan import RunPlan
from tui_eval.engine.limits.budget import Budget
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import (
    EvaluationMoved,
    ListedEvaluation,
    RunFinished,
    RunStarted,
)
from tui_eval.fold.mean_reward import mean_reward
from tui_eval.fold.saved_values import mapping, tokens_of
from tui_eval.runs.discovery import FoundRun
from tui_eval.runs.layout import RunDir, is_unsaved
from tui_eval.stats.cost import cost_of, run_prices
from tui_eval.token_kinds import from_names


class EvaluationStatus:
    """The status of one evaluation; `last` is its last event, `hub` its own hub while it is at
    work.

    `all_begun` is set once all of its rollouts have begun; `exit_code` is None until it ends.
    """

    def __init__(self, index: int, plan: RunPlan) -> None:
        self.index = index
        self.plan = plan
        self.hub: Hub | None = None
        self.all_begun = asyncio.Event()
        self.exit_code: int | None = None
        self.last = EvaluationMoved(0, 0.0, index, "waiting")
        self._changed = -1
        self._used = (0, 0.0)

    @property
    def listed(self) -> ListedEvaluation:
        """Its entry in the list of the suite."""
        plan = self.plan
        total = max(plan.num_examples, 0) * plan.rollouts_per_example
        return ListedEvaluation(plan.title, plan.env_id, plan.model, plan.varies, total)

    def begin(self, run: RunStarted, done: int, socket: str) -> Hub:
        """Notes that its run has a directory and a socket; returns its hub.

        Args:
            done: Rollouts that earlier sessions finished.
        """
        self.last = replace(
            self.last,
            at=clock.now(),
            status="running",
            path=run.path,
            socket=socket,
            total=run.total,
            finished=done,
            errored=0,
            saved=run.saved,
        )
        self.hub = Hub()
        self.hub.path = run.path
        return self.hub

    def has_moved(self) -> bool:
        """Whether anything happened since its last event."""
        return self.hub is not None and self.hub.state.changed != self._changed

    def moved(self) -> EvaluationMoved:
        """An event of its progress."""
        return self._event(self.last.status, "")

    def moved_to(self, run: RunDir) -> EvaluationMoved:
        """Notes that its run is in another directory."""
        self.last = replace(self.last, path=str(run.path), saved=not is_unsaved(run))
        return self.moved()

    def over(self, end: RunFinished) -> EvaluationMoved:
        """Notes how it ended."""
        self._used = self.used()
        self.exit_code = end.exit_code
        event = self._event(end.status, end.text)
        self.hub = None  # its rows may be many
        return event

    def find(self, found: FoundRun, metadata: Mapping[str, Any]) -> None:
        """Takes in the state of the run that it is to resume.

        Args:
            metadata: Of its run.
        """
        each = self.plan.rollouts_per_example
        reported = mapping(mapping(metadata.get("numbers")).get("tokens"))
        read, written = tokens_of(reported.get("input")), tokens_of(reported.get("output"))
        self.last = replace(
            self.last,
            path=str(found.run.path.absolute()),
            saved=found.saved,
            total=max(found.total or 0, self.plan.num_examples * each),
            finished=found.done or 0,
            errored=found.errored,
            reward=found.reward,
            low=found.low,
            high=found.high,
            interval_name=found.interval_name,
            input_tokens=read,
            output_tokens=written,
            cost=cost_of(read, written, run_prices(self.plan), from_names(reported)),
            list_price=self.plan.list_price,
            elapsed_s=tokens_of(metadata.get("time_ms")) / 1000,
        )

    def count(self, tokens: int, cost: float | None) -> None:
        """Takes in the spending of its run's earlier sessions."""
        self._used = (tokens, cost or 0.0)

    def used(self) -> tuple[int, float]:
        """Tokens and US dollars of its rollouts, those of earlier sessions as well."""
        if self.hub is None:
            return self._used
        tokens, cost = self._used
        return max(tokens, self.hub.state.tokens), max(cost, self.hub.state.cost or 0.0)

    def _event(self, status: str, text: str) -> EvaluationMoved:
        now, socket = clock.now(), self.last.socket if self.exit_code is None else ""
        state = self.hub.state if self.hub is not None else None
        if state is None or state.run is None:
            self.last = replace(self.last, at=now, status=status, text=text, socket=socket)
            return self.last
        reward = mean_reward(state)
        self._changed = state.changed
        self.last = EvaluationMoved(
            seq=0,
            at=now,
            index=self.index,
            status=status,
            path=self.last.path,
            socket=socket,
            total=state.total,
            finished=state.finished,
            errored=state.errored,
            running=state.running,
            reward=reward.mean,
            low=reward.low,
            high=reward.high,
            reward_std=reward.std,
            interval_name=reward.interval_name,
            input_tokens=state.usage.tokens_in,
            output_tokens=state.usage.tokens_out,
            cost=state.cost,
            list_price=state.run.list_price,
            elapsed_s=_elapsed(state.run, state.end, now),
            text=text,
            saved=self.last.saved,
            sleeping=state.sleeping,
            cause=state.last_cause,
            again_at=state.next_try_at,
        )
        return self.last


def _elapsed(run: RunStarted, end: RunFinished | None, now: float) -> float:
    """Seconds of work on a run so far."""
    return max((end.at if end is not None else now) - run.at, 0.0) + run.worked_ms / 1000


class SuiteBudget:
    """The budget of a suite. `spent` says why nothing new may begin, and is empty while it may.

    `shared` holds the model calls of all; it is None where there is no limit.

    Args:
        max_cost: US dollars at most; None for no limit.
        max_total_tokens: Tokens at most; None for no limit.
        warn: Called once it is spent.
    """

    def __init__(
        self,
        max_cost: float | None,
        max_total_tokens: int | None,
        evaluations: Sequence[EvaluationStatus],
        warn: Callable[[str], None],
    ) -> None:
        self.spent = ""
        self._evaluations = evaluations
        self._warn = warn
        self.shared: Budget | None = None
        if max_cost is not None or max_total_tokens is not None:
            self.shared = Budget(max_cost, max_total_tokens, self._used, self._exhausted)

    def check(self) -> str:
        """Counts the spending; returns `spent`."""
        if self.spent or self.shared is None:
            return self.spent
        self._exhausted(self.shared.reached())
        return self.spent

    def _exhausted(self, why: str) -> None:
        if why and not self.spent:
            self.spent = why
            self._warn(f"No further calls begin: {why}")

    def _used(self) -> tuple[int, float]:
        for one in self._evaluations:
            if one.hub is not None:
                one.hub.flush()
        every = [one.used() for one in self._evaluations]
        return sum(used[0] for used in every), sum(used[1] for used in every)
