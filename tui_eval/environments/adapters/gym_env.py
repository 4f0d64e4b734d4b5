"""Environments with `reset` and `step`, as gymnasium and gym define them, played in messages."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from tui_eval.environments.datasets.example_table import as_dataset
from tui_eval.environments.decorators import cleanup, stop
from tui_eval.environments.multi_turn import MultiTurnEnv
from tui_eval.install_commands import extra_command
from tui_eval.messages import Messages, UserMessage, text_of
from tui_eval.parsers.parser import Parser
from tui_eval.rubrics.rubric import Rubric
from tui_eval.state import State

Maker: TypeAlias = Callable[..., Any]
ResetOut: TypeAlias = Any
"""The result of `reset`: the observation, or a tuple of observation and info."""
StepOut: TypeAlias = (
    tuple[Any, float, bool, bool, dict[str, Any]] | tuple[Any, float, bool, dict[str, Any]]
)
"""The result of `step`, in its newer and its older form."""

UNLIMITED = 1000
"""Answers of an episode whose steps nobody limits."""
OVER = "Episode already ended."
"""Put under the last observation."""

# Marks the rows that were made here: their question is an observation, of an episode of this seed.
_SEED = "gym_seed"


class StepResetEnv(Protocol):
    """The methods of an environment class; `close` is called where there is one."""

    def reset(self, *, seed: int) -> Any:
        """Begins an episode; returns the observation, or a tuple of observation and info."""

    def step(self, action: Any) -> Any:
        """Takes an action.

        Returns:
            (observation, reward, terminated, truncated, info), or the older (observation, reward,
            done, info).
        """


class EpisodicSumRubric(Rubric):
    """The reward is the sum of the rewards of all steps.

    Args:
        weight: The weight of the sum.
        kwargs: As for `Rubric`, but for `funcs` and `weights`.
    """

    def __init__(self, weight: float = 1.0, **kwargs: Any) -> None:
        super().__init__(funcs=[sum_step_rewards], weights=[weight], **kwargs)


def sum_step_rewards(state: State) -> float:
    """The sum of the rewards of all steps; a step without one counts nothing."""
    return float(sum(step.get("reward") or 0.0 for step in state["trajectory"]))


class GymEnv(MultiTurnEnv):
    """The model plays episodes of a step and reset environment.

    Every rollout has an instance of its own, which is made, reset, stepped and closed on one thread
    of its own. Each answer is an action: its step's reward goes to `state["trajectory"][-1]
    ["reward"]`, its info to `["extras"]["gym_info"]`. `state["gym_done"]` says whether the episode
    has ended: the model sees the last observation, answers once more, and that ends the rollout
    (`is_done`). An action that `action_parser` cannot read ends the episode too, and the model is
    shown why. What the environment itself raises is the rollout's error.

    Args:
        env_cls: Makes an instance: a class, a function, or the id of a gymnasium environment.
        env_kwargs: Given to `env_cls`.
        action_parser: Makes an action of what `parser` takes out of an answer, or else of its text;
            without it, it is that text.
        obs_to_text: Makes a text of an observation; without it, `str` does. A subclass may define
            a method of this name instead.
        num_train_episodes, num_eval_episodes: Numbers of rows where no dataset is given.
            A row's question is the first observation, its answer the seed.
        max_episode_steps: Most answers of one episode, of which the last is not played; 1000 where
            it is None.
        seed: Seed of the first training episode; each further one, and then those for evaluation,
            have the next.
        env_maker: Another name for `env_cls`.
        rubric: An `EpisodicSumRubric` by default.
        system_prompt, few_shot, parser, message_type, kwargs: As for `Environment`. With datasets
            of one's own, the seed is `info["seed"]`, or else the answer, or else `seed` plus the
            `example_id`.

    Raises:
        TypeError: Neither `env_cls` nor `env_maker` is given.
        ImportError: `env_cls` is an id, and gymnasium is not installed.
    """

    def __init__(
        self,
        env_cls: Maker | str | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        action_parser: Callable[[str], Any] | None = None,
        obs_to_text: Callable[[Any], str] | None = None,
        num_train_episodes: int = 1000,
        num_eval_episodes: int = 20,
        max_episode_steps: int | None = None,
        seed: int = 0,
        system_prompt: str | None = None,
        few_shot: Sequence[Any] | None = None,
        parser: Parser | None = None,
        rubric: Rubric | None = None,
        message_type: str = "chat",
        env_maker: Maker | str | None = None,
        **kwargs: Any,
    ) -> None:
        maker = env_cls if env_cls is not None else env_maker
        if maker is None:
            raise TypeError("GymEnv needs an env_cls: a class, a function, or a gymnasium id")
        self.env_cls = _gymnasium_maker(maker) if isinstance(maker, str) else maker
        self.env_kwargs = dict(env_kwargs or {})
        self.num_train_episodes = num_train_episodes
        self.num_eval_episodes = num_eval_episodes
        self.message_type = message_type
        self.seed = seed
        if action_parser is not None:
            self.action_parser = action_parser  # type: ignore[assignment, method-assign]
        self.obs_to_text_fn = obs_to_text
        kwargs |= self._datasets(kwargs, num_train_episodes, num_eval_episodes)
        if rubric is None:
            rubric = EpisodicSumRubric() if parser is None else EpisodicSumRubric(parser=parser)
        super().__init__(
            rubric=rubric,
            system_prompt=system_prompt,
            few_shot=few_shot,
            parser=parser,
            message_type=message_type,
            **{"max_turns": max_episode_steps or UNLIMITED, **kwargs},
        )

    def action_parser(self, text: str) -> Any:
        """Makes an action of the text of an answer."""
        return text

    def obs_to_text(self, obs: Any) -> str:
        """Makes a text of an observation."""
        return str(obs) if self.obs_to_text_fn is None else self.obs_to_text_fn(obs)

    def wrap_response(self, text: str) -> Messages:
        """The messages that say what is seen."""
        return [UserMessage(content=text)]

    def gym_to_hf(self) -> tuple[Any, Any]:
        """The rows of the training episodes and of those for evaluation, None where there are none.

        Returns:
            Hugging Face `Dataset`s where `datasets` is installed, else tables.
        """
        train, evaluation = self.num_train_episodes, self.num_eval_episodes
        rows = self._rows(self.seed, train), self._rows(self.seed + train, evaluation)
        return as_dataset(rows[0]), as_dataset(rows[1]) if rows[1] else None

    async def setup_state(self, state: State) -> State | None:
        """Makes an instance and begins the episode; the prompt ends with its first observation."""
        state["gym_done"] = False
        state["gym_truncated"] = False
        # One thread an instance: many are bound to the thread that made them.
        thread = state["gym_thread"] = ThreadPoolExecutor(1, thread_name_prefix="gym")
        out = await _on(thread, self._begin, state)
        obs, state["gym_info"] = normalize_reset(out)
        first = UserMessage(content=self.obs_to_text(obs))
        prompt: Messages = state["prompt"]
        if not prompt or prompt[-1].role not in ("user", "text"):
            prompt.append(first)
        elif _SEED in (state.get("info") or {}):
            prompt[-1] = first
        return state

    async def env_response(self, messages: Messages, state: State, **kwargs: Any) -> Any:
        """Takes the step that the last answer requests, and returns the next observation."""
        try:
            action = self.action_parser(self._answer_in(messages))
        except Exception as error:
            state["gym_done"] = True
            state["trajectory"][-1]["reward"] = 0.0
            return self.wrap_response(f"Action Parsing Error: {error}")
        return self.wrap_response(await self._step(action, state))

    def _answer_in(self, messages: Messages) -> str:
        found = self.parser.parse_answer(messages)
        return text_of(messages[-1].get("content")) if found is None else found

    @stop
    async def max_turns_reached(self, state: State) -> bool:
        """The model has answered as often as it may; its last answer is played too."""
        if not await super().max_turns_reached(state):
            return False
        if type(self).env_response is GymEnv.env_response:
            last = state["trajectory"][-1]
            await self.env_response([*last["prompt"], *last["completion"]], state)
        return True

    @stop
    async def is_done(self, state: State) -> bool:
        """Whether the episode has ended, and the model has seen it."""
        return bool(state.get("gym_done"))

    def _begin(self, state: State) -> Any:
        gym = state["gym_env"] = self.env_cls(**self.env_kwargs)
        return _reset(gym, self._seed_of(state))

    async def _step(self, action: Any, state: State) -> str:
        out = await _on(state["gym_thread"], state["gym_env"].step, action)
        obs, reward, terminated, truncated, info = normalize_step(out)
        state["gym_done"] = terminated or truncated
        state["gym_truncated"] = truncated
        last = state["trajectory"][-1]
        last["reward"] = reward
        last["extras"]["gym_info"] = info
        seen = self.obs_to_text(obs)
        return f"{seen}\n{OVER}" if state["gym_done"] else seen

    @cleanup
    async def cleanup_env(self, state: State) -> None:
        """Closes the rollout's instance."""
        thread = state.pop("gym_thread", None)
        if thread is not None:
            try:
                await _on(thread, lambda: _close(state.pop("gym_env", None)))
            finally:
                thread.shutdown(wait=False)

    def _seed_of(self, row: Mapping[str, Any]) -> int:
        info = row.get("info") or {}
        for value in (info.get(_SEED), info.get("seed"), row.get("answer")):
            if isinstance(value, int | str) and str(value).lstrip("-").isdigit():
                return int(value)
        return self.seed + int(row["example_id"])

    def _datasets(self, kwargs: Mapping[str, Any], train: int, evaluation: int) -> dict[str, Any]:
        """The datasets that are missing, and those that were given but lack their questions."""
        made: dict[str, Any] = {}
        sources = {name: kwargs.get(name) for name in ("dataset", "eval_dataset")}
        if sources["dataset"] is None and train > 0:
            made["dataset"] = partial(self._rows, self.seed, train)
        if not any(source is not None for source in sources.values()) and evaluation > 0:
            made["eval_dataset"] = partial(self._rows, self.seed + train, evaluation)
        for name, source in sources.items():
            if source is None or callable(source) or isinstance(source, str | Path):
                continue
            if any(row.get("prompt") == [] for row in source):
                made[name] = partial(self._with_questions, source)
        return made

    def _rows(self, first: int, count: int) -> list[dict[str, Any]]:
        """Rows of episodes, one a seed."""
        seeds = range(first, first + count)
        return self._with_questions({"answer": str(seed), "info": {}} for seed in seeds)

    def _with_questions(self, source: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Rows that have no messages get the first observation of their episode for a question."""
        key = "prompt" if self.message_type == "completion" else "question"
        gym = self.env_cls(**self.env_kwargs)
        rows = []
        try:
            for place, given in enumerate(source):
                row = {"example_id": place, **given}
                rows.append(row)
                if not row.get("prompt") and not row.get("question"):
                    seed = self._seed_of(row)
                    obs, _ = normalize_reset(_reset(gym, seed))
                    row.pop("prompt", None)
                    row |= {key: self.obs_to_text(obs), "info": {**(row.get("info") or {})}}
                    row["info"][_SEED] = seed
        finally:
            _close(gym)
        return rows


def _gymnasium_maker(env_id: str) -> Maker:
    try:
        import gymnasium
    except ImportError as error:
        raise ImportError(
            f"The environment {env_id!r} needs the package gymnasium: {extra_command('gym')}"
        ) from error

    return partial(gymnasium.make, env_id)


async def _on(thread: ThreadPoolExecutor, func: Callable[..., Any], *args: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(thread, func, *args)


def _reset(gym: Any, seed: int) -> Any:
    """Begins an episode, with the seed where `reset` takes one."""
    try:
        parameters = inspect.signature(gym.reset).parameters
    except (TypeError, ValueError):
        return gym.reset(seed=seed)
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return gym.reset(seed=seed) if takes_any or "seed" in parameters else gym.reset()


def _close(gym: Any) -> None:
    if callable(getattr(gym, "close", None)):
        gym.close()


def normalize_reset(out: Any) -> tuple[Any, Any]:
    """Observation and info of a reset that may return the observation alone."""
    if isinstance(out, tuple) and len(out) == 2:
        return out
    return out, {}


def normalize_step(out: Any) -> tuple[Any, float, bool, bool, Any]:
    """A step's result in its newer form.

    Raises:
        TypeError: It is not a tuple of four or five.
    """
    if isinstance(out, tuple | list) and len(out) in (4, 5):
        obs, reward, terminated, *truncated, info = out
        return obs, float(reward), bool(terminated), any(truncated), info
    got = f"{len(out)} values" if isinstance(out, tuple | list) else type(out).__name__
    raise TypeError(
        f"step() returned {got}; it returns (observation, reward, terminated, truncated, info) "
        "or (observation, reward, done, info)"
    )
