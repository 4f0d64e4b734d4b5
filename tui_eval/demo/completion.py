"""One answer in the shapes of the wire: a whole body, chunks of a stream, an error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from tui_eval.demo.chat_request import MODEL, BadRequestError, ChatRequest
from tui_eval.demo.policy.dialogue import Call, Reply, text_of

NOTICE = "Written by a scripted policy for demonstrations; no language model took part."
FINGERPRINT = "scripted-policy-not-a-language-model"
_MOST_CHUNKS = 40


class Completion(msgspec.Struct, frozen=True):
    """A reply cut to what was requested, with its usage."""

    id: str
    """Starts with `chatcmpl-`."""
    reply: Reply
    finish_reason: str
    """`stop`, `length` or `tool_calls`."""
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int

    def body(self) -> dict[str, Any]:
        """The whole answer as one object."""
        message: dict[str, Any] = {"role": "assistant", "content": self.reply.content or None}
        if self.reply.reasoning:
            message["reasoning_content"] = self.reply.reasoning
        if self.reply.calls:
            message["tool_calls"] = [_wire_call(call) for call in self.reply.calls]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": self.finish_reason,
            "logprobs": None,
        }
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage()}

    def chunks(self, include_usage: bool) -> Iterator[dict[str, Any]]:
        """The same answer as chunks of a stream; the usage comes last, where it is requested."""
        head = self._head("chat.completion.chunk")
        if include_usage:
            head["usage"] = None
        for delta in self._deltas():
            yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        end = {"index": 0, "delta": {}, "finish_reason": self.finish_reason}
        yield {**head, "choices": [end]}
        if include_usage:
            yield {**head, "choices": [], "usage": self.usage()}

    def _deltas(self) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": ""}
        for piece in _pieces(self.reply.reasoning):
            yield {"reasoning_content": piece}
        for piece in _pieces(self.reply.content):
            yield {"content": piece}
        for index, call in enumerate(self.reply.calls):
            wire = _wire_call(call)
            arguments = wire["function"]["arguments"]
            wire["function"]["arguments"] = ""
            yield {"tool_calls": [{"index": index, **wire}]}
            for piece in _pieces(arguments):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def usage(self) -> dict[str, Any]:
        """Tokens, estimated at four characters each."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "completion_tokens_details": {"reasoning_tokens": self.reasoning_tokens},
        }

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": int(time.time()),
            "model": MODEL,
            "system_fingerprint": FINGERPRINT,
            "metadata": {"notice": NOTICE},
        }


def complete(request: ChatRequest, reply: Reply, completion_id: str) -> Completion:
    """The reply, cut at stop strings and at the token limit, with token counts."""
    content = reply.content
    for stop in request.stop:
        content = content.split(stop, 1)[0]
    reply = replace(reply, content=content)
    finish_reason = "tool_calls" if reply.calls else "stop"
    if request.max_tokens is not None and _reply_tokens(reply) > request.max_tokens:
        reply = _cut(reply, request.max_tokens)
        finish_reason = "length"
    return Completion(
        id=completion_id,
        reply=reply,
        finish_reason=finish_reason,
        prompt_tokens=_prompt_tokens(request),
        completion_tokens=_reply_tokens(reply),
        reasoning_tokens=_tokens(reply.reasoning),
    )


def error_body(error: BadRequestError) -> dict[str, Any]:
    """An error as OpenAI's API words it."""
    return {
        "error": {
            "message": error.message,
            "type": "invalid_request_error",
            "param": error.param,
            "code": error.code,
        }
    }


def arguments_text(call: Call) -> str:
    """The arguments of a call as JSON text."""
    return msgspec.json.encode(call.arguments).decode()


def _wire_call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments_text(call)}
    return {"id": call.id, "type": "function", "function": function}


def _cut(reply: Reply, max_tokens: int) -> Reply:
    reasoning = reply.reasoning[: 4 * max_tokens]
    return Reply(reply.content[: 4 * (max_tokens - _tokens(reasoning))], reasoning)


def _tokens(text: str) -> int:
    return (len(text) + 3) // 4


def _reply_tokens(reply: Reply) -> int:
    calls = sum(_tokens(call.name + arguments_text(call)) + 4 for call in reply.calls)
    return _tokens(reply.reasoning) + _tokens(reply.content) + calls


def _prompt_tokens(request: ChatRequest) -> int:
    count = 3 + (_tokens(msgspec.json.encode(request.tools).decode()) if request.tools else 0)
    for message in request.messages:
        count += 4 + _tokens(text_of(message))
        if message.get("tool_calls"):
            count += _tokens(msgspec.json.encode(message["tool_calls"]).decode())
    return count


def _pieces(text: str) -> Iterator[str]:
    """The text in at most 40 pieces, each at least a token long."""
    size = max(4, -(-len(text) // _MOST_CHUNKS))
    for start in range(0, len(text), size):
        yield text[start : start + size]
