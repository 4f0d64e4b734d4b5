"""A run that is prepared, and can begin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.config.plan import RunPlan
from tui_eval.engine.transport.worker import Worker
from tui_eval.errors import Notice
from tui_eval.events import RolloutFinished, RunStarted
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import RunLock
from tui_eval.token_kinds import Tokens
from tui_eval.worker.description.info import EnvironmentInfo
from tui_eval.worker.examples import Examples, Places

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment


class LoadedHere(NamedTuple):
    """An environment in this process, with the inputs of the rollouts."""

    env: Environment
    examples: Examples


@dataclass(slots=True)
class Prepared:
    """A run that can begin.

    Args:
        info: The description of its environment, and `loaded` that itself with the inputs of its
            rollouts, where this process has them; `worker` is the one that has them otherwise.
        done: Rows that are on disk already.
        todo: Places of the rollouts to generate, in order.
        journal: Generated rollouts that wait for their score, by place.
        answers: Those of rollouts that were cut short, by place, in their order.
        saved_members: Rows of rollouts that are on disk, of groups that are not complete.
        lost: Tokens of earlier attempts of rollouts that are not done, by place.
        again: Places of the errored rollouts that alone are to run; None for all that is left.
        time_before_ms: How long earlier sessions worked on the run.
        notices: Sentences for people.
        sampling_args: Parameters of every model call, as the environment and the plan have them.
        code_number: That of the environment's code among those of the run.
    """

    plan: RunPlan
    info: EnvironmentInfo
    run: RunDir
    lock: RunLock
    examples: Places
    started: RunStarted
    loaded: LoadedHere | None = None
    worker: Worker | None = None
    done: list[RolloutFinished] = field(default_factory=list)
    todo: list[int] = field(default_factory=list)
    journal: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    saved_members: dict[int, dict[str, Any]] = field(default_factory=dict)
    lost: dict[int, Tokens] = field(default_factory=dict)
    again: list[int] | None = None
    time_before_ms: float = 0.0
    notices: list[Notice] = field(default_factory=list)
    sampling_args: dict[str, Any] = field(default_factory=dict)
    code_number: int = 1

    @property
    def grouped(self) -> bool:
        """Whether the rollouts of an example are scored together: also for their advantages."""
        if self.plan.independent_scoring or not self.info.is_scored:
            return False
        return self.info.scores_in_groups or "advantage" in self.plan.state_columns

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The definitions of the environment's tools, if it has any."""
        if self.loaded is None:
            return self.info.tools
        return [tool.model_dump() for tool in self.loaded.env.tool_defs or []] or None
