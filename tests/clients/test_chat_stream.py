"""Streams of chats with more than the protocol says."""

from __future__ import annotations

from typing import Any

import pytest
from streamed_answers import sent

from tui_eval.clients.wire.chat_answer import ChatAnswer, check_chat_answer, from_chat_answer
from tui_eval.clients.wire.chat_stream import ChatStream
from tui_eval.types import Response

HEAD = {"id": "chatcmpl-1", "created": 1755000000, "model": "m", "service_tier": "default"}


def together(events: list[Any]) -> ChatStream:
    stream = ChatStream(lambda kind, text: None)
    stream.feed(sent(events))
    stream.end()
    return stream


def read(answer: ChatAnswer) -> Response:
    check_chat_answer(answer)
    return from_chat_answer(answer)


def streamed(*deltas: dict[str, Any], **last: Any) -> ChatAnswer:
    choices = [{"index": 0, "delta": delta} for delta in deltas]
    choices[-1] |= {"finish_reason": "stop", **last}
    return together([{**HEAD, "choices": [choice]} for choice in choices]).answer()


def test_calls_that_are_all_numbered_0_or_not_at_all_are_distinguished_by_their_ids() -> None:
    for index in ({"index": 0}, {}):
        first = {**index, "id": "a", "function": {"name": "add", "arguments": '{"x": 1}'}}
        second = {**index, "id": "b", "function": {"name": "add", "arguments": {"x": 2}}}
        answer = read(streamed({"tool_calls": [first]}, {"tool_calls": [second]}))
        found = answer.message.tool_calls or []
        assert [(call.id, call.arguments) for call in found] == [
            ("a", '{"x": 1}'),
            ("b", '{"x": 2}'),
        ]


def test_reasoning_details_that_come_in_parts_become_one_block() -> None:
    answer = streamed(
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Let me "}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "see."}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "s"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]},
    )
    assert read(answer).message.thinking_blocks == [
        {"type": "reasoning.text", "index": 0, "text": "Let me see.", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]


def test_signed_thoughts_without_numbers_stay_as_many_as_they_are() -> None:
    def thought(**part: Any) -> dict[str, Any]:
        return {"thinking_blocks": [{"type": "thinking", "signature": None, **part}]}

    hidden = {"type": "redacted_thinking", "data": "x"}
    answer = streamed(
        thought(thinking="Let me "),
        thought(thinking="see."),
        thought(thinking="", signature="s"),
        thought(thinking="No."),
        thought(thinking="", signature="t"),
        {"thinking_blocks": [hidden]},
        {"thinking_blocks": [hidden]},
        thought(thinking="Yes."),
    )
    assert read(answer).message.thinking_blocks == [
        {"type": "thinking", "thinking": "Let me see.", "signature": "s"},
        {"type": "thinking", "thinking": "No.", "signature": "t"},
        hidden,
        hidden,
        {"type": "thinking", "thinking": "Yes."},
    ]


def test_token_ids_of_chunks_are_put_together() -> None:
    events = [
        {**HEAD, "prompt_token_ids": [1, 2], "choices": [
            {"delta": {"content": "a"}, "token_ids": [7],
             "logprobs": {"content": [{"logprob": -1.0}]}}]},
        {**HEAD, "choices": [
            {"delta": {"content": "b"}, "token_ids": [8, 9], "finish_reason": "length",
             "logprobs": {"content": [{"logprob": -2.0}, {"logprob": -3.0}]}}]},
    ]  # fmt: skip
    message = read(together(events).answer()).message
    assert message.is_truncated
    assert message.tokens is not None
    assert message.tokens.completion_ids == [7, 8, 9]
    assert message.tokens.completion_logprobs == [-1.0, -2.0, -3.0]


@pytest.mark.parametrize("events", [[], [{**HEAD, "choices": [{"delta": {"content": "a"}}]}]])
def test_a_stream_that_breaks_off_is_not_whole(events: list[Any]) -> None:
    assert not together(events).is_whole
