"""Rubrics that only watch: turns and tool calls as metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tui_eval.messages import fields_of
from tui_eval.rubrics.rubric import Rubric
from tui_eval.tools.parameters import tool_name


class MultiTurnMonitorRubric(Rubric):
    """The metric `num_turns`: how often the model answered."""

    on_loop = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_metric(self.num_turns)

    async def num_turns(self, state: Any) -> int:
        """The number of the model's answers."""
        return len(state["trajectory"])


class ToolMonitorRubric(Rubric):
    """The metrics `total_tool_calls` and `<tool>_calls`: what the model requested.

    `tool_names` are those of the tools whose calls are counted each.
    """

    on_loop = True

    def __init__(self, tools: Sequence[Callable[..., Any]] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tools = list(tools or [])
        self.tool_names: list[str] = []
        self.add_metric(self.total_tool_calls)
        for tool in self.tools:
            self.add_tool_metric(tool)

    def add_tool_metric(self, tool: Callable[..., Any] | str) -> None:
        """Counts the calls of a tool, which may be given by its name, from now on."""
        name = tool if isinstance(tool, str) else tool_name(tool)
        if name not in self.tool_names:
            self.tool_names.append(name)
            self.add_metric(self.get_tool_call_count_func(name))

    def remove_tool_metric(self, tool: Callable[..., Any] | str) -> None:
        """Counts the calls of a tool, which may be given by its name, no more."""
        name = tool if isinstance(tool, str) else tool_name(tool)
        if name in self.tool_names:
            self.tool_names.remove(name)
            place = self.get_reward_func_names().index(f"{name}_calls")
            del self.funcs[place], self.weights[place]

    async def total_tool_calls(self, completion: Any) -> float:
        """The number of tool calls that the model requested."""
        return float(len(_called_names(completion)))

    def get_tool_call_count_func(self, tool_name: str) -> Callable[..., Any]:
        """A metric that counts how often the model requested a tool."""

        async def calls(completion: Any) -> int:
            return _called_names(completion).count(tool_name)

        calls.__name__ = f"{tool_name}_calls"
        return calls


def _called_names(completion: Any) -> list[str]:
    return [
        fields_of(call).get("name")
        for message in map(fields_of, completion)
        if message.get("role") == "assistant"
        for call in message.get("tool_calls") or ()
    ]
