"""Environments that answer the model, turn after turn.

Authors override single steps of the loop (`env_response`, stop conditions, `setup_state`), as they
do in verifiers. The loop therefore calls each of them at one place, and whatever they raise ends
this rollout only.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from tui_eval.call_limits import limited, noted
from tui_eval.environments.decorators import stop
from tui_eval.environments.ending import record_error
from tui_eval.environments.environment import Environment
from tui_eval.environments.monitors import MultiTurnMonitorRubric
from tui_eval.errors import OverlongPromptError, must_propagate
from tui_eval.events import Stage
from tui_eval.messages import (
    AssistantMessage,
    Message,
    Messages,
    keep_reasoning_origin,
    normalize_messages,
    to_messages,
)
from tui_eval.state import State
from tui_eval.types import (
    Response,
    ResponseTokens,
    RolloutInput,
    SamplingArgs,
    TrajectoryStep,
    TrajectoryStepTokens,
)

if TYPE_CHECKING:
    from tui_eval.clients import AnyClient


_OF_OURS = frozenset(
    f"tui_eval.environments.{name}" for name in ("multi_turn", "single_turn", "tool_env")
)
"""Modules whose steps of the loop wait for nothing but tools, which say so themselves."""


class MessageReporter:
    """Knows which messages of one rollout its observer has received."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._reported: set[int] = set()
        # A message is known by its identity, so none that was reported may be freed.
        self._kept: Messages = []

    def report(self, messages: Sequence[Message]) -> None:
        """Reports these messages."""
        if messages:
            self._reported.update(map(id, messages))
            self._kept.extend(messages)
            self._state.observer.messages_added(messages)

    def report_new(self, messages: Sequence[Message]) -> Messages:
        """Reports the messages after the last one reported, and returns them.

        A conversation may come back rewritten: shortened, or as new objects that say the same.
        """
        newest = self._kept[-1] if self._kept else None
        start = len(messages)
        while start > 0 and not self._is_known(messages[start - 1], newest):
            start -= 1
        new = list(messages[start:])
        self.report(new)
        return new

    def _is_known(self, message: Message, newest: Message | None) -> bool:
        if id(message) in self._reported:
            return True
        return newest is not None and message.role == newest.role and message == newest


