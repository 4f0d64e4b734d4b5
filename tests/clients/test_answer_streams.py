"""A streamed answer is the answer that would have come whole, however its bytes are cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from endpoint_scripts import PAYLOADS, RECORDED
from hypothesis import given, settings
from hypothesis import strategies as st
from streamed_answers import events_of, sent

from tui_eval.clients.wire.answer_stream import AnswerStream, EventReader
from tui_eval.clients.wire.answer_struct import decode_answer
from tui_eval.clients.wire.anthropic_answer import AnthropicAnswer, AnthropicStream
from tui_eval.clients.wire.anthropic_translation import (
    check_anthropic_answer,
    from_anthropic_answer,
)
from tui_eval.clients.wire.chat_answer import ChatAnswer, check_chat_answer, from_chat_answer
from tui_eval.clients.wire.chat_stream import ChatStream
from tui_eval.clients.wire.completions import (
    CompletionAnswer,
    CompletionStream,
    check_completion_answer,
    from_completion_answer,
)
from tui_eval.clients.wire.responses_answer import ResponsesAnswer, ResponsesStream
from tui_eval.clients.wire.responses_translation import (
    check_responses_answer,
    from_responses_answer,
)

CHAT = "openai_chat_completions"
COMPLETIONS = "openai_completions"
MESSAGES = "anthropic_messages"
RESPONSES = "openai_responses"
READERS: dict[str, tuple[Any, Any, Any, Any]] = {
    CHAT: (ChatStream, ChatAnswer, check_chat_answer, from_chat_answer),
    COMPLETIONS: (
        CompletionStream,
        CompletionAnswer,
        check_completion_answer,
        from_completion_answer,
    ),
    MESSAGES: (AnthropicStream, AnthropicAnswer, check_anthropic_answer, from_anthropic_answer),
    RESPONSES: (ResponsesStream, ResponsesAnswer, check_responses_answer, from_responses_answer),
}

texts = st.text(max_size=30)
sizes = st.lists(st.integers(1, 7), min_size=1, max_size=6)
cuts = st.lists(st.integers(0, 5000), max_size=12)
line_ends = st.sampled_from(["\n", "\r\n", "\r"])
names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(texts, values, max_size=3)


def together(
    client_type: str, data: bytes, cuts: list[int], received: list[tuple[str, str]] | None = None
) -> AnswerStream:
    """The answer of a stream whose bytes are cut at these places."""
    kind = READERS[client_type][0]
    stream: AnswerStream = kind(
        lambda *streamed: None if received is None else received.append(streamed)
    )
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(places):
        stream.feed(data[start:end])
    stream.end()
    return stream


def read(client_type: str, answer: Any) -> dict[str, Any]:
    """An answer in our types, but for when it was made."""
    _, _, check, translate = READERS[client_type]
    check(answer)
    read: dict[str, Any] = translate(answer).model_dump(exclude={"created"})
    return read


def read_whole(client_type: str, answer: dict[str, Any]) -> dict[str, Any]:
    return read(client_type, decode_answer(json.dumps(answer).encode(), READERS[client_type][1]))


def said(received: list[tuple[str, str]], kind: str) -> str:
    return "".join(text for one, text in received if one == kind)


def assert_same(
    client_type: str,
    answer: dict[str, Any],
    sizes: list[int],
    cuts: list[int],
    line_end: str = "\n",
    comments: bool = False,
) -> list[tuple[str, str]]:
    """Whole and in pieces are the same; returns what was received."""
    data = sent(events_of(client_type, answer, sizes), line_end, comments)
    received: list[tuple[str, str]] = []
    stream = together(client_type, data, cuts, received)
    assert stream.is_whole
    expected = read_whole(client_type, answer)
    assert read(client_type, stream.answer()) == expected
    assert said(received, "text") == (expected["message"]["content"] or "")
    assert said(received, "reasoning") == (expected["message"]["reasoning_content"] or "")
    calls = expected["message"]["tool_calls"] or ()
    streamed = said(received, "tool")
    for call in calls:
        assert f"{call['name']} " in streamed
    return received


@pytest.mark.parametrize("name", RECORDED)
@given(sizes, cuts, line_ends, st.booleans())
@settings(max_examples=20, deadline=None)
def test_recorded_answers(
    name: str, sizes: list[int], cuts: list[int], line_end: str, comments: bool
) -> None:
    answer = json.loads((PAYLOADS / name).read_bytes())
    assert_same(RECORDED[name], answer, sizes, cuts, line_end, comments)


@pytest.mark.parametrize("name", RECORDED)
def test_no_part_of_a_recorded_answer_is_taken_as_whole(name: str) -> None:
    client_type = RECORDED[name]
    answer = json.loads((PAYLOADS / name).read_bytes())
    events = events_of(client_type, answer, [3])
    expected = read_whole(client_type, answer)
    for number in range(len(events)):
        stream = together(client_type, sent(events[:number]), [])
        if stream.is_whole:
            found = read(client_type, stream.answer())
            # A chat that stopped has all but its tokens counted.
            assert {**found, "usage": None} == {**expected, "usage": None}


chat_calls = st.lists(
    st.fixed_dictionaries({
        "id": st.from_regex(r"call_[a-z]{1,6}", fullmatch=True),
        "type": st.just("function"),
        "function": st.fixed_dictionaries({"name": names, "arguments": arguments.map(json.dumps)}),
    }),
    max_size=3,
)  # fmt: skip


@given(texts, texts, chat_calls, sizes, cuts)
@settings(max_examples=60, deadline=None)
def test_chats(
    content: str, reasoning: str, calls: list[Any], sizes: list[int], cuts: list[int]
) -> None:
    if not (content or reasoning or calls):
        content = "something"
    message = {"role": "assistant", "content": content}
    message |= {"reasoning_content": reasoning} if reasoning else {}
    message |= {"tool_calls": calls} if calls else {}
    streamed = [{"token": letter, "logprob": -0.5} for letter in content]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    choice["logprobs"] = {"content": streamed, "refusal": None} if streamed else None
    usage = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}
    answer = {"id": "c", "created": 1755000000, "model": "m", "choices": [choice], "usage": usage}
    received = assert_same(CHAT, answer, sizes, cuts)
    for call in calls:
        assert "{name} {arguments}".format(**call["function"]) in said(received, "tool")


blocks = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts})
    | st.fixed_dictionaries({"type": st.just("thinking"), "thinking": texts, "signature": names})
    | st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": names})
    | st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": names, "name": names, "input": arguments}
    ),
    max_size=5,
)


@given(blocks, sizes, cuts)
@settings(max_examples=60, deadline=None)
def test_messages(content: list[Any], sizes: list[int], cuts: list[int]) -> None:
    answer = {
        "id": "msg_1", "model": "m", "content": [*content, {"type": "text", "text": "."}],
        "stop_reason": "stop_sequence", "stop_sequence": "x",
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
    }  # fmt: skip
    assert_same(MESSAGES, answer, sizes, cuts)


output_texts = st.fixed_dictionaries(
    {"type": st.just("output_text"), "text": texts, "annotations": st.just([])}
)
refusals = st.fixed_dictionaries({"type": st.just("refusal"), "refusal": texts})
thoughts = st.text(min_size=1, max_size=30)
items = st.lists(
    st.fixed_dictionaries({
        "type": st.just("message"), "id": names, "role": st.just("assistant"),
        "status": st.just("completed"), "content": st.lists(output_texts | refusals, max_size=2),
    })
    | st.fixed_dictionaries({
        "type": st.just("reasoning"), "id": names, "encrypted_content": names,
        "summary": st.lists(
            st.fixed_dictionaries({"type": st.just("summary_text"), "text": thoughts}), max_size=2
        ),
    })
    | st.fixed_dictionaries({
        "type": st.just("function_call"), "id": names, "call_id": names, "name": names,
        "arguments": arguments.map(json.dumps),
    }),
    max_size=4,
)  # fmt: skip


@given(items, sizes, cuts)
@settings(max_examples=60, deadline=None)
def test_responses(output: list[Any], sizes: list[int], cuts: list[int]) -> None:
    last = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    answer = {
        "id": "resp_1", "created_at": 1755000000, "model": "m", "status": "completed",
        "output": [*output, last], "usage": {"input_tokens": 3, "output_tokens": 5},
    }  # fmt: skip
    assert_same(RESPONSES, answer, sizes, cuts)
    events = events_of(RESPONSES, answer, sizes)
    events[-1] = {**events[-1], "response": {**answer, "output": []}}
    assert read(RESPONSES, together(RESPONSES, sent(events), cuts).answer()) == read_whole(
        RESPONSES, answer
    )


def test_items_that_were_not_done_are_no_whole_answer() -> None:
    answer = json.loads((PAYLOADS / "openai_responses_reasoning.json").read_bytes())
    events = events_of(RESPONSES, answer)
    bare = {**events[-1], "response": {**answer, "output": None}}
    torn = [event for event in events[:-1] if event.get("item") != answer["output"][-1]]
    assert together(RESPONSES, sent([*events[:-1], bare]), []).is_whole
    assert not together(RESPONSES, sent([*torn, bare]), []).is_whole


@pytest.mark.parametrize("client_type", [MESSAGES, RESPONSES])
def test_a_mark_of_the_end_alone_makes_no_whole_answer(client_type: str) -> None:
    name = next(name for name, kind in RECORDED.items() if kind == client_type)
    events = events_of(client_type, json.loads((PAYLOADS / name).read_bytes()))
    half = events[: len(events) // 2]
    assert not together(client_type, sent([*half, "[DONE]"]), []).is_whole


def test_arguments_that_were_cut_off_stay_the_text_that_they_are() -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {"city": "Oslo", "n": 1}}
    answer = {
        "id": "msg_1", "model": "m", "content": [call], "stop_reason": "max_tokens",
        "usage": {"input_tokens": 3, "output_tokens": 5},
    }  # fmt: skip
    events = events_of(MESSAGES, answer, [4])
    parts = [n for n, e in enumerate(events) if e.get("delta", {}).get("partial_json")]
    del events[parts[2] : parts[-1] + 1]
    message = read(MESSAGES, together(MESSAGES, sent(events), []).answer())["message"]
    assert message["tool_calls"][0]["arguments"] == '{"city":'
    assert message["is_truncated"]


@pytest.mark.parametrize("client_type", [MESSAGES, RESPONSES])
def test_events_of_kinds_that_nobody_here_knows_are_left_out(client_type: str) -> None:
    name = next(name for name, kind in RECORDED.items() if kind == client_type)
    answer = json.loads((PAYLOADS / name).read_bytes())
    strange = [{}, {"type": "news", "index": None, "output_index": None, "delta": {}}]
    events = [one for event in events_of(client_type, answer) for one in (*strange, event)]
    stream = together(client_type, sent(events), [])
    assert read(client_type, stream.answer()) == read_whole(client_type, answer)


def test_a_byte_order_mark_and_events_without_data_are_left_out() -> None:
    reader = EventReader()
    data = b'\xef\xbb\xbfevent: ping\n\ndata: {"a":\ndata: 1}\n\n'
    found = [one for byte in data for one in reader.feed(bytes([byte]))]
    assert [json.loads(one) for one in found] == [{"a": 1}]


def test_a_long_line_costs_no_more_in_many_pieces() -> None:
    data = b"data: " + b"x" * 40_000_000 + b"\n\n"  # half an hour, where each piece is joined
    reader = EventReader()
    found = [one for at in range(0, len(data), 100) for one in reader.feed(data[at : at + 100])]
    assert [len(one) for one in found] == [40_000_000]
