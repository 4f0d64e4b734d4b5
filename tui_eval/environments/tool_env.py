"""Environments in which the model calls Python functions."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tui_eval.call_limits import limited, noted
from tui_eval.environments import recorded_results
from tui_eval.environments.author_errors import message_of
from tui_eval.environments.decorators import stop
from tui_eval.environments.monitors import ToolMonitorRubric
from tui_eval.environments.multi_turn import MultiTurnEnv
from tui_eval.environments.tool_calls import (
    UnknownToolError,
    Use,
    as_tool_message,
    call_in_turn,
    one_by_one,
    read_arguments,
    to_content,
    together,
)
from tui_eval.errors import (
    CallTimeoutError,
    ToolCallError,
    ToolError,
    ToolParseError,
    is_raised_here,
    must_propagate,
    nearest,
    traceback_text,
)
from tui_eval.events import Stage
from tui_eval.messages import Messages, ToolMessage, fields_of
from tui_eval.observer import CURRENT
from tui_eval.open_files import is_out_of_files
from tui_eval.output import CALL
from tui_eval.plain_calls.threads import TooManyLeftBehindError
from tui_eval.state import State
from tui_eval.tools.parameters import call_by_name, hidden_names, tool_name
from tui_eval.tools.schema import tool_from_function
from tui_eval.types import Tool, ToolRecord


class ToolEnv(MultiTurnEnv):
    """The model calls tools until it answers without a call.

    Args:
        tools: Functions, plain or async; a model knows them by name, annotations and docstring.
            Async ones run on the event loop, plain ones in threads (see `Environment`).
        max_turns: Most answers of the model.
        error_formatter: Makes what the model gets to see when a call fails: text, or text and
            image parts.
        stop_errors: Exceptions that end the rollout as a `ToolCallError` instead of being shown to
            the model; as a `ToolParseError` those of arguments that are no JSON object, which are
            of the kinds `JSONDecodeError` and `ValueError`.
        concurrent_tool_calls: Whether the calls of one turn run at the same time, instead of one
            after the other.
        kwargs: As for `Environment`.

    Raises:
        TypeError: A function cannot be made a tool.
        ValueError: Two tools have the same name.
    """

    def __init__(
        self,
        tools: Sequence[Callable[..., Any]] | None = None,
        max_turns: int = 10,
        error_formatter: Callable[[Any], Any] = message_of,
        stop_errors: Sequence[type[Exception]] | None = None,
        concurrent_tool_calls: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(max_turns=max_turns, **kwargs)
        self.tools: list[Callable[..., Any]] = []
        self.tool_map: dict[str, Callable[..., Any]] = {}
        self.skipped_args: dict[str, list[str]] = {}
        self.error_formatter = error_formatter
        self.stop_errors: Any = tuple(stop_errors or ())
        self.concurrent_tool_calls = concurrent_tool_calls
        self.tool_monitor_rubric = ToolMonitorRubric()
        self.add_rubric(self.tool_monitor_rubric)
        for tool in tools or []:
            self.add_tool(tool)

    def add_tool(self, tool: Callable[..., Any]) -> None:
        """Adds a tool for rollouts that begin from now on.

        Raises:
            TypeError: The function cannot be made a tool.
            ValueError: There is a tool of that name already.
        """
        self._install(tool, tool_from_function(tool), hidden_names(tool))

    def remove_tool(self, tool: Callable[..., Any]) -> None:
        """Takes a tool away.

        Raises:
            ValueError: There is no such tool.
        """
        name = tool_name(tool)
        if name not in self.tool_map:
            raise ValueError(self._no_such_tool(name))
        self.tools.remove(self.tool_map.pop(name))
        self.skipped_args.pop(name, None)
        self.tool_defs = [known for known in self.tool_defs if known.name != name]
        self.tool_monitor_rubric.remove_tool_metric(name)

    def _install(
        self, tool: Callable[..., Any], definition: Tool, hidden: Sequence[str] = ()
    ) -> None:
        """Adds a tool; what a model sends under a hidden name never reaches it."""
        if definition.name in self.tool_map:
            raise ValueError(f"There is a tool named {definition.name!r} already")
        self.tools.append(tool)
        self.tool_map[definition.name] = tool
        self.skipped_args[definition.name] = list(hidden)
        self.tool_defs = [*self.tool_defs, definition]
        self.tool_monitor_rubric.add_tool_metric(definition.name)

    @stop
    async def no_tools_called(self, state: State) -> bool:
        """The model's last message calls no tool."""
        if not (trajectory := state["trajectory"]):
            return False
        last = fields_of(trajectory[-1]["completion"][-1])
        return last.get("role") == "assistant" and not last.get("tool_calls")

    async def env_response(self, messages: Messages, state: State, **kwargs: Any) -> Any:
        """The results of the calls in the last message, in the order of the calls.

        Raises:
            ToolCallError, ToolParseError: A call failed with one of the `stop_errors`: the first
                in order. Results that there are by then stay part of the conversation.
        """
        uses = [Use(call) for call in messages[-1].get("tool_calls") or ()]

        def make(use: Use) -> Awaitable[None]:
            return self._use_tool(use, messages, state, **kwargs)

        way = together if len(uses) > 1 and self.concurrent_tool_calls else one_by_one
        try:
            await way(uses, make)
        finally:
            state.tool_log += [use.record for use in uses if use.record is not None]
            state.unanswered = [use.message for use in uses if use.message is not None]
        return state.unanswered

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
            raise UnknownToolError(self._no_such_tool(tool_name))
        plain = self.plain_functions.of(tool, tool_name)
        if plain is None:
            result = call_by_name(tool, tool_args)
        else:
            result = await call_in_turn(plain, functools.partial(call_by_name, tool, tool_args))
        if inspect.isawaitable(result):
            result = await noted(CURRENT.get(), result)
        return ToolMessage(tool_call_id=tool_call_id, content=to_content(result))

    def _no_such_tool(self, name: str) -> str:
        known = ", ".join(self.tool_map) or "none"
        hint = nearest(name, self.tool_map)
        return f"There is no tool named {name!r}. The tools are: {known}. {hint}".strip()

    def _should_stop_for_error(self, err: BaseException) -> bool:
        return isinstance(err, tuple(self.stop_errors))

    def _has_own_call_tool(self) -> bool:
        return getattr(self.call_tool, "__func__", None) is not ToolEnv.call_tool

    async def _arguments(
        self, use: Use, messages: Messages, state: State, **kwargs: Any
    ) -> dict[str, Any]:
        """The arguments of a tool: those that the model sent, but for hidden ones."""
        sent = read_arguments(use.call)
        use.is_read = True
        for name in self.skipped_args.get(use.call.name, ()):
            sent.pop(name, None)
        return sent

    async def _use_tool(self, use: Use, messages: Messages, state: State, **kwargs: Any) -> None:
        """One call with its record. Every tool call of a rollout is made here."""
        call = use.call
        state.observer.staged(Stage.TOOL)
        failure: BaseException | None = None
        outcome: ToolMessage | Exception
        CALL.set(use)
        began = time.perf_counter()
        try:
            outcome = await limited(
                state.observer,
                f"Tool {call.name!r}",
                "tool",
                lambda: self._outcome(use, messages, state, **kwargs),
            )
        except BaseException as error:
            if must_propagate(error):
                raise
            failure = error
        finally:
            CALL.set(None)
        ms = (time.perf_counter() - began) * 1000
        record = ToolRecord(id=call.id, name=call.name, ms=ms, error=None)
        if failure is not None:
            outcome = self._note_failure(use, record, failure)
        if use.output is not None:
            record["output"] = str(use.output)
        use.record = record
        use.message = None if isinstance(outcome, Exception) else outcome
        content = None if use.message is None else use.message.content
        state.observer.tool_finished(record, content)
        if outcome is failure:
            raise outcome
        if isinstance(outcome, Exception):
            raise outcome from failure

    async def _outcome(
        self, use: Use, messages: Messages, state: State, **kwargs: Any
    ) -> ToolMessage:
        """The message of a call; it is not made again where its tool is declared so."""
        call, arguments = use.call, await self._arguments(use, messages, state, **kwargs)
        if not recorded_results.is_recorded(self.tool_map.get(call.name)):
            return as_tool_message(await self.call_tool(call.name, arguments, call.id), call.id)

        async def make() -> dict[str, Any]:
            made = await self.call_tool(call.name, arguments, call.id)
            return as_tool_message(made, call.id).model_dump()

        name = f"tool {call.name} {call.id}"
        return as_tool_message(await recorded_results.record(state, name, make), call.id)

    def _note_failure(
        self, use: Use, record: ToolRecord, failure: BaseException
    ) -> ToolMessage | Exception:
        """Writes down how a call failed; returns what it becomes."""
        record["error"] = f"{type(failure).__name__}: {message_of(failure)}"
        is_explained = isinstance(failure, ToolError) and is_raised_here(failure)
        if use.is_read and not (is_explained or isinstance(failure, UnknownToolError)):
            record["traceback"] = traceback_text(failure)
        ours = (TooManyLeftBehindError, CallTimeoutError)
        is_ours = use.is_fatal or isinstance(failure, ours)
        is_ours = is_ours or is_out_of_files(failure)  # which the model can do nothing about
        if is_ours and isinstance(failure, Exception):
            return failure
        return self._failed(use, failure)

    def _failed(self, use: Use, failure: BaseException) -> ToolMessage | Exception:
        """The message of a failed call, or the error that ends the rollout."""
        name, kind, why = use.call.name, type(failure).__name__, message_of(failure)
        if self._should_stop_for_error(failure):
            if not use.is_read:
                return ToolParseError(f"The arguments of {name!r} are no JSON object: {why}")
            return ToolCallError(f"Tool {name!r} raised {kind}: {why}")
        try:
            content = to_content(self.error_formatter(failure))
        except Exception as error:
            return error
        return ToolMessage(tool_call_id=use.call.id, content=content)
