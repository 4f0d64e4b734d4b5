"""The settings that all rollouts of a run share, and the rows made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tui_eval import clock
from tui_eval.config.plan import RunPlan
from tui_eval.environments.one_rollout import Propagates, broken_state
from tui_eval.errors import nearest
from tui_eval.runs.row import COLUMN_NAMES, SCHEMA_KEYS, build_row
from tui_eval.runs.row_places import tokens_object
from tui_eval.state import State
from tui_eval.token_kinds import Tokens
from tui_eval.worker.examples import Examples
from tui_eval.worker.ports import CallGuard

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment
    from tui_eval.worker.rollout_observer import RolloutObserver


class Work(msgspec.Struct, frozen=True):
    """The common settings of a run's rollouts.

    Args:
        timeout: Seconds that one rollout may be generated; None for any time.
        call_timeout: Seconds that one call of people's code may take; None for any time.
        columns: Keys of the state that are saved with each row.
        seen: Notes which of them there are.
        grouped: Rollouts of an example are scored together.
        score_at_end: Generated rollouts are kept in `Rollouts.generated` and not scored yet.
        propagates: Whether an exception of people's code is raised instead of recorded.
        out_of_budget: Whether nothing new may begin.
        is_fatal: Whether a rollout's error ends the run; it has no row then.
        lost, answers: See `Prepared`.
        guard_of: The guard that lets a rollout's model calls through as they fit into a budget;
            None where there is none.
        code: The number of the version of the code among those of the run, from 1.
    """

    env: Environment
    examples: Examples
    model: str
    sampling_args: dict[str, Any]
    max_retries: int
    timeout: float | None
    call_timeout: float | None
    columns: list[str]
    seen: ColumnsSeen
    grouped: bool
    score_at_end: bool
    propagates: Propagates
    out_of_budget: Callable[[], bool]
    is_fatal: Callable[[State], bool] = lambda state: False
    lost: Mapping[int, Tokens] = msgspec.field(default_factory=dict)
    answers: dict[int, list[dict[str, Any]]] = msgspec.field(default_factory=dict)
    guard_of: Callable[[int], CallGuard | None] = lambda row: None
    code: int = 1

    @classmethod
    def of_plan(cls, plan: RunPlan, env: Environment, **others: Any) -> Work:
        """Settings of a plan, and `others`, by the names of the fields."""
        return cls(
            env=env,
            model=plan.model,
            max_retries=plan.max_retries,
            timeout=plan.timeout,
            call_timeout=plan.call_timeout,
            columns=plan.state_columns,
            score_at_end=plan.score_at_end,
            **others,
        )

    def row_of(self, observer: RolloutObserver, state: State) -> dict[str, Any]:
        """The row of a finished rollout; an errored one where none can be made of the state."""
        number, attempt = observer.number, observer.attempt
        try:
            row = build_row(state, number=number, attempt=attempt, columns=self.columns)
        except Exception as error:
            broken = broken_state(self.examples.input(observer.row), error, clock.now())
            row = build_row(broken, number=number, attempt=attempt)
        self.seen.look(state)
        ours = row["tui_eval"]
        if observer.output is not None:
            ours["output"] = str(observer.output)
        if observer.lost_input or observer.lost_output:
            lost = observer.lost_input, observer.lost_output, *observer.lost_kinds
            ours["lost_usage"] = tokens_object(lost)
        if self.code > 1:
            ours["code"] = self.code
        if self.examples.groups:
            ours["row"] = observer.row
        return row


class ColumnsSeen:
    """Requested columns that states of finished rollouts had; errored ones do not count.

    Args:
        columns: Those that were requested; those of every row are always there.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self.unseen = [name for name in columns if name not in SCHEMA_KEYS | COLUMN_NAMES]
        self.keys: set[str] = set()

    def look(self, state: State) -> None:
        """Takes in the state of a finished rollout."""
        if not self.unseen or state.get("error") is not None:
            return
        metrics = state.get("metrics")
        every = [*state, *(metrics if isinstance(metrics, Mapping) else ())]
        self.keys = {name for name in every if isinstance(name, str)}
        self.unseen = [name for name in self.unseen if name not in self.keys]

    def join(self, unseen: Iterable[str], keys: Iterable[str]) -> None:
        """Takes in the columns that another one has seen."""
        left = set(unseen)
        self.unseen = [name for name in self.unseen if name in left]
        self.keys = set(keys)

    def missing(self) -> dict[str, str]:
        """The columns that no state had, each with the nearest key as a sentence or nothing."""
        if not self.keys:
            return {}
        return {name: nearest(name, self.keys, most=1) for name in self.unseen}
