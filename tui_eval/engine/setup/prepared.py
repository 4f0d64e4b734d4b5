"""A run that can begin: what was checked and laid out for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.config.plan import RunPlan
from tui_eval.errors import Notice
from tui_eval.events import RolloutFinished, RunStarted
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import RunLock
from tui_eval.runs.versions import CodeVersion
from tui_eval.token_kinds import Tokens
from tui_eval.worker.digests import version_of
from tui_eval.worker.examples import Examples

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment


@dataclass(slots=True)
class Prepared:
    """A run that can begin.

    Args:
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
        code: What the environment's code is, and `code_number` its number among those of the run.
        env_version: Version of the environment, where one is said.
    """

    plan: RunPlan
    env: Environment
    run: RunDir
    lock: RunLock
    examples: Examples
    started: RunStarted
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
    code: CodeVersion = field(default_factory=CodeVersion)
    code_number: int = 1
    env_version: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.env_version = version_of(self.plan.env_id, Path(self.plan.env_dir_path))

    @property
    def independent(self) -> bool:
        """Whether rollouts are scored one by one whatever the rubric needs."""
        return self.plan.independent_scoring

    @property
    def grouped(self) -> bool:
        """Whether the rollouts of an example are scored together: also for their advantages."""
        if self.independent or not self.env.score_rollouts:
            return False
        return self.env.rubric.scores_in_groups or "advantage" in self.plan.state_columns

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The definitions of the environment's tools, if it has any."""
        return [tool.model_dump() for tool in self.env.tool_defs or []] or None
