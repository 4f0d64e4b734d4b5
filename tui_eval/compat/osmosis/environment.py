"""The environment in which an agent loop runs the model and eval functions score it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from tui_eval.compat.osmosis.agent_loop import (
    CompletionsResult,
    RolloutAgentLoop,
    RolloutContext,
    RolloutResult,
)
from tui_eval.compat.osmosis.conversation import (
    CURRENT_CONVERSATION,
    Conversation,
    to_dict,
    to_dicts,
    without_prompt,
)
from tui_eval.compat.osmosis.schemas import RolloutMetrics, RolloutRequest
from tui_eval.environments.ending import record_error
from tui_eval.environments.environment import Environment
from tui_eval.environments.monitors import MultiTurnMonitorRubric, ToolMonitorRubric
from tui_eval.environments.multi_turn import step_tokens
from tui_eval.errors import Error, OverlongPromptError, must_propagate
from tui_eval.events import Stage
from tui_eval.messages import keep_reasoning_origin, to_message
from tui_eval.state import State
from tui_eval.types import Response, RolloutInput, SamplingArgs, Tool, TrajectoryStep

if TYPE_CHECKING:
    from tui_eval.clients import AnyClient

DEBUG_VAR = "TUI_EVAL_AGENT_DEBUG"
"""Name of the environment variable with the folder for what agents log, where they may."""

MOST_TOKENS = 4096
"""Most tokens of an agent in a rollout, as the SDK's evaluation passes them to it."""

_TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
# Nothing is served: agents that look at the address of their trainer find one that leads nowhere.
_NOWHERE = "http://local-rollout.local"


class AgentError(Error):
    """An agent reported that its run failed, or did not end it as it must."""


