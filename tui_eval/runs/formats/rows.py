"""Lines of a results file as events, as fast as typed decoding goes where a line has our shape."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from tui_eval.events import HEAD, RolloutFinished
from tui_eval.fold.saved_values import mapping, score_of
from tui_eval.fold.trajectory import content_text
from tui_eval.runs.formats.detection import as_row, format_of
from tui_eval.runs.row_events import event_of
from tui_eval.runs.row_places import example_id_of
from tui_eval.runs.scan import Line, encoding_fault, line_of
from tui_eval.stats.rewards import is_number
from tui_eval.token_kinds import from_names

UNKNOWN = -1
"""Place and number of a rollout whose row does not have them."""
IMPOSSIBLE = -2
SHOWN = 40
"""Characters that are shown of what should be a reward."""
HEAD_BYTES = 2 * HEAD
"""Enough for the first characters of most texts."""


class _Function(msgspec.Struct, gc=False):
    name: str = ""


class _Call(msgspec.Struct, gc=False):
    name: str = ""
    function: _Function | None = None


_Role: TypeAlias = Literal["", "system", "developer", "user", "assistant", "tool", "text"]


class _Message(msgspec.Struct, gc=False):
    role: _Role = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    tool_calls: list[str | _Call] | None = None


_Messages: TypeAlias = str | list[_Message] | None


class _Timing(msgspec.Struct, gc=False):
    generation_ms: float = 0.0
    scoring_ms: float = 0.0
    total_ms: float = 0.0
    start_time: float = 0.0


_Count: TypeAlias = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]


_Calls: TypeAlias = Annotated[int, msgspec.Meta(gt=0, lt=2**53)]
_Kinds: TypeAlias = dict[str, Annotated[int, msgspec.Meta(ge=0, lt=2**53)]]


class _Tokens(msgspec.Struct, gc=False):
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    token_kinds: _Kinds | None = None


class _Step(msgspec.Struct, gc=False):
    model_ms: float | None = None


class _Record(msgspec.Struct, gc=False):
    name: str
    error: Any = None


_Place: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Ours(msgspec.Struct, gc=False):
    rollout: _Place = UNKNOWN
    row: _Place = UNKNOWN
    attempt: Annotated[int, msgspec.Meta(gt=0, lt=1 << 16)] = 1
    steps: list[_Step] | None = None
    tool_calls: list[_Record] | None = None
    lost_usage: _Tokens | None = None
    finish_reason: str | None = None
    models: dict[str, _Calls] | None = None
    token_kinds: _Kinds | None = None
    code: Annotated[int, msgspec.Meta(gt=0, lt=1 << 16)] = 1


class _Row(msgspec.Struct, gc=False):
    """A good row as verifiers writes it since 0.1.11, with our part where it is ours.

    What is None here and something else in a row makes that row one to be read with more care.
    """

    example_id: Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | str
    metrics: dict[str, float]
    prompt: _Messages = None
    completion: _Messages = None
    reward: float | None = None
    error: None = None
    timing: _Timing | None = None
    is_truncated: bool = False
    stop_condition: str | None = None
    token_usage: _Tokens | None = None
    tui_eval: _Ours | None = None
    messages: None = None
    problem_id: None = None
    sample_id: None = None


_decode = msgspec.json.Decoder(_Row).decode
_decode_call = msgspec.json.Decoder(_Call).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode_any = msgspec.json.Decoder().decode
# Shared by events, which nobody changes: less to fetch, and to look through for garbage.
_NO_TIMES: list[float] = []
_NO_OURS, _NO_TIMING, _NO_TOKENS = _Ours(), _Timing(), _Tokens()


def read_row(
    number: int, offset: int, raw: memoryview, requested: int | str | None = None
) -> RolloutFinished | Line | None:
    """The event of one line; the line where it has a fault; None for a blank one.

    The event's `row` and `number` are what its row has, or `UNKNOWN`.

    Args:
        number: The line's number, from 1.
        raw: The line with its newline.
        requested: The example whose question is reported already; that need not be done again.
    """
    try:
        return _event(_decode(raw), offset, len(raw), requested)
    except (msgspec.DecodeError, ValueError, RecursionError, OverflowError):
        return _read_slowly(number, offset, bytes(raw))


def _read_slowly(number: int, offset: int, raw: bytes) -> RolloutFinished | Line | None:
    """As `read_row`, for every shape that rows have had."""
    line = line_of(number, offset, raw)
    if line is None or line.row is None:
        return line
    record = as_row(line.row)
    if format_of(line.row) is None and example_id_of(record) is None:
        return Line(number, offset, len(raw), None, "not a rollout of a known program", line.ends)
    if "tui_eval" not in record and example_id_of(record) is None:
        record = {**record, "example_id": number - 1}
    faults = [fault for fault in (encoding_fault(raw), reward_fault(record)) if fault]
    whole = Line(number, offset, len(raw), dict(record), "; ".join(faults), line.ends)
    return whole if faults else row_event(whole)


def reward_fault(record: Mapping[str, Any]) -> str:
    """Sentence on a reward that is no usable number; empty for a number and where there is none."""
    reward = record.get("reward")
    found = score_of(reward)
    if found is None or is_number(found) or record.get("error"):
        return ""
    is_great = isinstance(reward, int) or math.isfinite(found)
    shown = json.dumps(reward)
    what = "too great for a mean" if is_great else "no number"
    return f"its reward is {what}: {shown if len(shown) <= SHOWN else shown[:SHOWN] + '…'}"


def row_event(line: Line) -> RolloutFinished:
    """The event of a row, placed where the row says."""
    ours = mapping((line.row or {}).get("tui_eval"))
    return event_of(line, _reported(ours.get("row")), _reported(ours.get("rollout")))


def _reported(value: Any) -> int:
    if type(value) is not int:
        return UNKNOWN
    return value if 0 <= value < 1 << 31 else IMPOSSIBLE


def _event(row: _Row, offset: int, length: int, requested: int | str | None) -> RolloutFinished:
    if row.reward is not None and not is_number(row.reward):
        raise ValueError("a reward that is reported with its line")
    ours, timing = row.tui_eval or _NO_OURS, row.timing or _NO_TIMING
    used, lost = row.token_usage or _NO_TOKENS, ours.lost_usage or _NO_TOKENS
    turns, calls, tools = _conversation(row.completion, ours)
    steps, total_ms = ours.steps, timing.total_ms
    found = RolloutFinished(
        0,
        timing.start_time + total_ms / 1000,
        ours.row,
        row.example_id,
        ours.rollout,
        ours.attempt,
        offset,
        length,
        row.reward,
        None,
        row.stop_condition,
        row.is_truncated,
        turns,
        calls,
        int(used.input_tokens or 0),
        int(used.output_tokens or 0),
        timing.start_time,
        timing.generation_ms,
        timing.scoring_ms,
        total_ms,
        row.metrics,
        [step.model_ms for step in steps if step.model_ms is not None] if steps else _NO_TIMES,
        tools,
        int(lost.input_tokens or 0),
        int(lost.output_tokens or 0),
        _head(row.prompt, "user") if row.example_id != requested else "",
        _head(row.completion, "assistant"),
    )
    if ours is not _NO_OURS:
        _take_ours(found, ours, lost)
    return found


def _take_ours(event: RolloutFinished, ours: _Ours, lost: _Tokens) -> None:
    """Fields that only our part of a row has, and only few rows."""
    event.finish_reason, event.code = ours.finish_reason, ours.code
    if ours.models:
        event.models = ours.models
    if ours.token_kinds:
        event.kinds = from_names(ours.token_kinds)
    if lost.token_kinds:
        event.lost_kinds = from_names(lost.token_kinds)


def _recorded(records: list[_Record]) -> dict[str, tuple[int, int]]:
    """Calls and errors by tool, from our records."""
    found: dict[str, tuple[int, int]] = {}
    for record in records:
        n, errors = found.get(record.name or "?", (0, 0))
        found[record.name or "?"] = (n + 1, errors + bool(record.error))
    return found


def _conversation(
    completion: _Messages, ours: _Ours
) -> tuple[int, int, dict[str, tuple[int, int]]]:
    """Turns, tool calls, and calls and errors by tool: our records, or what messages show."""
    messages = completion if isinstance(completion, list) else ()
    turns = int(isinstance(completion, str) and completion != "")  # a plain text is one answer
    names: list[str] = []
    for message in messages:
        if message.role == "assistant":
            turns += 1
            if message.tool_calls:
                for call in message.tool_calls:
                    if isinstance(call, str):
                        call = _decode_call(call)
                    names.append((call.function or call).name or "?")
    if ours.steps is not None:
        turns = len(ours.steps)
    if ours.tool_calls is not None:
        return turns, len(ours.tool_calls), _recorded(ours.tool_calls)
    if names:
        return turns, len(names), _uses(names)
    return turns, sum(message.role == "tool" for message in messages), {}


@lru_cache(1024)
def _only(name: str, calls: int) -> dict[str, tuple[int, int]]:
    return {name: (calls, 0)}


def _uses(names: list[str]) -> dict[str, tuple[int, int]]:
    first = names[0]
    n = names.count(first)
    if n == len(names):
        return _only(first, n)
    return {name: (names.count(name), 0) for name in dict.fromkeys(names)}


def _head(messages: _Messages, role: str) -> str:
    if isinstance(messages, str):
        if messages.startswith("["):
            raise ValueError("messages as JSON text")
        return messages[:HEAD]
    for message in reversed(messages or ()):
        if message.role == role and (text := _beginning(message.content)):
            return text[:HEAD]
    return ""


def _beginning(content: msgspec.Raw) -> str:
    """The beginning of a message's text; all of it where that is not easily found."""
    if len(content) > HEAD_BYTES:
        cut = bytes(memoryview(content)[:HEAD_BYTES])
        escape = cut.find(b"\\", HEAD_BYTES - 6)  # one that the cut may have gone through
        try:
            text = _decode_text((cut if escape < 0 else cut[:escape]) + b'"')
        except (msgspec.DecodeError, UnicodeDecodeError):
            text = ""
        if len(text) >= HEAD:
            return text
    return content_text(_decode_any(content))
