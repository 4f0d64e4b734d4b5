"""Environments that live in a server of the OpenEnv kind, launched here."""

from __future__ import annotations

import inspect
import logging
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tui_eval import cuts
from tui_eval.environments.adapters import mcp_sdk
from tui_eval.environments.adapters.gym_env import EpisodicSumRubric
from tui_eval.environments.adapters.openenv_project import read_project
from tui_eval.environments.adapters.openenv_server import OpenEnvServers, StartSettings
from tui_eval.environments.adapters.openenv_session import (
    InvalidActionError,
    OpenEnvSession,
    Outcome,
    read_action,
    wanted_action,
)
from tui_eval.environments.decorators import cleanup, stop, teardown
from tui_eval.environments.multi_turn import MultiTurnEnv
from tui_eval.environments.tool_calls import read_arguments
from tui_eval.errors import Fault, RefusedError, ToolError, ToolParseError, traceback_text
from tui_eval.events import Stage
from tui_eval.messages import Messages, ToolCall, ToolMessage, UserMessage, text_of, to_messages
from tui_eval.rubrics.rubric import Rubric
from tui_eval.state import State
from tui_eval.types import ToolRecord

logger = logging.getLogger(__name__)

OpenEnvEpisodicSumRubric = EpisodicSumRubric

_RENDERER_KEYWORDS = ("context", "action_schema", "contract", "seed")


