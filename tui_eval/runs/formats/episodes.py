"""traces.jsonl of verifiers since 0.2: an episode a line, with the trace of every agent in it.

A trace is a graph of messages, of which each knows the one before it; the last branch is the
conversation as it ended. The first trainable trace is the rollout; rewards of others are metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.fold.saved_values import listing, mapping, number_of, score_of

NAME = "traces.jsonl"
"""Name of the results of verifiers."""
CONFIG = "configs/eval.json"
"""Name of the settings of such a run, beside its results."""

_CUT_OFF = frozenset(
    ("max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "compaction_failed")
)


def is_episode(record: Mapping[str, Any]) -> bool:
    """Whether a line is an episode, or one trace of such."""
    if isinstance(record.get("traces"), list):
        return "task" in record
    return isinstance(record.get("nodes"), list) and "task" in record


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """An episode as a row; what its trace does not say is left out."""
    traces = [mapping(one) for one in listing(record.get("traces"))] or [record]
    trace = next((one for one in traces if mapping(one.get("agent")).get("trainable")), traces[0])
    task = mapping(trace.get("task")) or mapping(record.get("task"))
    data = mapping(task.get("data"))
    prompt, completion = _conversation(trace, data)
    error = _error(record, trace)
    calls = [mapping(one) for one in listing(trace.get("calls"))]
    finish = _finish_reason(calls)
    row = {
        "example_id": _example_id(task, data, record),
        "prompt": prompt,
        "completion": completion,
        "answer": data.get("answer"),
        "task": task.get("type") or "default",
        "reward": None if error else _reward(trace),
        "error": error,
        "timing": _timing(trace),
        "is_completed": bool(trace.get("is_completed")),
        "is_truncated": trace.get("stop_condition") in _CUT_OFF or finish == "length",
        "stop_condition": trace.get("stop_condition"),
        "metrics": {**_metrics(trace), **_rewards_of_others(traces, trace)},
        "tool_defs": listing(trace.get("tools")),
        "token_usage": _usage(calls),
        "tui_eval": _own_part(record, trace, finish),
    }
    return {name: value for name, value in row.items() if value is not None}


def info_of(record: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Info of a run, from its first episode and its settings."""
    traces = [mapping(one) for one in listing(record.get("traces"))] or [record]
    agent = mapping(mapping(traces[0].get("agent")).get("config"))
    env_id = mapping(record.get("env")).get("id") or mapping(config.get("env")).get("id")
    sampling = mapping(agent.get("sampling")) or mapping(config.get("sampling"))
    return {
        "env_id": env_id or None,
        "model": agent.get("model") or config.get("model"),
        "sampling_args": {name: value for name, value in sampling.items() if value is not None},
    }


def _example_id(task: Mapping[str, Any], data: Mapping[str, Any], record: Mapping[str, Any]) -> Any:
    own = (data.get("idx"), data.get("id"), task.get("key"), task.get("hash"))
    reported = (*own, record.get("id"))
    return next((one for one in reported if isinstance(one, (int, str)) and one != ""), None)


