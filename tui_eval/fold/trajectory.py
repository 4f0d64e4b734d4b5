"""Trajectory of one rollout, from its events while it runs and from its row once it is saved.

Both sources fill the same `Rollout`, so that a view, a comparison or an export is written once for
live and saved trajectories. Rows may be of any program and any age: a value of the wrong type is
left out, and never ends the reading. Entries are made from messages on request: a row that is
opened alone costs no more than itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tui_eval.error_classes import class_of_names, reported_class
from tui_eval.fold.saved_values import listing, mapping, metrics_of, number_of
from tui_eval.token_kinds import Kinds, from_names

if TYPE_CHECKING:
    from tui_eval import events as ev


class ToolUse(msgspec.Struct):
    """A tool call with its result, once there is one."""

    call_id: str
    name: str
    arguments: str
    result: str | None = None
    ms: float | None = None
    error: str | None = None
    traceback: str = ""
    output: str = ""
    """Text that it printed and logged."""


class ToolOutcome(NamedTuple):
    """Result of a tool call."""

    ms: float | None = None
    error: str | None = None
    result: Any = None
    traceback: str = ""
    output: str = ""


class Entry(msgspec.Struct):
    """One thing to show: a message, or a tool call with its result."""

    role: str
    turn: int
    """Number of the model call that it belongs to, from 1; 0 for the prompt."""
    text: str
    reasoning: str = ""
    tool: ToolUse | None = None


_UNKNOWN = ToolOutcome()

GAP = "\n[…]\n"
"""Mark for text that was left out because the listener did not read in time."""


class RunningText(msgspec.Struct):
    """The received part of an answer that is being streamed; `parts` are texts by kind."""

    call: int
    parts: dict[str, str] = msgspec.field(default_factory=dict)
    version: int = 0
    _next: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, more: ev.TextAdded) -> None:
        """Takes in more of it; what belongs to an earlier answer is left out."""
        if more.call != self.call:
            return
        gap = GAP if more.first > self._next.get(more.kind, 0) else ""
        self.parts[more.kind] = self.parts.get(more.kind, "") + gap + more.text
        self._next[more.kind] = more.first + len(more.text)
        self.version += 1


class Score(msgspec.Struct):
    """Result of one reward function: `raw` is None where it failed, and `error` says why."""

    name: str
    raw: float | None
    weight: float
    error: str | None = None
    output: str = ""

    @property
    def contribution(self) -> float | None:
        """Its part of the reward."""
        return None if self.raw is None else self.raw * self.weight


class Rollout(msgspec.Struct):
    """One rollout with everything that views show of it."""

    row: int
    attempt: int = 1
    prompt_length: int = 0
    messages: list[dict[str, Any]] = msgspec.field(default_factory=list)
    tools: dict[str, list[ToolOutcome]] = msgspec.field(default_factory=dict)
    steps: list[dict[str, Any]] = msgspec.field(default_factory=list)
    scores: list[Score] = msgspec.field(default_factory=list)
    metrics: dict[str, float] = msgspec.field(default_factory=dict)
    judged: list[str] = msgspec.field(default_factory=list)
    """Answers of judges."""
    reward: float | None = None
    advantage: float | None = None
    """Its row's value; None where the row has none."""
    error: str | None = None
    error_class: str | None = None
    """Class of its error, see `error_classes`; None without one."""
    traceback: str | None = None
    output: str = ""
    """Text that its environment printed and logged outside of calls."""
    answer: str = ""
    stop_condition: str | None = None
    is_truncated: bool = False
    timing: dict[str, float] = msgspec.field(default_factory=dict)
    finished: bool = False
    version: int = 0
    coming: RunningText | None = None
    kinds: Kinds = ()
    """Its tokens by kind; see `token_kinds`."""
    doubt: str = ""
    """The fault of its line and the line's number, where there is one."""

    @property
    def finish_reason(self) -> str | None:
        """Finish reason of the last answer; None where it is not known."""
        reason = self.steps[-1].get("finish_reason") if self.steps else None
        return reason if isinstance(reason, str) else None

    def apply(self, event: ev.MessagesAdded | ev.ToolFinished | ev.TextAdded) -> None:
        """Takes in one event of this rollout."""
        from tui_eval.engine_events import TextAdded, ToolFinished  # the first frame needs none

        if isinstance(event, TextAdded):
            if self.coming is None or event.call > self.coming.call:
                self.coming = RunningText(event.call)
            self.coming.add(event)
            return
        self.version += 1
        if isinstance(event, ToolFinished):
            outcome = ToolOutcome(
                event.ms, event.error, event.result, event.traceback, event.output
            )
            self.tools.setdefault(event.call_id, []).append(outcome)
            return
        self.coming = None
        if event.first == 0:
            self.tools.clear()
        self.attempt = event.attempt
        self.prompt_length = event.prompt_length
        self.messages[event.first :] = event.messages
        self.steps[event.first_step :] = event.steps

    def entries(self) -> list[Entry]:
        """The conversation to show, with each tool result at its call."""
        found: list[Entry] = []
        unanswered: dict[str, list[ToolUse]] = {}
        nth: Counter[str] = Counter()
        turn = 0
        for index, message in enumerate(self.messages):
            role = str(message.get("role", "?"))
            if role == "assistant" and index >= self.prompt_length:
                turn += 1
            use = _answered(message, unanswered) if role == "tool" else None
            if use is not None:
                use.result = content_text(message.get("content"))
                continue
            text = content_text(message.get("content"))
            reasoning = content_text(message.get("reasoning_content"))
            calls = listing(message.get("tool_calls"))
            if text or reasoning or not calls:
                found.append(Entry(role, turn, text, reasoning))
            uses = [self._tool_use(call, nth) for call in calls]
            for use in uses:
                unanswered.pop(use.call_id, None)
            for use in uses:
                unanswered.setdefault(use.call_id, []).append(use)
            found += [Entry("tool", turn, "", tool=use) for use in uses]
        return found

    def _tool_use(self, call: Any, nth: Counter[str]) -> ToolUse:
        """A call with its record: the n-th one of an id, as some endpoints use ids again."""
        if isinstance(call, str):
            try:
                call = msgspec.json.decode(call)
            except (ValueError, RecursionError):
                call = {"name": "?", "arguments": call}
        if not isinstance(call, Mapping):
            call = {"name": "?", "arguments": str(call)}
        function = call.get("function")
        inner: Mapping[str, Any] = function if isinstance(function, Mapping) else call
        arguments = inner.get("arguments")
        if not isinstance(arguments, str):
            arguments = _json_text(arguments if arguments is not None else {})
        call_id = str(call.get("id") or "")
        records = self.tools.get(call_id, [])
        done = next(iter(records[nth[call_id] :]), _UNKNOWN)
        nth[call_id] += 1
        text = None if done.result is None else content_text(done.result)
        name = str(inner.get("name") or "?")
        return ToolUse(
            call_id, name, arguments, text, done.ms, done.error, done.traceback, done.output
        )


