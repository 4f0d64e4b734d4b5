"""Several environments as one: their examples one after the other, each run by its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.environments.environment import Environment
from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.rubrics.rubric import Rubric
from tui_eval.rubrics.rubric_group import add_scores_of
from tui_eval.state import State
from tui_eval.types import RolloutInput, SamplingArgs

if TYPE_CHECKING:
    from tui_eval.clients import AnyClient


class EnvGroup(Environment):
    """Environments that are run as one; a rollout belongs to the one that its task names.

    The examples are those of all members, one after the other, with `task` the member's name,
    `example_id` counted from 0, and the id that an example had before as `src_id`. A member that
    is a group itself has tasks such as `outer/inner`. Members' datasets are read when the group's
    are needed. Where a member has no evaluation examples its training examples are used; members
    without training examples are left out of the group's. Where all are Hugging Face `Dataset`s,
    `get_dataset` and `get_eval_dataset` give one of all. A run reads each member's rows as they
    are: in one column for all, the keys of `info` would be those of every member.

    Prompts, tools, `sampling_args`, stop conditions, cleanup and rubric are the member's own;
    sampling arguments of the group and of the caller go over the member's. A rollout has the
    metrics of its member only: a mean over the group counts the rollouts that have the metric.

    Args:
        envs: At least one. The same environment may be under several names.
        env_names: One for each, `env_0`, `env_1`, ... by default; `names` is the same.
        map_kwargs, kwargs: As for `Environment`, without datasets and rubric. `pass_threshold` is
            that of the members by default, where they agree.

    Raises:
        ValueError: There are no environments, not as many names, or names that are not distinct.
    """

    def __init__(
        self,
        envs: Sequence[Environment],
        env_names: Sequence[str] | None = None,
        map_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.envs = list(envs)
        self.env_names = [f"env_{place}" for place in range(len(self.envs))]
        env_names = kwargs.pop("names", env_names)
        if env_names is not None:
            self.env_names = list(env_names)
        _check_names(self.envs, self.env_names)
        self.env_map = dict(zip(self.env_names, self.envs, strict=True))
        threshold = self.envs[0].pass_threshold
        if all(env.pass_threshold == threshold for env in self.envs):
            kwargs.setdefault("pass_threshold", threshold)
        super().__init__(
            dataset=self._training_rows if self._has_training() else None,
            eval_dataset=self._evaluation_rows,
            rubric=EnvGroupRubric(self.env_map),
            map_kwargs=map_kwargs,
            **kwargs,
        )
        self._example_sets.parts = [env._example_sets for env in self.members]
        # Without the defaults of every environment, which would hide the members' own.
        self.sampling_args = dict(kwargs.get("sampling_args") or {})
        if self.max_seq_len is not None:
            self.set_max_seq_len(self.max_seq_len)

    def get_env_for_task(self, task: str) -> Environment:
        """The environment that runs rollouts of a task.

        Raises:
            ValueError: The group has no such task.
        """
        env, inner = self.route(task)
        return env.get_env_for_task(inner) if isinstance(env, EnvGroup) else env

    def route(self, task: Any) -> tuple[Environment, str]:
        """The member that a task names, and what the task is called there.

        Raises:
            ValueError: The group has no such task.
        """
        return route(self.env_map, task)

    @property
    def tasks(self) -> list[str]:
        """The tasks of all members, in order."""
        return tasks_of(self.env_map)

    @property
    def members(self) -> list[Environment]:
        """Every environment once, however many names it has."""
        return list({id(env): env for env in self.envs}.values())

    # Settings

    def set_kwargs(self, **kwargs: Any) -> None:
        """Sets attributes of the group and of every member, as `Environment.set_kwargs` does."""
        super().set_kwargs(**kwargs)
        for env in self.members:
            env.set_kwargs(**kwargs)

    def set_max_seq_len(self, max_seq_len: int | None) -> None:
        """Sets the longest sequence, in tokens, of the group and of every member."""
        super().set_max_seq_len(max_seq_len)
        for env in self.members:
            env.set_max_seq_len(max_seq_len)

    def set_score_rollouts(self, score_rollouts: bool) -> None:
        """Turns scoring on or off for the group and for every member."""
        super().set_score_rollouts(score_rollouts)
        for env in self.members:
            env.set_score_rollouts(score_rollouts)

    def set_system_prompt(self, system_prompt: str | None) -> None:
        """Puts another system prompt before every prompt of every member."""
        self.system_prompt = system_prompt
        for env in self.members:
            env.set_system_prompt(system_prompt)
        self._read_members_again()

    def set_few_shot(self, few_shot: Sequence[Any] | None) -> None:
        """Puts other messages before every question of every member."""
        self.few_shot = list(few_shot or [])
        for env in self.members:
            env.set_few_shot(few_shot)
        self._read_members_again()

    # Rollouts

    async def rollout(
        self,
        input: RolloutInput,
        client: AnyClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
    ) -> State:
        """Has the member that the input's task names run a model through the example.

        Raises:
            ValueError: The group has no such task.
        """
        task = input.get("task")
        env, inner = self.route(task)
        values: Any = {**input, "task": inner}
        merged = {**env.sampling_args, **(sampling_args or {})}
        state = await env.rollout(values, client, model, merged)
        if inner != task:
            state["task"] = task
        return state

    async def run_teardown(self) -> list[BaseException]:
        """Runs the teardown handlers of the group and of all members at the same time.

        Returns:
            What they raised.
        """
        everyone = [super().run_teardown(), *(env.run_teardown() for env in self.members)]
        raised: list[BaseException] = []
        for result in await asyncio.gather(*everyone, return_exceptions=True):
            raised += [result] if isinstance(result, BaseException) else result
        return raised

    # Examples

    def _has_training(self) -> bool:
        return any(env.has_training for env in self.members)

    def _training_rows(self) -> list[dict[str, Any]]:
        return self.rows(lambda env: env.training_table() or ())

    def _evaluation_rows(self) -> list[dict[str, Any]]:
        return self.rows(lambda env: env.eval_table())

    def rows(self, table_of: Callable[[Environment], Iterable[Any]]) -> list[dict[str, Any]]:
        """The rows of all members as the group has them.

        Args:
            table_of: Gives a member's rows, ready to run.

        Raises:
            RefusedError: With every fault of every member's dataset, by the member's name.
        """
        rows: list[dict[str, Any]] = []
        faults: list[Fault] = []
        for name, env in self.env_map.items():
            try:
                for row in table_of(env):
                    task = f"{name}/{row['task']}" if isinstance(env, EnvGroup) else name
                    row = {**row, "task": task, "src_id": row.get("src_id", row["example_id"])}
                    rows.append({**row, "example_id": len(rows)})
            except RefusedError as error:
                faults += [Fault(f"{name}: {f.where}", f.what, f.hint) for f in error.faults]
        if faults:
            raise RefusedError(faults)
        return rows

    def _read_members_again(self) -> None:
        self.dataset = self._training_rows if self._has_training() else None
        self.eval_dataset = self._evaluation_rows


class EnvGroupRubric(Rubric):
    """Scores each rollout with the rubric of the environment that its task names.

    Functions of its own, added to it later, score all rollouts. A member that does not score its
    rollouts (`score_rollouts`) does not score them here either. `all_reward_names` are those of
    all functions of all environments, sorted.
    """

    def __init__(self, env_map: Mapping[str, Environment]) -> None:
        super().__init__()
        self.env_map = env_map
        names = (env.rubric.get_reward_func_names() for env in env_map.values())
        self.all_reward_names = sorted({name for some in names for name in some})

    def _get_reward_func_names(self) -> list[str]:
        return self.all_reward_names

    @property
    def has_group_funcs(self) -> bool:
        """Whether any environment needs all rollouts of an example together."""
        return super().has_group_funcs or any(one.has_group_funcs for one in self._rubrics())

    @property
    def scores_in_groups(self) -> bool:
        """Whether any environment scores rollouts together unless each is requested alone."""
        return super().has_group_funcs or any(one.scores_in_groups for one in self._rubrics())

    def _rubrics(self) -> Iterator[Rubric]:
        return (env.rubric for env in self.env_map.values() if env.score_rollouts)

    async def add_scores(self, states: list[State], alone: bool) -> None:
        """Runs the rubrics on states that were made ready, and adds to what they have."""
        await super().add_scores(states, alone)
        for task in dict.fromkeys(state.get("task") for state in states):
            env, inner = route(self.env_map, task)
            theirs = [state for state in states if state.get("task") == task]
            if not env.score_rollouts:
                continue
            try:
                for state in theirs:
                    state["task"] = inner
                await add_scores_of(env.rubric, theirs, alone)
            finally:
                for state in theirs:
                    state["task"] = task


def route(env_map: Mapping[str, Environment], task: Any) -> tuple[Environment, str]:
    """The environment that a task names, and what the task is called there.

    Raises:
        ValueError: There is none.
    """
    env = env_map.get(task)
    if env is not None and not isinstance(env, EnvGroup):
        return env, task
    for name, member in env_map.items():
        if isinstance(member, EnvGroup) and str(task).startswith(f"{name}/"):
            return member, str(task).removeprefix(f"{name}/")
    known = tasks_of(env_map)
    raise ValueError(
        f"This group has no environment for the task {task!r}. "
        f"Its tasks are: {', '.join(known)}. {nearest(str(task), known)}".strip()
    )


def tasks_of(env_map: Mapping[str, Environment]) -> list[str]:
    """The tasks of all environments, in order."""
    return [
        task
        for name, env in env_map.items()
        for task in (
            [f"{name}/{inner}" for inner in env.tasks] if isinstance(env, EnvGroup) else [name]
        )
    ]


def _check_names(envs: list[Environment], names: list[str]) -> None:
    if not envs:
        raise ValueError("EnvGroup requires at least one environment")
    if len(names) != len(envs):
        counts = f"{len(names)} names for {len(envs)} environments"
        raise ValueError(f"Number of env_names must match number of envs: {counts}")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"The name {name!r} is in env_names twice; each may be there once")