class OpenEnvEnv(MultiTurnEnv):
    """The model acts in an OpenEnv project, whose server is launched on this machine.

    A row of the dataset is a seed: `info["seed"]`. Its prompt only names the seed; when a rollout
    begins, a server is reset with it, and what `prompt_renderer` makes of that observation becomes
    `state["prompt"]`. So nothing is launched before a rollout needs it. Each rollout has a server
    to itself, which the next one gets when it ends.

    With the contract `gym`, the model's text is an action: a JSON object, in a code fence or not,
    or the bare text where an action has a single text field. With `mcp`, the server's tools are
    offered to the model, and its calls are the actions, taken one after the other. The reward of an
    action goes to `state["trajectory"][-1]["reward"]`. What is no action, or is refused by the
    server's validation, is reported to the model, with what an action looks like. Anything else
    that goes wrong with a server is a `SandboxError` of the rollout. The last action that
    `max_turns` allows is taken too.

    Keywords of verifiers' version that concern its remote sandboxes
    (`wait_for_creation_max_attempts`, `max_retries`, `base_delay`, `backoff_factor`,
    `max_backoff_seconds`, `jitter`) are accepted and have no effect.

    Args:
        openenv_project: The project's folder, with its `.build.json`; by default `proj` beside the
            module that calls this. A relative one is relative to the working directory.
        num_train_examples, num_eval_examples: How many seeds, from `seed` on: first those to train
            on, then those to evaluate on.
        prompt_renderer: Makes messages of an observation:
            `(observation, *, context, action_schema, contract, seed)`, of which it is given those
            keywords that it takes. `context` is `reset` or `step`. It may be async.
        max_turns: Most answers of the model; unlimited where it is not positive.
        rubric: By default the reward is the sum of the steps' rewards.
        startup_timeout_seconds: From the launch of a server until it says that it is healthy.
        startup_poll_interval_seconds: Longest pause between two looks at `/health`.
        health_request_timeout_seconds, schema_request_timeout_seconds: For one such request.
        message_timeout_seconds: For one reset or step.
        environment_vars: Variables for the server, which otherwise sees `PATH`, `HOME`, the
            language and the like, `HOST` and `PORT`, and none of this process's keys.
        max_servers: Most servers at once; other rollouts wait for one.
        max_invalid_actions: So many in a row end the rollout, without an error.
        kwargs: As for `MultiTurnEnv`.

    Raises:
        RefusedError: The project cannot be launched, or there is no `prompt_renderer`; carries
            every fault.
    """

    def __init__(
        self,
        openenv_project: str | Path | None = None,
        num_train_examples: int = 100,
        num_eval_examples: int = 50,
        seed: int = 0,
        prompt_renderer: Callable[..., Any] | None = None,
        max_turns: int = -1,
        rubric: Rubric | None = None,
        startup_timeout_seconds: float = 30.0,
        startup_poll_interval_seconds: float = 1.0,
        health_request_timeout_seconds: float = 2.0,
        schema_request_timeout_seconds: float = 5.0,
        message_timeout_seconds: float = 60.0,
        environment_vars: Mapping[str, str] | None = None,
        max_servers: int = 8,
        max_invalid_actions: int = 3,
        **kwargs: Any,
    ) -> None:
        if openenv_project is None:
            openenv_project = _folder_of_caller() / "proj"
        project, faults = read_project(Path(openenv_project).expanduser().resolve())
        if not callable(prompt_renderer):
            hint = "Give a function that makes messages of an observation"
            faults.append(Fault("prompt_renderer", f"it is {prompt_renderer!r}", hint))
        if project is None or prompt_renderer is None or faults:
            raise RefusedError(faults)
        middle = seed + num_train_examples
        super().__init__(
            max_turns=max_turns,
            rubric=rubric if rubric is not None else EpisodicSumRubric(),
            dataset=_rows(seed, middle),
            eval_dataset=_rows(middle, middle + num_eval_examples),
            **kwargs,
        )
        self.openenv_project = project.folder
        self.contract = project.contract
        self.prompt_renderer = prompt_renderer
        self.num_train_examples = num_train_examples
        self.num_eval_examples = num_eval_examples
        self.seed = seed
        self.startup_timeout_seconds = startup_timeout_seconds
        self.startup_poll_interval_seconds = startup_poll_interval_seconds
        self.health_request_timeout_seconds = health_request_timeout_seconds
        self.schema_request_timeout_seconds = schema_request_timeout_seconds
        self.message_timeout_seconds = message_timeout_seconds
        self.max_invalid_actions = max_invalid_actions
        self._renderer_keywords = _keywords_of(prompt_renderer)
        settings = StartSettings(
            timeout=startup_timeout_seconds,
            poll_interval=startup_poll_interval_seconds,
            health_timeout=health_request_timeout_seconds,
            schema_timeout=schema_request_timeout_seconds,
            variables=dict(environment_vars or {}),
        )
        self._servers = OpenEnvServers(project, settings, max_servers)

    # One episode

    async def setup_state(self, state: State) -> State:
        """Resets a server with the row's seed; the prompt and the tools come from it.

        Raises:
            SandboxError: There is no server, or it cannot reset.
            ValueError: The row has no seed, or the renderer gave no messages.
        """
        seed = (state.get("info") or {}).get("seed")
        if type(seed) is not int:
            raise ValueError(f"The row's info has no whole number as its 'seed': {seed!r}")
        server = await self._servers.acquire()
        try:
            session, outcome = await OpenEnvSession.begin(
                server, seed, self.message_timeout_seconds
            )
        except BaseException:
            await self._servers.release(server, reusable=False)
            raise
        state["openenv_session"] = session
        state["openenv_done"] = outcome.done
        state["openenv_invalid_actions"] = 0
        messages = await self._render(state, outcome.observation, "reset")
        state["prompt"] = self.prompt_rules().prompt_of({"prompt": messages})
        if self.contract == "mcp":
            state["tool_defs"] = await session.list_tools()
        return state

    @cleanup
    async def cleanup_openenv(self, state: State) -> None:
        """Gives the server back; one that still owes an answer ends."""
        session: OpenEnvSession | None = state.pop("openenv_session", None)
        if session is None:
            return
        reusable = False
        try:
            await session.close()
            reusable = session.is_clean
        finally:
            await self._servers.release(session.server, reusable)

    @teardown
    async def teardown_server(self) -> None:
        """Ends every server."""
        await self._servers.end_all()

    # One turn

    async def env_response(self, messages: Messages, state: State, **kwargs: Any) -> Messages:
        """Takes the model's action, and says what came of it.

        Raises:
            SandboxError: It could not be taken.
        """
        step = state["trajectory"][-1]
        if step["reward"] is None:
            step["reward"] = 0.0
        act = self._act if self.contract == "gym" else self._call_tools
        answer = await act(messages, state)
        state["openenv_turns"] = len(state["trajectory"])
        endings = (self.openenv_done, self.max_turns_reached, self.too_many_invalid_actions)
        if any([await ends(state) for ends in endings]):
            state["final_env_response"] = answer
        return answer

    async def _act(self, messages: Messages, state: State) -> Messages:
        session: OpenEnvSession = state["openenv_session"]
        schema = session.server.action_schema
        try:
            outcome = await session.step(read_action(text_of(messages[-1].content), schema))
        except InvalidActionError as error:
            state["openenv_invalid_actions"] += 1
            return [UserMessage(content=f"This is no action: {error}. {wanted_action(schema)}")]
        state["openenv_invalid_actions"] = 0
        self._take(state, outcome)
        try:
            return await self._render(state, outcome.observation, "step")
        except Exception:
            # Many a renderer has nothing to say of an episode's end, which nobody reads.
            if not outcome.done:
                raise
            logger.debug("the renderer failed at the end of an episode", exc_info=True)
            return []

    async def _call_tools(self, messages: Messages, state: State) -> Messages:
        results: Messages = []
        # Results of a turn that fails half-way are part of the trajectory too.
        state.unanswered = results
        for call in messages[-1].get("tool_calls") or ():
            results.append(await self._call_tool(call, state))
            if state["openenv_done"]:
                break
        return results

    async def _call_tool(self, call: ToolCall, state: State) -> ToolMessage:
        """One call with its record."""
        state.observer.staged(Stage.TOOL)
        session: OpenEnvSession = state["openenv_session"]
        content: Any = None
        record = ToolRecord(id=call.id, name=call.name, ms=0.0, error=None)
        began = time.perf_counter()
        try:
            arguments = _arguments_of(call)
            action = {"type": "call_tool", "tool_name": call.name, "arguments": arguments}
            outcome = await session.step(action)
            self._take(state, outcome)
            content, record["error"] = self._tool_result(outcome.observation, session)
        except (ToolError, InvalidActionError) as refused:
            content = str(refused)
            record["error"] = f"{type(refused).__name__}: {refused}"
        except BaseException as raised:
            record["error"] = f"{type(raised).__name__}: {raised}"
            record["traceback"] = traceback_text(raised)
            raise
        finally:
            record["ms"] = (time.perf_counter() - began) * 1000
            state.tool_log.append(record)
            state.observer.tool_finished(record, content)
        return ToolMessage(tool_call_id=call.id, content=content)

    def _tool_result(self, observation: Any, session: OpenEnvSession) -> tuple[Any, str | None]:
        """The content of a tool message, and the error that it reports, if any."""
        try:
            failed = observation.get("error")
            if failed:
                return failed["message"], f"{failed['error_type']}: {failed['message']}"
            result = observation["result"]
            content = mcp_sdk.content_of(
                SimpleNamespace(
                    content=[_fields(part) for part in result["content"]],
                    structured_content=result.get("structured_content"),
                )
            )
            return content, str(content) if result.get("is_error") else None
        except (AttributeError, KeyError, TypeError) as error:
            what = f"a tool call led to no tool result: {cuts.head(str(observation), 200)}"
            raise session.server.fault(what) from error

    def _take(self, state: State, outcome: Outcome) -> None:
        state["trajectory"][-1]["reward"] += outcome.reward
        state["openenv_done"] = outcome.done

    async def _render(self, state: State, observation: Any, context: str) -> Messages:
        known = {
            "context": context,
            "action_schema": state["openenv_session"].server.action_schema,
            "contract": self.contract,
            "seed": state["info"]["seed"],
        }
        wanted = {name: known[name] for name in self._renderer_keywords}
        rendered = self.prompt_renderer(observation, **wanted)
        if inspect.isawaitable(rendered):
            rendered = await rendered
        messages = to_messages(rendered or [])
        if not messages:
            raise ValueError(f"prompt_renderer gave no messages for the observation of a {context}")
        return messages

    # How an episode ends

    @stop(priority=10)
    async def openenv_done(self, state: State) -> bool:
        """The server says that the episode is over."""
        return bool(state.get("openenv_done"))

    @stop(priority=10)
    async def mcp_no_tool_calls(self, state: State) -> bool:
        """The model's last message calls no tool, and only calls are actions."""
        if self.contract != "mcp" or not state["trajectory"]:
            return False
        return not state["trajectory"][-1]["completion"][-1].get("tool_calls")

    @stop(priority=5)
    async def max_turns_reached(self, state: State) -> bool:
        """The model has answered as often as it may, and its last action was taken."""
        return bool(state.get("openenv_turns", 0) >= self.max_turns > 0)

    @stop(priority=5)
    async def too_many_invalid_actions(self, state: State) -> bool:
        """The model does not find out what an action is."""
        return bool(state.get("openenv_invalid_actions", 0) >= self.max_invalid_actions > 0)


