"""Environments in which the model calls Python functions."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tui_eval.environments.decorators import stop
from tui_eval.environments.monitors import ToolMonitor
from tui_eval.environments.multi_turn import MultiTurnEnv
from tui_eval.errors import ToolCallError, ToolParseError, must_propagate, nearest
from tui_eval.events import Stage
from tui_eval.messages import Messages, ToolCall, ToolMessage, to_message
from tui_eval.state import State
from tui_eval.tools.schema import tool_from_function, tool_name
from tui_eval.types import Tool, ToolRecord


class UnknownToolError(KeyError):
    """The model called a tool that does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])


def _message_of(error: Exception) -> str:
    return f"{error}"


class ToolEnv(MultiTurnEnv):
    """The model calls tools until it answers without a call.

    Args:
        tools: Functions, plain or async; a model knows them by name, annotations and docstring.
        max_turns: Most answers of the model.
        error_formatter: Makes the text that the model gets to see when a call fails.
        stop_errors: Exceptions that end the rollout as a `ToolCallError` (`ToolParseError` for
            arguments that are no JSON object) instead of being shown to the model.
        kwargs: As for `Environment`.

    Raises:
        TypeError: A function cannot be made a tool.
        ValueError: Two tools have the same name.
    """

    def __init__(
        self,
        tools: Sequence[Callable[..., Any]] | None = None,
        max_turns: int = 10,
        error_formatter: Callable[[Exception], str] = _message_of,
        stop_errors: Sequence[type[Exception]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(max_turns=max_turns, **kwargs)
        self.tools: list[Callable[..., Any]] = []
        self.tool_map: dict[str, Callable[..., Any]] = {}
        self.error_formatter = error_formatter
        self.stop_errors = tuple(stop_errors or ())
        self.tool_monitor = ToolMonitor()
        self.add_rubric(self.tool_monitor)
        for tool in tools or []:
            self.add_tool(tool)

    def add_tool(self, tool: Callable[..., Any]) -> None:
        """Adds a tool for rollouts that begin from now on."""
        self._install(tool, tool_from_function(tool))

    def remove_tool(self, tool: Callable[..., Any]) -> None:
        """Takes a tool away.

        Raises:
            ValueError: There is no such tool.
        """
        name = tool_name(tool)
        if name not in self.tool_map:
            raise ValueError(f"There is no tool named {name!r}. {nearest(name, self.tool_map)}")
        self.tools.remove(self.tool_map.pop(name))
        self.tool_defs = [known for known in self.tool_defs if known.name != name]
        self.tool_monitor.watch(list(self.tool_map))

    def _install(self, tool: Callable[..., Any], definition: Tool) -> None:
        if definition.name in self.tool_map:
            raise ValueError(f"There is a tool named {definition.name!r} already")
        self.tools.append(tool)
        self.tool_map[definition.name] = tool
        self.tool_defs = [*self.tool_defs, definition]
        self.tool_monitor.watch(list(self.tool_map))

    @stop
    async def no_tools_called(self, state: State) -> bool:
        """The model's last message calls no tool."""
        if not state["trajectory"]:
            return False
        last = state["trajectory"][-1]["completion"][-1]
        return last.get("role") == "assistant" and not last.get("tool_calls")

    async def env_response(self, messages: Messages, state: State, **kwargs: Any) -> Any:
        """The results of the calls in the last message, one after the other."""
        results: Messages = []
        # Results of a turn that fails half-way are part of the story too.
        state.unanswered = results
        for call in messages[-1].get("tool_calls") or ():
            results.append(await self._use_tool(call, state))
        return results

    async def call_tool(
        self, tool_name: str, tool_args: dict[str, Any], tool_call_id: str, **kwargs: Any
    ) -> ToolMessage:
        """Calls a tool, and makes a message of what it returns.

        Raises:
            UnknownToolError: There is no such tool.
            Exception: Whatever the tool raises.
        """
        tool = self.tool_map.get(tool_name)
        if tool is None:
            known = ", ".join(self.tool_map) or "none"
            hint = nearest(tool_name, self.tool_map)
            text = f"There is no tool named {tool_name!r}. The tools are: {known}. {hint}"
            raise UnknownToolError(text.strip())
        result = tool(**tool_args)
        if inspect.isawaitable(result):
            result = await result
        return ToolMessage(tool_call_id=tool_call_id, content=to_content(result))

    async def _use_tool(self, call: ToolCall, state: State) -> ToolMessage:
        """One call with its record. Every tool call of a rollout is made here."""
        state.observer.staged(Stage.TOOL)
        failure: BaseException | None = None
        outcome: ToolMessage | Exception
        began = time.perf_counter()
        try:
            answer = await self.call_tool(call.name, _arguments(call), call.id)
            outcome = _as_message(answer, call.id)
        except BaseException as error:
            if must_propagate(error):
                raise
            failure = error
        ms = (time.perf_counter() - began) * 1000
        text = None
        if failure is not None:
            text = f"{type(failure).__name__}: {failure}"
            outcome = self._failed(call, failure)
        state.tool_log.append(ToolRecord(id=call.id, name=call.name, ms=ms, error=text))
        content = None if isinstance(outcome, Exception) else outcome.content
        state.observer.tool_finished(call.id, call.name, ms, text, content)
        if isinstance(outcome, Exception):
            raise outcome from failure
        return outcome

    def _failed(self, call: ToolCall, failure: BaseException) -> ToolMessage | Exception:
        """What a failed call becomes: a message, or the error that ends the rollout."""
        if isinstance(failure, ToolParseError):
            if isinstance(failure, self.stop_errors) or isinstance(
                failure.__cause__, self.stop_errors
            ):
                return ToolParseError(str(failure))
        elif isinstance(failure, self.stop_errors):
            kind = type(failure).__name__
            return ToolCallError(f"Tool {call.name!r} raised {kind}: {failure}")
        try:
            text = str(self.error_formatter(failure))  # type: ignore[arg-type]
        except Exception as error:
            return error
        return ToolMessage(tool_call_id=call.id, content=text)


def to_content(result: Any) -> Any:
    """What a tool returned as the content of a message.

    A list of text and image parts stays one, bytes are read as UTF-8, and anything else becomes
    the text that `str` makes of it.
    """
    if isinstance(result, str):
        return result
    if isinstance(result, (bytes, bytearray)):
        return bytes(result).decode("utf-8", "replace")
    if result and isinstance(result, list) and all(map(_is_part, result)):
        return result
    return str(result)


def _is_part(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") in ("text", "image_url")


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; none at all may also be sent as an empty text."""
    if not call.arguments.strip():
        return {}
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError) as error:
        text = f"The arguments of {call.name!r} are not JSON: {error}"
        raise ToolParseError(text) from error
    if not isinstance(arguments, dict):
        kind = type(arguments).__name__
        raise ToolParseError(f"The arguments of {call.name!r} must be a JSON object, not a {kind}")
    return arguments


def _as_message(answer: Any, call_id: str) -> ToolMessage:
    """What `call_tool` returned as a tool message; people's own version may return less."""
    if isinstance(answer, ToolMessage):
        return answer
    if isinstance(answer, Mapping) and answer.get("role") == "tool":
        message = to_message({"tool_call_id": call_id, **answer})
        assert isinstance(message, ToolMessage)
        return message
    return ToolMessage(tool_call_id=call_id, content=to_content(answer))
