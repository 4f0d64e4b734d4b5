"""Agent loops as people write them for the Osmosis SDK, and what a run hands them."""

from __future__ import annotations

import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.compat.osmosis.conversation import CURRENT_CONVERSATION
from tui_eval.compat.osmosis.schemas import (
    MessageDict,
    OpenAIFunctionToolSchema,
    RolloutMetrics,
    RolloutRequest,
)

if TYPE_CHECKING:
    from tui_eval.compat.osmosis.environment import RolloutModel


log = logging.getLogger("tui_eval.agent")


@dataclass
class CompletionsResult:
    """One answer of the model; `message` has the shape of OpenAI's chat completions."""

    message: MessageDict
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    finish_reason: str = "stop"

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls that the model requests."""
        return self.message.get("tool_calls") or []

    @property
    def has_tool_calls(self) -> bool:
        """Whether the model requests any."""
        return bool(self.tool_calls)

    @property
    def content(self) -> str:
        """The model's text; empty where it only calls tools."""
        return self.message.get("content") or ""


@dataclass
class RolloutResult:
    """The outcome of an agent's run: `status` is COMPLETED or ERROR."""

    status: str
    final_messages: list[MessageDict]
    finish_reason: str
    error_message: str | None = None
    metrics: RolloutMetrics | None = None
    reward: float | None = None


@dataclass
class RolloutContext:
    """The context of an agent's run."""

    request: RolloutRequest
    tools: list[OpenAIFunctionToolSchema]
    llm: RolloutModel
    _start_time: float = field(default_factory=time.monotonic, repr=False)
    _tool_latency_ms: float = field(default=0.0, repr=False)
    _num_tool_calls: int = field(default=0, repr=False)
    _debug_dir: str | None = field(default=None, repr=False)

    async def chat(self, messages: Sequence[MessageDict], **kwargs: Any) -> CompletionsResult:
        """Calls the model with a whole conversation.

        Args:
            kwargs: Sampling parameters of this call; they win over those of the run.

        Raises:
            tui_eval.Error: The call failed, also when tried again.
        """
        return await self.llm.chat_completions(messages, **kwargs)

    def complete(
        self,
        final_messages: list[MessageDict],
        finish_reason: str = "stop",
        reward: float | None = None,
    ) -> RolloutResult:
        """The result of a run that reached its end; a reward given here does not count."""
        metrics = self._build_metrics()
        return RolloutResult(
            "COMPLETED", final_messages, finish_reason, metrics=metrics, reward=reward
        )

    def error(
        self, error_message: str, final_messages: list[MessageDict] | None = None
    ) -> RolloutResult:
        """The result of a run that failed, and why it did."""
        metrics = self._build_metrics()
        return RolloutResult("ERROR", final_messages or [], "error", error_message, metrics)

    def record_tool_call(self, latency_ms: float = 0.0) -> None:
        """Counts a tool call that took so many milliseconds."""
        self._num_tool_calls += 1
        self._tool_latency_ms += latency_ms
        conversation = CURRENT_CONVERSATION.get()
        if conversation is not None:
            conversation.call_recorded(latency_ms)

    @property
    def debug_enabled(self) -> bool:
        """Whether events are written to a file of the run."""
        return self._debug_dir is not None

    def log_event(self, event_type: str, **data: Any) -> None:
        """Writes an event as a line of JSON, where the run was started with `--debug`."""
        log.debug("%s: %s %s", self.request.rollout_id, event_type, data)
        if self._debug_dir is None:
            return
        entry = {"event": event_type, "rollout_id": self.request.rollout_id, **data}
        path = Path(self._debug_dir) / f"{self.request.rollout_id}.jsonl"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry, default=str) + "\n")
        except (OSError, ValueError) as error:
            log.warning("%s: %s", path, error)

    def _build_metrics(self) -> RolloutMetrics:
        took = (time.monotonic() - self._start_time) * 1000
        return self.llm.get_metrics().model_copy(
            update={
                "total_latency_ms": took,
                "tool_latency_ms": self._tool_latency_ms,
                "num_tool_calls": self._num_tool_calls,
            }
        )


class RolloutAgentLoop(ABC):
    """An agent: its tools, and how it runs a model through one row.

    One object serves all rollouts, many at the same time. A subclass has a class attribute
    `name`.
    """

    name: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Which methods are abstract is known only after this, so they are looked up by hand.
        abstract = any(
            getattr(getattr(cls, method, None), "__isabstractmethod__", False)
            for method in ("get_tools", "run")
        )
        if not abstract and not getattr(cls, "name", None):
            raise TypeError(f"{cls.__name__} is an agent loop without a class attribute 'name'")

    @abstractmethod
    def get_tools(self, request: RolloutRequest) -> list[OpenAIFunctionToolSchema]:
        """The tools of one rollout."""

    @abstractmethod
    async def run(self, ctx: RolloutContext) -> RolloutResult:
        """Runs the model through one rollout; returns `ctx.complete(...)` or `ctx.error(...)`."""


class AppStandIn:
    """Takes the place of the web application that modules make when they are imported.

    Routes, middleware and the like may be added to it; nothing comes of them.
    """

    def __getattr__(self, name: str) -> AppStandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The decorated function, unchanged; the stand-in itself for any other call."""
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]
        return self


def create_app(agent_loop: Any, **settings: Any) -> AppStandIn:
    """A stand-in for the SDK's web application of an agent loop; starts no server."""
    return AppStandIn()