def _rows(first: int, end: int) -> list[dict[str, Any]] | None:
    """One row a seed, or None where there are no seeds."""
    rows = [
        {
            "prompt": [{"role": "user", "content": f"(the first observation of seed {seed})"}],
            "info": {"seed": seed},
        }
        for seed in range(first, end)
    ]
    return rows or None


def _keywords_of(renderer: Callable[..., Any]) -> tuple[str, ...]:
    """The keywords that a renderer takes."""
    try:
        parameters = inspect.signature(renderer).parameters
    except ValueError:  # some functions written in C have none
        return ()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return _RENDERER_KEYWORDS
    return tuple(name for name in _RENDERER_KEYWORDS if name in parameters)


def _folder_of_caller() -> Path:
    """The folder of the module that makes an environment; a subclass counts as such."""
    frame = sys._getframe(2)
    return Path(frame.f_globals.get("__file__") or "").resolve().parent


def _fields(value: Any) -> Any:
    """A JSON object, and those inside of it, with attributes."""
    if not isinstance(value, Mapping):
        return value
    return SimpleNamespace(**{name: _fields(item) for name, item in value.items()})


def _arguments_of(call: ToolCall) -> dict[str, Any]:
    try:
        return read_arguments(call)
    except ValueError as error:
        raise ToolParseError(f"The arguments of {call.name!r} are not JSON: {error}") from error