def _conversation(trace: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The messages of the last branch: those before the model's first answer, and the others."""
    nodes = [mapping(one) for one in listing(trace.get("nodes"))]
    path: list[Mapping[str, Any]] = []
    at: Any = len(nodes) - 1
    while isinstance(at, int) and 0 <= at < len(nodes) and len(path) < len(nodes):
        path.append(nodes[at])
        at = nodes[at].get("parent")
    path.reverse()
    messages = [mapping(node.get("message")) for node in path]
    is_marked = any("sampled" in node for node in path)
    is_answer = [
        bool(node.get("sampled")) if is_marked else message.get("role") == "assistant"
        for node, message in zip(path, messages, strict=True)
    ]
    first = is_answer.index(True) if True in is_answer else len(messages)
    if not messages and isinstance(requested := data.get("prompt"), str):
        return [{"role": "user", "content": requested}], []
    return messages[:first], messages[first:]


def _rewards(trace: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Score and weight by name, of those that were given; NaN for what is no number."""
    found = {}
    for name, reported in mapping(trace.get("rewards")).items():
        score = score_of(mapping(reported).get("score")) if isinstance(reported, Mapping) else None
        if score is not None:
            weight = score_of(mapping(reported).get("weight"))
            found[name] = score, 1.0 if weight is None else weight
    return found


def _reward(trace: Mapping[str, Any]) -> float | None:
    found = _rewards(trace)
    return sum(score * weight for score, weight in found.values()) if found else None


def _metrics(trace: Mapping[str, Any]) -> dict[str, float]:
    scores = {name: score for name, (score, _) in _rewards(trace).items()}
    reported = {name: score_of(value) for name, value in mapping(trace.get("metrics")).items()}
    return {**scores, **{name: value for name, value in reported.items() if value is not None}}


def _rewards_of_others(traces: list[Mapping[str, Any]], own: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for trace in traces:
        reward = _reward(trace)
        if trace is not own and reward is not None:
            name = f"{mapping(trace.get('agent')).get('name') or 'agent'}.reward"
            number = sum(one.partition("#")[0] == name for one in found)
            found[f"{name}#{number + 1}" if number else name] = reward
    return found


def _error(record: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, str] | None:
    """The last error of an episode that did not end well; earlier attempts may have had others."""
    reported = record.get("ok", trace.get("ok"))
    errors = _errors(record, trace)
    if reported is True or (reported is None and not errors):
        return None
    last = errors[-1] if errors else {}
    name = str(last.get("type") or "Error")
    reason = str(last.get("message") or "the episode did not end well, and does not say why")
    return {"error": name, "error_chain_repr": f"{name}({reason!r})", "error_chain_str": name}


def _timing(trace: Mapping[str, Any]) -> dict[str, float] | None:
    timing = mapping(trace.get("timing"))
    start = number_of(timing.get("start"))
    if not start:
        return None
    spans = {name: mapping(timing.get(name)) for name in ("setup", "agent", "finalize", "scoring")}
    ends = [number_of(span.get("end")) or 0.0 for span in spans.values()]
    return {
        "start_time": start,
        "generation_ms": _milliseconds(spans["agent"]),
        "scoring_ms": _milliseconds(spans["scoring"]),
        "total_ms": max(max(ends) - start, 0.0) * 1000,
    }


def _milliseconds(span: Mapping[str, Any]) -> float:
    start, end = number_of(span.get("start")), number_of(span.get("end"))
    return max(end - (start or 0.0), 0.0) * 1000 if end else 0.0


def _usage(calls: list[Mapping[str, Any]]) -> dict[str, float] | None:
    reported = [usage for call in calls if (usage := mapping(call.get("usage")))]
    if not reported:
        return None
    return {
        "input_tokens": sum(number_of(one.get("prompt_tokens")) or 0 for one in reported),
        "output_tokens": sum(number_of(one.get("completion_tokens")) or 0 for one in reported),
    }


def _finish_reason(calls: list[Mapping[str, Any]]) -> str | None:
    """Finish reason of the last answer."""
    reported = (call.get("finish_reason") for call in reversed(calls) if not call.get("error"))
    found = next(reported, None)
    return found if isinstance(found, str) else None


def _errors(record: Mapping[str, Any], trace: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    every = [*listing(record.get("errors")), *listing(trace.get("errors"))]
    return [mapping(one) for one in every]


def _own_part(
    record: Mapping[str, Any], trace: Mapping[str, Any], finish: str | None
) -> dict[str, Any]:
    """Part of our own rows on the last answer and the error."""
    found: dict[str, Any] = {"finish_reason": finish} if finish else {}
    errors = _errors(record, trace)
    if errors and isinstance(text := errors[-1].get("traceback"), str):
        found["traceback"] = text
    return found