class AgentLoopEnv(Environment):
    """Runs the model through a row by an agent loop; one object serves all rollouts.

    Args:
        agent_loop: The agent.
        max_turns: Passed to the agent; it is the agent that keeps to it.
        kwargs: As for `Environment`.
    """

    def __init__(self, agent_loop: RolloutAgentLoop, max_turns: int = 10, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.agent_loop = agent_loop
        self.max_turns = max_turns
        self._numbers = count()
        self.add_rubric(MultiTurnMonitorRubric())
        self.add_rubric(ToolMonitorRubric())

    async def rollout(
        self,
        input: RolloutInput,
        client: AnyClient,
        model: str,
        sampling_args: SamplingArgs | None = None,
    ) -> State:
        """Runs the agent on one row.

        What the agent raises is the state's error, and so is what it gives as its error; messages
        and tokens so far are kept. A conversation that outgrows the model's context ends as in
        other environments: it is scored as it is.
        """
        state = await self.init_state(input, client, model, sampling_args)
        state.observer.staged(Stage.SETUP)
        prompt = to_dicts(state["prompt"])
        stop_condition = "has_error"
        conversation = Conversation(state, [])
        token = CURRENT_CONVERSATION.set(conversation)
        try:
            request = self._request(state, prompt)
            conversation.read(request.messages)
            result = await self._run(state, conversation, request)
            stop_condition = self._take_result(state, conversation, result)
        except OverlongPromptError:
            stop_condition = "prompt_too_long"
            state[stop_condition] = state["is_truncated"] = True
        except BaseException as error:
            if must_propagate(error):
                raise
            record_error(state, error)
        finally:
            CURRENT_CONVERSATION.reset(token)
        conversation.close()
        if state.get("completion") is None:
            state["completion"] = without_prompt(conversation.messages, state["prompt"])
        await self.end_rollout(state, stop_condition)
        return state

    async def _run(self, state: State, conversation: Conversation, request: RolloutRequest) -> Any:
        tools = self.agent_loop.get_tools(request)
        state["tool_defs"] = read_tools(tools)
        llm = RolloutModel(self, state, conversation)
        debug_dir = os.environ.get(DEBUG_VAR) or None
        context = RolloutContext(request, list(tools or ()), llm, _debug_dir=debug_dir)
        return await self.agent_loop.run(context)

    def _request(self, state: State, prompt: list[dict[str, Any]]) -> RolloutRequest:
        row, number = state["example_id"], getattr(state.observer, "number", next(self._numbers))
        columns = (state.get("info") or {}).get("columns") or {}
        truth = {} if state.get("answer") is None else {"ground_truth": state["answer"]}
        metadata = {
            **columns,
            **truth,
            "row_index": row,
            "run_index": number,
            "execution_mode": "eval",
        }
        return RolloutRequest(
            rollout_id=f"eval-{row}-run-{number}",
            server_url=_NOWHERE,
            messages=prompt,
            completion_params=requested_sampling(state),
            max_turns=self.max_turns,
            max_tokens_total=MOST_TOKENS,
            metadata=metadata,
        )

    def _take_result(self, state: State, conversation: Conversation, result: Any) -> str:
        """Takes over how the agent's run ended, a stop condition; `AgentError` where it failed."""
        if not isinstance(result, RolloutResult):
            what = f"run() of the agent loop returned a {type(result).__name__}"
            raise AgentError(f"{what}; return ctx.complete(messages) or ctx.error(text)")
        if result.final_messages:
            final = conversation.read(result.final_messages)
            state["completion"] = without_prompt(final, state["prompt"])
        if result.status != "COMPLETED":
            raise AgentError(result.error_message or f"the agent gave the status {result.status}")
        state["final_messages"] = result.final_messages
        return str(result.finish_reason)


class RolloutModel:
    """The model of one rollout, as its agent calls it: through the run's client, gate and slots."""

    def __init__(self, env: AgentLoopEnv, state: State, conversation: Conversation) -> None:
        self._env = env
        self._state = state
        self._conversation = conversation

    async def chat_completions(
        self, messages: Sequence[dict[str, Any]], **kwargs: Any
    ) -> CompletionsResult:
        """The model's answer to a whole conversation.

        Args:
            kwargs: Sampling parameters; they win over those of the run. `tools` is in place
                of the agent's, `model` in place of the run's.

        Raises:
            tui_eval.Error: The call failed, also when tried again.
        """
        state = self._state
        prompt = self._conversation.read(messages)
        tools = read_tools(kwargs.pop("tools")) if kwargs.get("tools") else None
        kwargs.pop("tools", None)
        model = kwargs.pop("model", None)
        sampling_args = {**(state["sampling_args"] or {}), **kwargs}
        response = await self._env.get_model_response(
            state, prompt, model=model, tool_defs=tools, sampling_args=sampling_args
        )
        answer = to_dict(_as_message(response))
        self._conversation.answered(answer)
        state["trajectory"].append(self._step(prompt, answer, response))
        return _as_result(answer, response)

    def get_metrics(self) -> RolloutMetrics:
        """The metrics of the calls so far."""
        steps = self._state.steps
        return RolloutMetrics(
            llm_latency_ms=sum(step["model_ms"] for step in steps),
            num_llm_calls=len(steps),
            prompt_tokens=sum(step["input_tokens"] for step in steps),
            response_tokens=sum(step["output_tokens"] for step in steps),
        )

    def _step(self, prompt: list[Any], answer: dict[str, Any], response: Response) -> Any:
        return TrajectoryStep(
            prompt=prompt,
            completion=[to_message(answer)],
            response=response,
            tokens=step_tokens(response.message.tokens, self._env.max_seq_len),
            reward=None,
            advantage=None,
            is_truncated=bool(response.message.is_truncated),
            trajectory_id=self._state["trajectory_id"],
            extras={},
        )


def read_tools(tools: Any) -> list[Tool]:
    """Tools of the SDK's schemas or such dicts; `AgentError` says which cannot be used, and why."""
    return [_read_tool(tool, place) for place, tool in enumerate(tools or ())]


def _read_tool(tool: Any, place: int) -> Tool:
    data = tool.model_dump(exclude_none=True) if hasattr(tool, "model_dump") else tool
    function = data.get("function") if isinstance(data, Mapping) else None
    if not isinstance(function, Mapping):
        raise AgentError(f"Tool validation error: tool {place} has no function")
    name = function.get("name")
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        what = f"the name of tool {place} is {name!r}; it must be letters, digits and _"
        raise AgentError(f"Tool validation error: {what}")
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        what = f"the parameters of {name!r} must have the type 'object'"
        raise AgentError(f"Tool validation error: {what}")
    return Tool(
        name=name,
        description=function.get("description") or "",
        parameters=dict(parameters),
        strict=function.get("strict"),
    )


def requested_sampling(state: State) -> dict[str, Any]:
    """The sampling parameters that somebody set, without what every run has."""
    requested = dict(state["sampling_args"] or {})
    requested.pop("n", None)
    if not requested.get("extra_body"):
        requested.pop("extra_body", None)
    return requested


def _as_message(response: Response) -> Any:
    message = response.message
    fields = ("content", "reasoning_content", "thinking_blocks", "tool_calls")
    sent = to_message({"role": "assistant", **{name: message.get(name) for name in fields}})
    keep_reasoning_origin(message, sent)
    return sent


def _as_result(answer: dict[str, Any], response: Response) -> CompletionsResult:
    message, usage = response.message, response.usage
    tokens = message.tokens
    return CompletionsResult(
        message=answer,
        token_ids=list(tokens.completion_ids) if tokens else [],
        logprobs=list(tokens.completion_logprobs) if tokens else [],
        usage=usage.model_dump() if usage else {},
        finish_reason=message.finish_reason or "stop",
    )