def _answered(message: Mapping[str, Any], unanswered: dict[str, list[ToolUse]]) -> ToolUse | None:
    """The first call that a tool message may answer, some of which were saved without an id.

    It is taken out.
    """
    reported = message.get("tool_call_id")
    call_id = next(iter(unanswered), "") if reported is None else str(reported)
    uses = unanswered.get(call_id)
    if not uses:
        return None
    use = uses.pop(0)
    if not uses:
        del unanswered[call_id]
    return use


def _json_text(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError):
        return str(value)


def content_text(content: Any) -> str:
    """Text of a message's content; other parts by their kind."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable) or isinstance(content, Mapping):
        return str(content)
    return "\n".join(map(_part_text, content))


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    return str(part.get("text", "")) if part.get("type") == "text" else placeholder(part)


def from_row(row: int, saved: Mapping[str, Any]) -> Rollout:
    """A rollout as its line in results.jsonl has it."""
    ours = mapping(saved.get("tui_eval"))
    attempt = ours.get("attempt")
    prompt = _messages(saved.get("prompt"), "user")
    completion = _messages(saved.get("completion"), "assistant")
    if ours.get("empty_completion"):  # rows of before 0.3 had an empty message then
        completion = []
    error = saved.get("error")
    errored = bool(error)
    return Rollout(
        row=row,
        attempt=attempt if isinstance(attempt, int) else 1,
        prompt_length=len(prompt),
        messages=prompt + completion,
        tools=_tool_outcomes(ours),
        steps=[dict(mapping(step)) for step in listing(ours.get("steps"))],
        scores=[_score(mapping(score)) for score in listing(ours.get("scores"))],
        metrics={
            name: number
            for name, value in metrics_of(saved).items()
            if (number := number_of(value)) is not None
        },
        judged=_verdicts(ours.get("judge") or saved.get("judge_response")),
        reward=None if errored else number_of(saved.get("reward")),
        advantage=None if errored else number_of(saved.get("advantage")),
        error=_error_text(error),
        error_class=_error_class(error),
        traceback=_error_text(ours.get("traceback")),
        output=str(ours.get("output") or ""),
        answer=str(saved.get("answer") or ""),
        stop_condition=_error_text(saved.get("stop_condition")),
        is_truncated=bool(saved.get("is_truncated")),
        timing=_timing(mapping(saved.get("timing")) or saved),
        finished=True,
        kinds=from_names(ours.get("token_kinds")),
    )


def _tool_outcomes(ours: Mapping[str, Any]) -> dict[str, list[ToolOutcome]]:
    """Results of tool calls, by their ids."""
    tools: dict[str, list[ToolOutcome]] = {}
    for call in map(mapping, listing(ours.get("tool_calls"))):
        outcome = ToolOutcome(
            number_of(call.get("ms")) or 0.0,
            _error_text(call.get("error")),
            None,
            str(call.get("traceback") or ""),
            str(call.get("output") or ""),
        )
        tools.setdefault(str(call.get("id") or ""), []).append(outcome)
    return tools


def _score(saved: Mapping[str, Any]) -> Score:
    weight = number_of(saved.get("weight")) or 0.0
    error = _error_text(saved.get("error"))
    output = str(saved.get("output") or "")
    return Score(str(saved.get("name")), number_of(saved.get("raw")), weight, error, output)


def _verdicts(saved: Any) -> list[str]:
    """Answers of judges: by their prompts, as verifiers has it, or one after the other."""
    verdicts = list(mapping(saved).values()) or listing(saved) or [saved]
    return [str(verdict) for verdict in verdicts if verdict]


def _timing(saved: Mapping[str, Any]) -> dict[str, float]:
    numbers = {name: number_of(saved.get(name)) for name in ("generation_ms", "scoring_ms")}
    return {name: number for name, number in numbers.items() if number is not None}


def _messages(value: Any, speaker: str) -> list[dict[str, Any]]:
    """Saved messages; a plain text is one message of the speaker."""
    messages = listing(value)
    if value and not messages:
        return [{"role": speaker, "content": str(value)}] if value != "[]" else []
    return [m if isinstance(m, dict) else {"role": "?", "content": str(m)} for m in messages]


def _error_class(error: Any) -> str | None:
    if not error:
        return None
    reported = mapping(error)
    names = reported.get("error_chain_str") or reported.get("error") or error
    return reported_class(error) or class_of_names(str(names))


def _error_text(error: Any) -> str | None:
    if not error:
        return None
    if isinstance(error, Mapping):
        return str(error.get("error_chain_repr") or error.get("error") or error)
    return str(error)


_LONGEST = 200


def placeholder(part: Mapping[str, Any]) -> str:
    """Short text for a content part that is none: its kind, media type, and size or address."""
    kind = str(part.get("type") or "part")
    word = {"image_url": "image", "input_image": "image", "input_audio": "audio"}.get(kind, kind)
    media, data, address = _found(part)
    reported = [word]
    if media:
        reported.append(media)
    if data:
        reported.append(_size(len(data) * 3 // 4))
    if address:
        reported.append(address[:_LONGEST])
    return f"[{' · '.join(reported)}]"


def _found(part: Mapping[str, Any]) -> tuple[str, str, str]:
    """Media type, base64 text and address of a part, from the shapes that protocols use."""
    for name in ("image_url", "input_audio", "source", "file", "audio"):
        inner = part.get(name)
        if isinstance(inner, str):
            return _of_url(inner)
        if isinstance(inner, Mapping):
            url = inner.get("url") or inner.get("file_data")
            if isinstance(url, str):
                return _of_url(url)
            media = inner.get("media_type") or inner.get("format") or ""
            data = inner.get("data")
            name_of = inner.get("filename") or inner.get("file_id") or ""
            return str(media), data if isinstance(data, str) else "", str(name_of)
    return "", "", ""


def _of_url(url: str) -> tuple[str, str, str]:
    if not url.startswith("data:"):
        return "", "", url
    head, _, data = url.partition(",")
    return head[5:].partition(";")[0][:_LONGEST], data, ""


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
