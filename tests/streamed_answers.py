"""Whole answers of every protocol as the server-sent events that a stream of them has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

SSE = {"Content-Type": "text/event-stream"}
TEXTS = ("reasoning", "reasoning_content", "content", "refusal")

Event = dict[str, Any]


def pieces(whole: Any, sizes: list[int]) -> Iterator[Any]:
    """A text or a list in pieces of these sizes, over and over."""
    at = turn = 0
    while at < len(whole):
        yield whole[at : at + sizes[turn % len(sizes)]]
        at += sizes[turn % len(sizes)]
        turn += 1


def sent(events: Iterable[Any], line_end: str = "\n", comments: bool = False) -> bytes:
    """Events as they are on the wire; a text is one as it is."""
    lines = []
    for event in events:
        if comments:
            lines += [": still at work", "id: 7", "", "event: ping", "data: ", ""]
        if isinstance(event, dict) and "type" in event:
            lines.append(f"event: {event['type']}")
        lines += [f"data: {event if isinstance(event, str) else json.dumps(event)}", ""]
    return (line_end.join([*lines, ""])).encode()


def events_of(client_type: str, answer: Event, sizes: list[int] | None = None) -> list[Any]:
    """The events of a whole answer; its texts come in pieces of these sizes."""
    return list(_SPLITTERS[client_type](answer, sizes or [1]))


def _chat_events(answer: Event, sizes: list[int]) -> Iterator[Any]:
    (choice,) = answer["choices"]
    message = choice["message"]
    head = {key: one for key, one in answer.items() if key not in ("choices", "usage", "object")}

    def chunk(delta: Event, **more: Any) -> Event:
        return {**head, "choices": [{"index": 0, "delta": delta, **more}], "usage": None}

    begun = None if message.get("content") is None else ""
    yield chunk({"role": "assistant", "content": begun})
    texts = {name: message[name] for name in TEXTS if message.get(name)}
    for whole in dict.fromkeys(texts.values()):
        # Some endpoints send the same reasoning under two names at once.
        same = [name for name in texts if texts[name] == whole]
        yield from (chunk(dict.fromkeys(same, piece)) for piece in pieces(whole, sizes))
    for detail in message.get("reasoning_details") or ():
        yield from (chunk({"reasoning_details": [part]}) for part in _detail_parts(detail, sizes))
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        begun = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        for piece in pieces(function["arguments"], sizes):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    logprobs = choice.get("logprobs") or {}
    reported = logprobs.get("content") or []
    ids = choice.get("token_ids") or []
    for some, more in zip_longest(pieces(reported, sizes), pieces(ids, sizes)):
        yield chunk({}, logprobs={**logprobs, "content": some}, token_ids=more)
    yield chunk({}, finish_reason=choice["finish_reason"])
    yield {**head, "choices": [], "usage": answer.get("usage")}
    yield "[DONE]"


def _detail_parts(detail: Event, sizes: list[int]) -> Iterator[Event]:
    name = next((name for name in ("text", "summary", "data") if name in detail), None)
    if name is None:
        yield detail
        return
    same = {key: detail[key] for key in ("type", "id", "format", "index") if key in detail}
    yield from ({**same, name: piece} for piece in pieces(detail[name], sizes))
    yield {key: one for key, one in detail.items() if key != name}


def _completion_events(answer: Event, sizes: list[int]) -> Iterator[Any]:
    (choice,) = answer["choices"]
    head = {key: one for key, one in answer.items() if key not in ("choices", "usage")}

    def chunk(**more: Any) -> Event:
        return {**head, "choices": [{"index": 0, "text": "", **more}], "usage": None}

    yield chunk(prompt_token_ids=choice.get("prompt_token_ids"))
    for piece in pieces(choice["text"], sizes):
        yield chunk(text=piece, finish_reason=None)
    reported = choice.get("logprobs") or {}
    number = max((len(one) for one in reported.values() if one), default=0)
    for places in pieces(range(number), sizes):
        some = {key: one and [one[place] for place in places] for key, one in reported.items()}
        yield chunk(logprobs=some)
    for ids in pieces(choice.get("token_ids") or [], sizes):
        yield chunk(token_ids=ids)
    yield chunk(finish_reason=choice["finish_reason"])
    yield {**head, "choices": [], "usage": answer.get("usage")}
    yield "[DONE]"


def _message_events(answer: Event, sizes: list[int]) -> Iterator[Any]:
    usage = answer["usage"]
    began = {"content": [], "stop_reason": None, "stop_sequence": None}
    counted = {**usage, "output_tokens": 1}
    yield {"type": "message_start", "message": {**answer, **began, "usage": counted}}
    yield {"type": "ping"}
    for index, block in enumerate(answer["content"]):
        yield from _block_events(index, block, sizes)
    ended = {key: answer.get(key) for key in ("stop_reason", "stop_sequence")}
    counted = {"output_tokens": usage["output_tokens"]}
    yield {"type": "message_delta", "delta": ended, "usage": counted}
    yield {"type": "message_stop"}


def _block_events(index: int, block: Event, sizes: list[int]) -> Iterator[Event]:
    def delta(kind: str, **more: Any) -> Event:
        reported = {"type": f"{kind}_delta", **more}
        return {"type": "content_block_delta", "index": index, "delta": reported}

    empty = {"text": "", "thinking": "", "signature": "", "input": {}}
    begun = {key: empty.get(key, one) for key, one in block.items()}
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for piece in pieces(block.get("thinking", ""), sizes):
        yield delta("thinking", thinking=piece)
    if "signature" in block:
        yield delta("signature", signature=block["signature"])
    for piece in pieces(block.get("text", ""), sizes):
        yield delta("text", text=piece)
    if block.get("input"):
        yield delta("input_json", partial_json="")
        for piece in pieces(json.dumps(block["input"]), sizes):
            yield delta("input_json", partial_json=piece)
    yield {"type": "content_block_stop", "index": index}


def _response_events(answer: Event, sizes: list[int]) -> Iterator[Any]:
    began = {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None,
             "error": None}  # fmt: skip
    for kind in ("created", "in_progress"):
        yield {"type": f"response.{kind}", "response": {**answer, **began}}
    for index, item in enumerate(answer["output"]):
        yield from _item_events(index, item, sizes)
    yield {"type": f"response.{answer['status']}", "response": answer}


def _item_events(index: int, item: Event, sizes: list[int]) -> Iterator[Event]:
    begun: Event = {"content": [], "summary": [], "arguments": "", "status": "in_progress"}
    place = {"item_id": item["id"], "output_index": index}
    added = {key: begun.get(key, one) for key, one in item.items()}
    yield {"type": "response.output_item.added", "output_index": index, "item": added}
    for name, kind in (("summary", "reasoning_summary"), ("content", "content")):
        for number, part in enumerate(item.get(name) or ()):
            at = {**place, f"{kind.removeprefix('reasoning_')}_index": number}
            yield {"type": f"response.{kind}_part.added", **at, "part": {**part, "text": ""}}
            said = _TEXT_KINDS[part["type"]]
            field = "refusal" if said == "refusal" else "text"
            for piece in pieces(part[field], sizes):
                yield {"type": f"response.{said}.delta", **at, "delta": piece}
            yield {"type": f"response.{said}.done", **at, field: part[field]}
            yield {"type": f"response.{kind}_part.done", **at, "part": part}
    if "arguments" in item:
        arguments = item["arguments"]
        whole = arguments if isinstance(arguments, str) else json.dumps(arguments)
        for piece in pieces(whole, sizes):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        done = {"arguments": arguments, "name": item["name"]}
        yield {"type": "response.function_call_arguments.done", **place, **done}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


_TEXT_KINDS = {
    "summary_text": "reasoning_summary_text",
    "reasoning_text": "reasoning_text",
    "output_text": "output_text",
    "refusal": "refusal",
}
_SPLITTERS: dict[str, Callable[[Event, list[int]], Iterator[Any]]] = {
    "openai_chat_completions": _chat_events,
    "openai_chat_completions_token": _chat_events,
    "openai_completions": _completion_events,
    "openai_responses": _response_events,
    "anthropic_messages": _message_events,
}