class MultiTurnEnv(Environment):
    """Model and environment speak in turns until a stop condition holds.

    The order is: `setup_state`; then, turn by turn, every stop condition,
    `get_prompt_messages` (which calls `env_response` from the second turn on), the model,
    `add_model_response` (which calls `add_trajectory_step`); at the end cleanup handlers, then
    `render_completion`.

    Args:
        max_turns: Most answers of the model; unlimited where it is not positive.
        kwargs: As for `Environment`.
    """

    def __init__(self, max_turns: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_turns = max_turns
        self.add_rubric(MultiTurnMonitorRubric())
        steps = "setup_state", "get_prompt_messages", "env_response"
        self._has_own_steps = any(
            getattr(type(self), name).__module__ not in _OF_OURS for name in steps
        )

    @abstractmethod
    async def env_response(self, messages: Messages, state: State, **kwargs: Any) -> Any:
        """The environment's next turn: messages, dicts of that shape, or text.

        Setting `state["final_env_response"]` ends the rollout with those messages.
        """

    async def setup_state(self, state: State) -> State | None:
        """Prepares a new rollout; what it returns, if anything, is written into the state."""
        return state

    async def get_prompt_messages(self, state: State) -> Messages:
        """The messages of the next model call: the prompt, then all messages since.

        Raises:
            TypeError: `env_response` returned None, and no `final_env_response` is set.
        """
        if not state["trajectory"]:
            prompt: Messages = state["prompt"]
            return prompt
        last = state["trajectory"][-1]
        conversation = [*last["prompt"], *last["completion"]]
        messages = await noted(state.observer, self.env_response(conversation, state))
        if messages is None:
            if state.get("final_env_response") is None:
                raise TypeError("env_response returned None; return messages, or [] for none")
            messages = []
        return [*conversation, *normalize_messages(messages, field_name="env_response")]

    async def add_model_response(
        self, state: State, prompt_messages: Messages, response: Response
    ) -> None:
        """Takes an answer into the trajectory."""
        message, answer = response.message, answer_message(response)
        tokens = step_tokens(message.tokens, self.max_seq_len)
        is_cut = tokens is not None and bool(tokens["is_truncated"])
        step = TrajectoryStep(
            prompt=prompt_messages,
            completion=[answer],
            response=response,
            tokens=tokens,
            reward=None,
            advantage=None,
            is_truncated=bool(message.is_truncated) or is_cut,
            trajectory_id=state["trajectory_id"],
            extras={},
        )
        await self.add_trajectory_step(state, step)

    async def add_trajectory_step(self, state: State, trajectory_step: TrajectoryStep) -> None:
        """Appends a step to the trajectory."""
        state["trajectory"].append(trajectory_step)

    async def render_completion(self, state: State) -> None:
        """Sets `state["completion"]`: all messages after the prompt.

        Where the rollout ended in an error, messages that the model has not answered are in it.
        """
        conversation: Messages = []
        if state["trajectory"]:
            last = state["trajectory"][-1]
            conversation = [*last["prompt"], *last["completion"]][len(state["prompt"]) :]
        if state.get("final_env_response") is not None:
            conversation += to_messages(state["final_env_response"])
        elif state.get("error") is not None:
            conversation += state.unanswered
        state["completion"] = conversation

    @stop(priority=100)
    async def has_error(self, state: State, **kwargs: Any) -> bool:
        """The rollout has an error."""
        return state.get("error") is not None

    @stop
    async def has_final_env_response(self, state: State) -> bool:
        """The environment has sent its last message."""
        return state.get("final_env_response") is not None

    @stop
    async def max_turns_reached(self, state: State) -> bool:
        """The model has answered as often as it may."""
        return len(state["trajectory"]) >= self.max_turns > 0

    @stop
    async def prompt_too_long(self, state: State) -> bool:
        """The conversation does not fit into the model's context any more."""
        return bool(state.get("prompt_too_long", False))

    @final
    async def rollout(
        self,
        input: RolloutInput,
        client: AnyClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
    ) -> State:
        """Runs a model through one example.

        Whatever people's code raises is recorded as the state's error; cleanup handlers always
        run, on cancellation too, which then propagates.
        """
        state = await self.init_state(input, client, model, sampling_args)
        try:
            try:
                await self._converse(state)
            finally:
                await self.run_cleanup(state)
            await self.render_completion(state)
        except BaseException as error:
            if must_propagate(error):
                raise
            record_error(state, error)
            state["is_completed"] = True
        if state.get("completion") is None:
            state["completion"] = []
        return state

    async def _converse(self, state: State) -> None:
        reporter = MessageReporter(state)
        state.observer.staged(Stage.SETUP)
        prompt = state["prompt"]
        try:
            if self._is_limited(state):
                prepared = await limited(
                    state.observer, "setup_state", "environment", lambda: self.setup_state(state)
                )
            else:
                prepared = await self.setup_state(state)
            if prepared is not None and prepared is not state:
                for key, value in prepared.items():
                    state[key] = value
            state["prompt"] = to_messages(state["prompt"])
        except BaseException as error:
            if must_propagate(error):
                raise
            record_error(state, error)
            state["prompt"] = prompt
        reporter.report(state["prompt"])
        while not await self.is_completed(state):
            try:
                await self._take_turn(state, reporter)
            except OverlongPromptError:
                state["prompt_too_long"] = True
                state["is_truncated"] = True
            except BaseException as error:
                if must_propagate(error):
                    raise
                record_error(state, error)
                reporter.report_new(state.unanswered)

    def _is_limited(self, state: State) -> bool:
        return self._has_own_steps or state.observer.call_timeout is not None

    async def _take_turn(self, state: State, reporter: MessageReporter) -> None:
        state.unanswered = []
        if self._is_limited(state):
            get = functools.partial(self.get_prompt_messages, state)
            messages = await limited(state.observer, "env_response", "environment", get)
        else:
            messages = await self.get_prompt_messages(state)
        prompt = to_messages(messages)
        if state.get("final_env_response") is not None:
            reporter.report_new(to_messages(state["final_env_response"]))
            return
        state.unanswered = reporter.report_new(prompt) if state["trajectory"] else []
        response = await self.get_model_response(state, prompt)
        state.unanswered = []
        turns = len(state["trajectory"])
        await self.add_model_response(state, prompt, response)
        for step in state["trajectory"][turns:]:
            reporter.report(step["completion"])


def answer_message(response: Response) -> AssistantMessage:
    """The message of an answer as it is in a conversation."""
    message = response.message
    answer = AssistantMessage(
        content=message.content,
        reasoning_content=message.reasoning_content,
        thinking_blocks=message.thinking_blocks,
        tool_calls=message.tool_calls,
    )
    if getattr(message, "__pydantic_extra__", None):
        keep_reasoning_origin(message, answer)
    return answer


def step_tokens(
    tokens: ResponseTokens | None, max_seq_len: int | None
) -> TrajectoryStepTokens | None:
    """The token ids of an answer as a step keeps them; None where the endpoint reported none.

    Args:
        max_seq_len: The longest prompt and completion together, in tokens. A prompt that is longer
            alone is cut to it and leaves no completion.
    """
    if tokens is None:
        return None
    limit = max_seq_len or len(tokens.prompt_ids) + len(tokens.completion_ids)
    left = max(limit - len(tokens.prompt_ids), 0)
    return TrajectoryStepTokens(
        prompt_ids=tokens.prompt_ids[:limit],
        prompt_mask=tokens.prompt_mask[:limit],
        completion_ids=tokens.completion_ids[:left],
        completion_mask=tokens.completion_mask[:left],
        completion_logprobs=tokens.completion_logprobs[:left],
        overlong_prompt=len(tokens.prompt_ids) > limit,
        is_truncated=len(tokens.prompt_ids) + len(tokens.completion_ids) > limit,
        routed_experts=tokens.routed_experts,
    )
