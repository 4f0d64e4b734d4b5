"""Outcomes of the model are answers: in every protocol, whole, streamed and by the SDK."""

from __future__ import annotations

import pytest
from ended_answers import (
    CHAT,
    COMPLETIONS,
    MESSAGES,
    PROTOCOLS,
    RESPONSES,
    TOKEN,
    WAYS,
    Body,
    ask,
    ended,
    outcome,
    reply,
)
from endpoint_scripts import Connect
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent

from tui_eval.errors import (
    EmptyModelResponseError,
    ModelError,
)

each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
each_way = pytest.mark.parametrize("way", WAYS)


@each_way
@each_protocol
@pytest.mark.parametrize("text", ["", "half an"])
@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
async def test_an_answer_that_says_why_it_ended_is_the_models_also_an_empty_one(
    connect: Connect, fault_server: FaultServer, protocol: str, way: str, text: str, reason: str
) -> None:
    body = reply(protocol, way, ended(protocol, text, reason))
    response = await ask(connect, fault_server, protocol, way, body)
    assert outcome(response) == (text, reason, reason == "length")
    assert response.usage is not None
    assert len(fault_server.requests) == 1


@each_way
@pytest.mark.parametrize("protocol", [CHAT, TOKEN, COMPLETIONS])
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("sensitive", "content_filter"),
        ("end_turn", "stop"),
        ("eos", "stop"),
        ("STOP", "stop"),
        ("refusal", "refusal"),
        ("MALFORMED_FUNCTION_CALL", None),
    ],
)
async def test_reasons_have_one_name_whoever_serves(
    connect: Connect,
    fault_server: FaultServer,
    protocol: str,
    way: str,
    theirs: str,
    ours: str | None,
) -> None:
    body = reply(protocol, way, ended(protocol, None, theirs))
    response = await ask(connect, fault_server, protocol, way, body)
    assert outcome(response) == ("", ours, ours == "length")


@each_way
@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("protocol", [CHAT, TOKEN])
async def test_a_refusal_is_the_text_of_a_chat(
    connect: Connect, fault_server: FaultServer, protocol: str, way: str, content: str | None
) -> None:
    body = ended(protocol, content, "stop", refusal="I cannot.")
    response = await ask(connect, fault_server, protocol, way, reply(protocol, way, body))
    assert outcome(response) == ("I cannot.", "refusal", False)


@each_way
async def test_a_refusal_is_the_text_of_a_response(
    connect: Connect, fault_server: FaultServer, way: str
) -> None:
    body = ended(RESPONSES, "x", "stop")
    body["output"][0]["content"] = [{"type": "refusal", "refusal": "I cannot."}]
    response = await ask(connect, fault_server, RESPONSES, way, reply(RESPONSES, way, body))
    assert outcome(response) == ("I cannot.", "refusal", False)


@each_way
@pytest.mark.parametrize("text", ["", "I can"])
async def test_a_refusal_of_claudes_keeps_what_was_said_before_it(
    connect: Connect, fault_server: FaultServer, way: str, text: str
) -> None:
    body = reply(MESSAGES, way, ended(MESSAGES, text, "refusal"))
    response = await ask(connect, fault_server, MESSAGES, way, body)
    assert outcome(response) == (text, "refusal", False)


@each_way
async def test_thoughts_that_are_not_shown_are_no_empty_answer(
    connect: Connect, fault_server: FaultServer, way: str
) -> None:
    body = ended(MESSAGES, "", "length")
    body["content"] = [{"type": "thinking", "thinking": "", "signature": "SIG"}]
    response = await ask(connect, fault_server, MESSAGES, way, reply(MESSAGES, way, body))
    assert outcome(response) == ("", "length", True)
    assert response.message.thinking_blocks == body["content"]


@each_way
@pytest.mark.parametrize("parts", ["thinking_blocks", "content"])
async def test_thinking_of_litellm_and_mistral_is_reasoning(
    connect: Connect, fault_server: FaultServer, way: str, parts: str
) -> None:
    thought = [{"type": "text", "text": "two and two"}]
    message: Body = {
        "content": {
            "content": [
                {"type": "thinking", "thinking": thought},
                {"type": "text", "text": "four"},
            ]
        },
        "thinking_blocks": {
            "content": "four",
            "thinking_blocks": [
                {"type": "thinking", "thinking": "two and two", "signature": "SIG"}
            ],
        },
    }[parts]
    body = ended(CHAT, "four", "stop", **message)
    if way == "streamed":
        deltas = [{key: [part]} for key, value in message.items() if isinstance(value, list)
                  for part in value]  # fmt: skip
        deltas += [{"content": message["content"]}] if parts == "thinking_blocks" else []
        events = [{"id": "c", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        events.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        answer = Reply(body=sent([*events, "[DONE]"]), headers=SSE)
    else:
        answer = Reply(body=body)
    response = await ask(connect, fault_server, CHAT, way, answer)
    assert outcome(response) == ("four", "stop", False)
    assert response.message.reasoning_content == "two and two"


@each_way
@each_protocol
async def test_an_answer_that_says_nothing_at_all_is_the_endpoints_fault(
    connect: Connect, fault_server: FaultServer, naps: list[float], protocol: str, way: str
) -> None:
    body = ended(protocol, "", "stop")
    for key in ("status", "stop_reason"):
        body |= {key: None} if key in body else {}
    for choice in body.get("choices", ()):
        choice["finish_reason"] = None
    if way == "streamed":
        with pytest.raises(ModelError, match="the stream ended before the answer did"):
            await ask(connect, fault_server, protocol, way, reply(protocol, way, body))
        return
    with pytest.raises(EmptyModelResponseError):
        await ask(connect, fault_server, protocol, way, reply(protocol, way, body))


@pytest.mark.parametrize("protocol", [CHAT, COMPLETIONS])
async def test_no_word_on_why_is_no_word_in_any_spelling(
    connect: Connect, fault_server: FaultServer, protocol: str
) -> None:
    events = events_of(protocol, ended(protocol, "ok", "length"))
    for event in events[:-1]:
        for choice in event["choices"]:
            choice["finish_reason"] = choice.get("finish_reason") or "null"
    late = {**events[0], "choices": [{"index": 0, "finish_reason": ""}]}
    body = Reply(body=sent([*events[:-1], late, "[DONE]"]), headers=SSE)
    assert outcome(await ask(connect, fault_server, protocol, "streamed", body)) == (
        "ok", "length", True
    )  # fmt: skip


@pytest.mark.parametrize("way", ["whole", "SDK's way"])
@each_protocol
async def test_a_whole_answer_with_text_needs_no_reason(
    connect: Connect, fault_server: FaultServer, protocol: str, way: str
) -> None:
    body = ended(protocol, "ok", "stop")
    body |= {key: None for key in ("status", "stop_reason") if key in body}
    for choice in body.get("choices", ()):
        choice["finish_reason"] = None
    response = await ask(connect, fault_server, protocol, way, Reply(body=body))
    assert response.message.content == "ok"
