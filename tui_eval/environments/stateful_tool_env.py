"""Environments whose tools take arguments that only the environment knows."""

from __future__ import annotations

import inspect
import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tui_eval.call_limits import noted
from tui_eval.environments.tool_calls import Use, call_in_turn
from tui_eval.environments.tool_env import ToolEnv
from tui_eval.errors import nearest
from tui_eval.messages import Messages
from tui_eval.observer import CURRENT
from tui_eval.state import State
from tui_eval.tools.parameters import hidden_names, parameter_names, tool_name
from tui_eval.tools.schema import tool_from_function

logger = logging.getLogger(__name__)


def filter_signature(func: Callable[..., Any], args_to_skip: Sequence[str]) -> Callable[..., Any]:
    """A function whose signature and annotations lack some parameters; the same where none are.

    Args:
        args_to_skip: The parameters that are left out, besides `self`.
    """
    if not args_to_skip:
        return func
    skipped = {*args_to_skip, "self"}
    signature = inspect.signature(func)
    kept = [one for name, one in signature.parameters.items() if name not in skipped]

    def filtered(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    filtered.__name__ = getattr(func, "__name__", type(func).__name__)
    filtered.__doc__ = func.__doc__
    filtered.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    filtered.__annotations__ = {
        name: value
        for name, value in getattr(func, "__annotations__", {}).items()
        if name not in args_to_skip
    }
    return filtered


class StatefulToolEnv(ToolEnv):
    """The model calls tools, and `update_tool_args` adds what belongs to the rollout.

    Arguments that are hidden from the model, such as the id of a sandbox, are named as
    `args_to_skip` of `add_tool`. What a model sends under such a name is thrown away before
    `update_tool_args` sees it.

    Args:
        kwargs: As for `ToolEnv`.
    """

    def add_tool(self, tool: Callable[..., Any], args_to_skip: Sequence[str] = ()) -> None:
        """Adds a tool for rollouts that begin from now on.

        Args:
            args_to_skip: Parameters that the model does not see and cannot set. They may have
                types that have no JSON schema.

        Raises:
            TypeError: The function cannot be made a tool.
            ValueError: There is a tool of that name already.
        """
        known, takes_all = parameter_names(tool)
        for name in args_to_skip:
            if name not in known and not takes_all:
                hint = nearest(name, known)
                logger.warning("Tool %r has no parameter %r. %s", tool_name(tool), name, hint)
        hidden = list(dict.fromkeys([*args_to_skip, *hidden_names(tool)]))
        self._install(tool, tool_from_function(tool, args_to_skip), hidden)

    @abstractmethod
    def update_tool_args(
        self,
        tool_name: str,
        tool_args: dict[str, Any],
        messages: Messages,
        state: State,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The arguments that a tool is called with; plain or async, called before every call.

        It is not called for tools that do not exist, nor where the arguments are no JSON object.
        What it raises is the environment's own failure, not the model's: it becomes the
        rollout's error as it is, whatever `stop_errors` are.

        Args:
            tool_args: Those that the model sent, without hidden ones; may be changed and returned.
            messages: The conversation; the call is in its last message.
        """

    async def _arguments(
        self, use: Use, messages: Messages, state: State, **kwargs: Any
    ) -> dict[str, Any]:
        name = use.call.name
        sent = await super()._arguments(use, messages, state, **kwargs)
        if name not in self.tool_map and not self._has_own_call_tool():
            return sent
        use.is_fatal = True
        updated: Any
        plain = self.plain_functions.of(self.update_tool_args, "update_tool_args")
        if plain is None:
            updated = self.update_tool_args(name, sent, messages, state, **kwargs)
        else:
            update = partial(self.update_tool_args, name, sent, messages, state, **kwargs)
            updated = await call_in_turn(plain, update)
        if inspect.isawaitable(updated):
            updated = await noted(CURRENT.get(), updated)
        if not isinstance(updated, dict):
            kind = type(updated).__name__
            raise TypeError(f"update_tool_args returned a {kind} for tool {name!r}, not a dict")
        use.is_fatal = False
        return updated
