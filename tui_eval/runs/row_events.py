"""Events of saved rows, for lists, whatever the fields of a row hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from tui_eval.error_classes import reported_class
from tui_eval.events import HEAD, RolloutFinished
from tui_eval.fold.saved_values import (
    listing,
    mapping,
    metrics_of,
    number_of,
    score_of,
    tokens_of,
    whole_text,
)
from tui_eval.fold.trajectory import content_text
from tui_eval.runs.row_places import example_id_of
from tui_eval.runs.scan import Line
from tui_eval.token_kinds import from_names

_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"^((?:\w+\.)*[A-Z]\w*)(?:: .*)?\r?$", re.MULTILINE)
"""The line of a traceback that says what was raised."""


def event_of(line: Line, row: int, number: int) -> RolloutFinished:
    """Event of a row in the shape of results.jsonl; nonsense is left out."""
    saved = line.row or {}
    ours = mapping(saved.get("tui_eval"))
    usage = mapping(saved.get("token_usage"))
    error, stop = _error_name(saved.get("error")), saved.get("stop_condition")
    completion = saved.get("completion")
    turns = _count(ours.get("steps"), completion, "assistant")
    started, generation_ms, scoring_ms, total_ms = _times(saved, turns)
    tools = _tools(ours.get("tool_calls"), completion)
    found = RolloutFinished(
        seq=0,
        at=started + total_ms / 1000,
        row=row,
        example_id=_plain_id(example_id_of(saved)),
        number=number,
        attempt=_from_1(ours.get("attempt")),
        offset=line.offset,
        length=line.length,
        reward=None if error is not None else score_of(saved.get("reward")),
        error=error,
        stop_condition=whole_text(stop) if isinstance(stop, str) else None,
        truncated=bool(saved.get("is_truncated")),
        turns=turns,
        tool_calls=_tool_calls(ours.get("tool_calls"), tools, completion),
        input_tokens=tokens_of(usage.get("input_tokens")),
        output_tokens=tokens_of(usage.get("output_tokens")),
        started_at=started,
        generation_ms=generation_ms,
        scoring_ms=scoring_ms,
        total_ms=total_ms,
        metrics=_metrics(saved),
        model_ms=_model_ms(ours.get("steps")),
        tools=tools,
        question=_head(saved.get("prompt"), "user"),
        answer=_head(completion, "assistant"),
        error_class=reported_class(saved.get("error")),
    )
    _take_ours(found, ours)
    return found


def _take_ours(event: RolloutFinished, ours: Mapping[str, Any]) -> None:
    """Fields that only our part of a row has."""
    lost, finish = mapping(ours.get("lost_usage")), ours.get("finish_reason")
    event.lost_input = tokens_of(lost.get("input_tokens"))
    event.lost_output = tokens_of(lost.get("output_tokens"))
    event.lost_kinds = from_names(lost.get("token_kinds"))
    event.kinds = from_names(ours.get("token_kinds"))
    event.finish_reason = whole_text(finish) if isinstance(finish, str) and finish else None
    event.models = _models(ours.get("models"))
    event.code = _from_1(ours.get("code"))


def _times(saved: Mapping[str, Any], turns: int) -> tuple[float, float, float, float]:
    """Start in unix seconds, and the milliseconds of generation, of scoring and of both."""
    timing = mapping(saved.get("timing")) or saved
    names = ("start_time", "generation_ms", "scoring_ms", "total_ms")
    started, generation_ms, scoring_ms, total_ms = (number_of(timing.get(one)) for one in names)
    if turns and generation_ms == 0:  # nobody measured it: the rest is scoring alone
        total_ms = None
    return started or 0.0, generation_ms or 0.0, scoring_ms or 0.0, total_ms or 0.0


def _metrics(saved: Mapping[str, Any]) -> dict[str, float]:
    missing = math.nan if mapping(saved.get("tui_eval")) else None  # ours: null for NaN, infinity
    found = {k: missing if v is None else score_of(v) for k, v in metrics_of(saved).items()}
    return {whole_text(k): v for k, v in found.items() if v is not None}


def _head(messages: Any, role: str) -> str:
    """The beginning of the last message of a role that says anything; plain text says it itself."""
    return whole_text(_last_text(messages, role)[:HEAD])


def _last_text(messages: Any, role: str) -> str:
    found = listing(messages)
    if isinstance(messages, str) and not found:
        return messages
    for message in map(mapping, reversed(found)):
        if message.get("role") == role and (text := content_text(message.get("content"))):
            return text
    return ""


def _model_ms(steps: Any) -> list[float]:
    found = (number_of(mapping(step).get("model_ms")) for step in listing(steps))
    return [ms for ms in found if ms is not None]


def _tools(records: Any, completion: Any) -> dict[str, tuple[int, int]]:
    """Calls and errors by tool: from our records, or the calls that the messages show."""
    found: dict[str, tuple[int, int]] = {}
    if isinstance(records, list):
        for call in map(mapping, records):
            name = whole_text(str(call.get("name") or "?"))
            n, errors = found.get(name, (0, 0))
            found[name] = (n + 1, errors + bool(call.get("error")))
        return found
    for message in map(mapping, listing(completion)):
        if message.get("role") == "assistant":
            for name in map(_called, listing(message.get("tool_calls"))):
                found[name] = (found.get(name, (0, 0))[0] + 1, 0)
    return found


def _tool_calls(records: Any, tools: Mapping[str, tuple[int, int]], completion: Any) -> int:
    """Number of calls; that of their results where nothing else says it."""
    if tools or isinstance(records, list):
        return sum(n for n, _ in tools.values())
    return _count(None, completion, "tool")


def _called(call: Any) -> str:
    call = mapping(call)
    inner = mapping(call.get("function")) or call
    return whole_text(str(inner.get("name") or "?"))


def _plain_id(example_id: Any) -> Any:
    if isinstance(example_id, (bool, float)) or example_id is None:
        return example_id
    if isinstance(example_id, int) and -(2**63) <= example_id < 2**63:
        return example_id
    return whole_text(str(example_id))


def _count(records: Any, completion: Any, role: str) -> int:
    if isinstance(records, list):
        return len(records)
    messages = listing(completion)
    if isinstance(completion, str) and not messages:  # a plain text is one answer
        return int(role == "assistant" and completion not in ("", "[]"))
    return sum(isinstance(m, Mapping) and m.get("role") == role for m in messages)


def _is_within(value: Any, end: int) -> TypeGuard[int]:
    """Whether it is a whole number from 1 on and below `end`."""
    return type(value) is int and 0 < value < end


def _from_1(value: Any) -> int:
    """A small number that counts from 1; 1 where it is none."""
    return value if _is_within(value, 1 << 16) else 1


def _models(reported: Any) -> dict[str, int]:
    return {
        whole_text(name): calls
        for name, calls in mapping(reported).items()
        if isinstance(name, str) and _is_within(calls, 2**53)
    }


def _error_name(error: Any) -> str | None:
    if not error:
        return None
    if isinstance(error, Mapping):
        return whole_text(str(error.get("error_chain_str") or error.get("error") or "error"))
    text = str(error)
    raised = _RAISED.findall(text) if text.startswith(_TRACEBACK) else []
    return whole_text(raised[-1].rpartition(".")[2] if raised else text[:200])
