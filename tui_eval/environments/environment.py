"""The base of every environment: examples, a rubric, and the state and model calls of a rollout.

Names and arguments are those of verifiers, as authors derive from this class and override any of
its methods; what they do not override is in its base classes. All model calls of a rollout go
through `get_model_response`: pausing, limits, the journal and the count of tokens are there once,
and hold for every kind of environment.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.call_limits import uncounted
from tui_eval.clients.base import name_of_call
from tui_eval.clock import now
from tui_eval.environments.author_logs import apply_log_level_variable
from tui_eval.environments.datasets.example_sets import ExampleSets, HasExamples
from tui_eval.environments.datasets.json_copy import copy_data
from tui_eval.environments.datasets.rows import Source
from tui_eval.environments.direct_rollouts import ClientCache, DirectRollouts
from tui_eval.environments.ending import Ending, expect_teardown, expect_teardown_of_used
from tui_eval.environments.evaluation import Evaluating
from tui_eval.environments.usage import StateUsageTracker, count_usage, record_step, usage_tracker
from tui_eval.errors import InvalidModelResponseError
from tui_eval.events import Stage
from tui_eval.messages import Messages, to_messages
from tui_eval.model_names import is_same_model
from tui_eval.observer import CLOCK, CURRENT, CallClock
from tui_eval.parsers.parser import Parser
from tui_eval.rubrics.rubric import Rubric
from tui_eval.rubrics.rubric_group import RubricGroup
from tui_eval.state import State
from tui_eval.tools.schema import to_tools
from tui_eval.types import Response, RolloutInput, SamplingArgs, TokenUsage, Tool

if TYPE_CHECKING:
    from tui_eval.clients import AnyClient
    from tui_eval.types import State


logger = logging.getLogger(__name__)


class Environment(HasExamples, Ending, Evaluating, DirectRollouts, ABC):
    """Examples, and how a model is run through one of them and scored.

    Plain functions of authors (tools, `update_tool_args`, stop conditions, cleanup handlers) run in
    threads, where they see the caller's context variables, so that none of them holds up other
    rollouts; async ones, setup and teardown on the event loop.

    `dataset` and `eval_dataset` are the rows ready to run, or None; `logger` is the author's to
    use. `replayable` is False where a rollout that was cut short has to restart; others are run
    with the answers of the journal to where they were. Teardown handlers run when the interpreter
    exits, at the latest: those of an environment that has run no rollout only if something still
    holds it.

    Args:
        dataset, eval_dataset: A list of dicts, the path of a JSONL file, a Hugging Face
            `Dataset`, or a function that returns one of these, called once, when it is needed.
            A row has `question` or `prompt`, and optionally `answer`, `info`, `task` and
            `example_id`.
        system_prompt: Put before every prompt that does not begin with one.
        few_shot: Messages between the system prompt and the question.
        parser: Takes answers out of completions; gives texts as they are by default.
        rubric: Scores the rollouts; one without functions by default.
        sampling_args: For every model call, unless the caller says otherwise.
        message_type: Kept as an attribute; the client decides between chat and completions.
        tool_defs: Tools that the model may call: `Tool` objects or dicts of that shape.
        max_workers: Kept as an attribute; nothing is limited by it.
        env_id, env_args: Its id and arguments, for its rows and metadata.
        map_kwargs: For Hugging Face's `map`, when the rows of a `Dataset` are made ready.
        max_seq_len: Longest sequence in tokens; the token ids of a longer turn are cut there.
        score_rollouts: Whether the rubric is called at all.
        pass_threshold: The reward from which on a rollout counts as passed.
        thread_safe: False where the plain functions of this environment must not run beside
            others of that kind; see `thread_safe`, the decorator of a single one.
        kwargs: Become attributes.

    Raises:
        ValueError: No dataset is given, or the tools have another provider's shape.
        RefusedError: A dataset cannot be read; carries every fault.
    """

    replayable: bool = True

    def __init__(
        self,
        dataset: Source | None = None,
        eval_dataset: Source | None = None,
        system_prompt: str | None = None,
        few_shot: Sequence[Any] | None = None,
        parser: Parser | None = None,
        rubric: Rubric | None = None,
        sampling_args: SamplingArgs | None = None,
        message_type: str = "chat",
        tool_defs: Sequence[Tool | Mapping[str, Any]] | None = None,
        max_workers: int = 512,
        env_id: str | None = None,
        env_args: dict[str, Any] | None = None,
        map_kwargs: dict[str, Any] | None = None,
        max_seq_len: int | None = None,
        score_rollouts: bool = True,
        pass_threshold: float = 0.5,
        thread_safe: bool | None = None,
        **kwargs: Any,
    ) -> None:
        apply_log_level_variable()
        if "oai_tools" in kwargs:
            raise ValueError("`oai_tools` is no longer supported; give the tools as `tool_defs`")
        self.system_prompt = system_prompt
        self.few_shot = list(few_shot or [])
        self.parser = parser if parser is not None else Parser()
        self.rubric = rubric if rubric is not None else Rubric()
        kind: Any = type(self.rubric)
        if not issubclass(kind, Rubric):
            name = kind.__name__
            raise TypeError(f"'rubric' is a {name}, not a Rubric: functions go into Rubric([...])")
        if parser and rubric and type(parser) is not type(rubric.parser):
            logger.warning("The environment's parser and its rubric's parser are not the same")
        self.sampling_args: SamplingArgs = {"n": 1, "extra_body": {}, **(sampling_args or {})}
        self.message_type = message_type
        self.tool_defs: list[Tool] = to_tools(tool_defs or [])
        self.max_workers = max_workers
        self.env_id = env_id or ""
        self.env_args = dict(env_args or {})
        self.map_kwargs = dict(map_kwargs or {})
        self.max_seq_len = max_seq_len
        self.score_rollouts = score_rollouts
        self.pass_threshold = pass_threshold
        self.rollouts_per_example: int | None = None
        _warn_of_typos(type(self), kwargs)
        for name, value in kwargs.items():
            setattr(self, name, value)
        self.logger = logging.getLogger(f"{__name__}.{type(self).__name__}")
        rules = self.prompt_rules()
        self._example_sets = ExampleSets(dataset, eval_dataset, rules, self.map_kwargs)
        self._client_cache = ClientCache()
        if thread_safe is not None:
            self.thread_safe = thread_safe
        self._answering_models = AnsweringModels()
        self.find_handlers()
        if self._teardown_handlers:
            expect_teardown(self)

    # Settings

    def set_kwargs(self, **kwargs: Any) -> None:
        """Sets attributes, through `set_<name>` where there is such a method."""
        for name, value in kwargs.items():
            setter = getattr(self, f"set_{name}", None)
            if callable(setter):
                setter(value)
            else:
                setattr(self, name, value)

    def set_max_seq_len(self, max_seq_len: int | None) -> None:
        """Sets the longest sequence, in tokens."""
        self.max_seq_len = max_seq_len

    def set_score_rollouts(self, score_rollouts: bool) -> None:
        """Turns scoring on or off."""
        self.score_rollouts = score_rollouts

    def add_rubric(self, rubric: Rubric) -> None:
        """Adds a rubric to those that score already."""
        known = self.rubric.rubrics if type(self.rubric) is RubricGroup else [self.rubric]
        self.rubric = RubricGroup([*known, rubric])

    # One rollout

    @abstractmethod
    async def rollout(
        self,
        input: RolloutInput,
        client: AnyClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
    ) -> State:
        """Runs a model through one example; the state is complete but for its scores."""

    async def init_state(
        self,
        input: RolloutInput,
        client: AnyClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
    ) -> State:
        """A new state for one row, which is copied; its clock starts now.

        Args:
            input: A row that is ready to run; its `prompt` may be text, its `info` JSON text.
            client: A client, a config or an SDK's client; see `Environment.generate`.
            sampling_args: Parameters of every model call; the environment's own are not added.

        Raises:
            ValueError: `info` is no JSON, or names tools in another provider's shape.
        """
        if self._teardown_handlers:
            expect_teardown_of_used(self)
        row = {key: copy_data(value) for key, value in input.items()}
        row["prompt"] = to_messages(row["prompt"])
        info = row.get("info")
        if isinstance(info, str):
            info = row["info"] = json.loads(info)
        if not row.get("task"):
            row["task"] = self.env_id or "default"
        usage = StateUsageTracker()
        state = State(
            input=row,
            client=self._client_cache.resolve(client),
            model=model,
            sampling_args=sampling_args,
            is_completed=False,
            is_truncated=False,
            tool_defs=self._tools_of(info),
            trajectory=[],
            completion=None,
            usage_tracker=usage,
            usage=usage.usage,
            trajectory_id=secrets.token_hex(16),
            reward=None,
            advantage=None,
            metrics=None,
            error=None,
            stop_condition=None,
            final_env_response=None,
            timing={
                "start_time": now(),
                "generation_ms": 0.0,
                "scoring_ms": 0.0,
                "total_ms": 0.0,
            },
        )
        state.observer = CURRENT.get()
        state.began = time.perf_counter()
        state.observer.began(state)
        return state

    def _tools_of(self, info: Any) -> list[Tool]:
        if not isinstance(info, Mapping):
            return list(self.tool_defs)
        if "oai_tools" in info:
            raise ValueError("info['oai_tools'] is no longer supported; use info['tool_defs']")
        own = info.get("tool_defs")
        return list(self.tool_defs) if own is None else to_tools(own)

    async def get_model_response(
        self,
        state: State,
        prompt: Messages,
        client: AnyClient | None = None,
        model: str | None = None,
        tool_defs: list[Tool] | None = None,
        sampling_args: SamplingArgs | None = None,
    ) -> Response:
        """Calls the model, once the gate is open. Every model call of a rollout is made here.

        What is not given is taken from the state.

        Raises:
            TypeError: `tool_defs` holds something other than `Tool` objects.
            Error: As the client raises it.
        """
        with uncounted():
            model = model or state["model"]
            tools = state["tool_defs"] if tool_defs is None else tool_defs
            _check_tools(tools)
            args = (state["sampling_args"] or {}) if sampling_args is None else sampling_args
            prompt = to_messages(prompt)
            observer = state.observer
            observer.staged(Stage.MODEL)
            call = observer.recorded_call(prompt, model, args, tools)
            if call is None or call.answer is None:
                one = state["client"] if client is None else self._client_cache.resolve(client)
                request = one, prompt, model, tools, args
                response, model_ms = await self._model_answer(state, *request)
                if call is not None:
                    await call.keep(response, model_ms)
            else:
                await asyncio.sleep(0)  # others are replayed, too
                response, model_ms = call.answer
                state.began -= model_ms / 1000
                observer.model_answered(*record_step(state, response, now(), model_ms))
            if response.model != model:
                self._answering_models.note(state, model, response.model)
            return response

    async def _model_answer(
        self,
        state: State,
        client: AnyClient,
        prompt: Messages,
        model: str,
        tools: list[Tool],
        sampling_args: SamplingArgs,
    ) -> tuple[Response, float]:
        """An answer of the model, and after how many milliseconds it came."""
        observer = state.observer
        ended = await observer.model_call(model, sampling_args, tools)
        started, clock = now(), CallClock()
        CLOCK.set(clock)
        try:
            with observer.waits_for(name_of_call(client)):
                response: Response = await client.get_response(
                    prompt, model, sampling_args, tools=tools or None, state=state
                )
            model_ms = (time.perf_counter() - clock.began) * 1000
            observer.model_answered(*record_step(state, response, started, model_ms))
            return response, model_ms
        except InvalidModelResponseError as error:
            observer.answer_refused(*count_usage(state, error.usage))
            raise
        finally:
            if ended is not None:
                ended()

    def get_state_usage(self, state: State) -> TokenUsage | None:
        """The tokens that a rollout has used, or None where no answer reported any."""
        return usage_tracker(state).snapshot()

    def increment_state_usage(
        self, state: State, input_tokens: float = 0, output_tokens: float = 0
    ) -> None:
        """Adds tokens of a call that the environment made by itself.

        Raises:
            ValueError: A number is below 0.
        """
        usage_tracker(state).increment(input_tokens, output_tokens)

    def increment_state_usage_from_response(self, state: State, response: object) -> None:
        """Adds the tokens of an answer of any SDK; nothing where it does not say."""
        usage_tracker(state).increment_from_response(response)


def _check_tools(tools: list[Tool]) -> None:
    for tool in tools:
        if not isinstance(tool, Tool):
            raise TypeError(f"tool_defs holds a {type(tool).__name__}; it takes Tool objects")


def resolve_client(client_or_config: Any) -> AnyClient:
    """`tui_eval.clients.resolve_client`; a test that replaces it here replaces runs' clients."""
    from tui_eval import clients

    return clients.resolve_client(client_or_config)


def _warn_of_typos(kind: type[Environment], names: Iterable[str]) -> None:
    """Arguments that nobody took become attributes; says which look like one with a typo."""
    if not names:
        return
    known = {
        name
        for owner in kind.__mro__
        for name in getattr(vars(owner).get("__init__"), "__annotations__", ())
    }
    for name in names:
        meant = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        if meant and name not in known:
            what = "%s has no argument %r, so it becomes an attribute. Did you mean %s?"
            logger.warning(what, kind.__name__, name, meant[0])


class AnsweringModels:
    """Notes on steps who answered them, and warns of each name once."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, str]] = set()

    def note(self, state: State, requested: str, answered: str) -> None:
        """Writes the name that an answer gives into its step, the last one of a rollout.

        A snapshot of the model that was requested is kept too; only another model is a warning.
        """
        if not answered:
            return
        state.steps[-1]["model"] = answered
        state.models[answered] = state.models.get(answered, 0) + 1
        if (requested, answered) not in self._reported:
            self._reported.add((requested, answered))
            level = logging.INFO if is_same_model(requested, answered) else logging.WARNING
            logger.log(level, "%s was requested, and %s answered", requested, answered)
