"""One rollout's story, from its events while it runs and from its row once it is saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from tui_eval import events as ev


@dataclass(slots=True)
class ToolUse:
    """A tool call with its result, once there is one."""

    call_id: str
    name: str
    arguments: str
    result: str | None = None
    ms: float | None = None
    error: str | None = None


@dataclass(slots=True)
class Entry:
    """One thing to show: a message, or a tool call with its result.

    Args:
        turn: Number of the model call that it belongs to, from 1; 0 for the prompt.
        is_prompt: True for the messages that the rollout began with.
    """

    role: str
    turn: int
    text: str
    reasoning: str = ""
    tool: ToolUse | None = None
    is_prompt: bool = False


@dataclass(slots=True)
class Score:
    """What one reward function gave: `raw` is None where it failed, and `error` says how."""

    name: str
    raw: float | None
    weight: float
    error: str | None = None

    @property
    def contribution(self) -> float | None:
        """What it adds to the reward."""
        return None if self.raw is None else self.raw * self.weight


@dataclass(slots=True)
class Rollout:
    """Everything there is to show of one rollout."""

    row: int
    attempt: int = 1
    prompt_length: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: dict[str, tuple[float, str | None, Any]] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    reward: float | None = None
    error: str | None = None
    traceback: str | None = None
    answer: str = ""
    info: Any = None
    stop_condition: str | None = None
    is_truncated: bool = False
    timing: dict[str, float] = field(default_factory=dict)
    finished: bool = False
    version: int = 0

    def apply(self, event: ev.MessagesAdded | ev.ToolFinished) -> None:
        """Takes in one event of this rollout."""
        self.version += 1
        if type(event).__name__ == "ToolFinished":
            done: ev.ToolFinished = event  # type: ignore[assignment]
            self.tools[done.call_id] = (done.ms, done.error, done.result)
            return
        added: ev.MessagesAdded = event  # type: ignore[assignment]
        if added.first == 0:
            self.tools.clear()
        self.attempt = added.attempt
        self.prompt_length = added.prompt_length
        self.messages[added.first :] = added.messages

    def entries(self) -> list[Entry]:
        """The conversation to show: every tool result stands with its call."""
        found: list[Entry] = []
        uses: dict[str, ToolUse] = {}
        turn = 0
        for index, message in enumerate(self.messages):
            role = str(message.get("role", "?"))
            is_prompt = index < self.prompt_length
            if role == "assistant" and not is_prompt:
                turn += 1
            if role == "tool" and str(message.get("tool_call_id")) in uses:
                uses[str(message["tool_call_id"])].result = content_text(message.get("content"))
                continue
            text = content_text(message.get("content"))
            reasoning = message.get("reasoning_content") or ""
            calls = message.get("tool_calls") or []
            if text or reasoning or not calls:
                found.append(Entry(role, turn, text, str(reasoning), None, is_prompt))
            for call in calls:
                use = self._tool_use(call)
                uses[use.call_id] = use
                found.append(Entry("tool", turn, "", tool=use, is_prompt=is_prompt))
        return found

    def _tool_use(self, call: Any) -> ToolUse:
        if isinstance(call, str):
            try:
                call = msgspec.json.decode(call)
            except msgspec.DecodeError:
                call = {"name": "?", "arguments": call}
        if not isinstance(call, Mapping):
            call = {"name": "?", "arguments": str(call)}
        function = call.get("function")
        inner: Mapping[str, Any] = function if isinstance(function, Mapping) else call
        arguments = inner.get("arguments")
        if not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments if arguments is not None else {}).decode()
        call_id = str(call.get("id") or "")
        ms, error, result = self.tools.get(call_id, (None, None, None))
        text = None if result is None else content_text(result)
        return ToolUse(call_id, str(inner.get("name") or "?"), arguments, text, ms, error)


def content_text(content: Any) -> str:
    """What a message's content shows: text as it is, other parts by their kind."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable) or isinstance(content, Mapping):
        return str(content)
    parts = []
    for part in content:
        if isinstance(part, Mapping):
            kind = part.get("type")
            parts.append(str(part.get("text", "")) if kind == "text" else f"[{kind}]")
        else:
            parts.append(str(part))
    return "\n".join(parts)


def from_row(row: int, saved: Mapping[str, Any]) -> Rollout:
    """The story of a rollout as its line in results.jsonl tells it."""
    ours = saved.get("tui_eval") or {}
    prompt = _messages(saved.get("prompt"))
    completion = _messages(saved.get("completion"))
    if ours.get("empty_completion"):
        completion = []
    error = saved.get("error")
    errored = bool(error)
    return Rollout(
        row=row,
        attempt=ours.get("attempt", 1),
        prompt_length=len(prompt),
        messages=prompt + completion,
        tools={
            str(call.get("id")): (float(call.get("ms") or 0.0), call.get("error"), None)
            for call in ours.get("tool_calls") or []
        },
        steps=list(ours.get("steps") or []),
        scores=[
            Score(str(s.get("name")), s.get("raw"), float(s.get("weight") or 0.0), s.get("error"))
            for s in ours.get("scores") or []
        ],
        metrics={
            k: float(v)
            for k, v in (saved.get("metrics") or {}).items()
            if isinstance(v, (int, float))
        },
        reward=None if errored else saved.get("reward"),
        error=_error_text(error),
        traceback=ours.get("traceback"),
        answer=str(saved.get("answer") or ""),
        info=saved.get("info"),
        stop_condition=saved.get("stop_condition"),
        is_truncated=bool(saved.get("is_truncated")),
        timing=dict(saved.get("timing") or {}),
        finished=True,
    )


def _messages(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return [m if isinstance(m, dict) else {"role": "?", "content": str(m)} for m in value or []]


def _error_text(error: Any) -> str | None:
    if not error:
        return None
    if isinstance(error, Mapping):
        return str(error.get("error_chain_repr") or error.get("error") or error)
    return str(error)
