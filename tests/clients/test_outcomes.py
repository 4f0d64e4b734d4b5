"""What the model did is its answer, what failed is an error: in every protocol and way."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from endpoint_scripts import ANSWERS, PATHS, Connect, take
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent

from tui_eval.clients.openai_chat import OpenAIChatCompletionsClient
from tui_eval.errors import (
    EmptyModelResponseError,
    InvalidModelResponseError,
    ModelError,
    OverlongPromptError,
    PromptRefusedError,
)
from tui_eval.messages import UserMessage
from tui_eval.types import Response

CHAT = "openai_chat_completions"
TOKEN = "openai_chat_completions_token"
COMPLETIONS = "openai_completions"
RESPONSES = "openai_responses"
MESSAGES = "anthropic_messages"
PROTOCOLS = [CHAT, TOKEN, COMPLETIONS, RESPONSES, MESSAGES]
WAYS = ["whole", "streamed", "SDK's way"]
PROMPT = [UserMessage(content="hi")]

Body = dict[str, Any]

each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
each_way = pytest.mark.parametrize("way", WAYS)


def ended(protocol: str, text: str | None, reason: str, **message: Any) -> Body:
    """An answer with this text that ended for this reason, in the words of its protocol."""
    body = {**ANSWERS[protocol]}
    if protocol == MESSAGES:
        names = {"stop": "end_turn", "length": "max_tokens"}
        blocks = [{"type": "text", "text": text}] if text else []
        return {**body, "content": blocks, "stop_reason": names.get(reason, reason)}
    if protocol == RESPONSES:
        item = {**body["output"][0], "content": [{"type": "output_text", "text": text}]}
        output = [item] if text else []
        if reason == "stop":
            return {**body, "output": output}
        details = {"reason": {"length": "max_output_tokens"}.get(reason, reason)}
        return {**body, "output": output, "status": "incomplete", "incomplete_details": details}
    choice = {**body["choices"][0], "finish_reason": reason}
    if protocol == COMPLETIONS:
        return {**body, "choices": [{**choice, "text": text or ""}]}
    said = {"role": "assistant", "content": text, **message}
    return {**body, "choices": [{**choice, "message": said}]}


def reply(protocol: str, way: str, body: Body) -> Reply:
    if way != "streamed":
        return Reply(body=body)
    return Reply(body=sent(events_of(protocol, body)), headers=SSE)


async def ask(
    connect: Connect, server: FaultServer, protocol: str, way: str, *replies: Reply, **settings: Any
) -> Response:
    server.script(PATHS[protocol], replies)
    async with connect(protocol, stream=way == "streamed", **settings) as client:
        response: Response = await take(way, client).get_response(PROMPT, "m", {"max_tokens": 5})
        return response


def outcome(response: Response) -> tuple[Any, ...]:
    message = response.message
    return message.content, message.finish_reason, message.is_truncated


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


FAILURES: list[tuple[Body, int]] = [
    ({"code": 429, "message": "slow down"}, 429),
    ({"code": "503", "message": "no capacity"}, 503),
    ({"type": "overloaded_error", "message": "Overloaded"}, 529),
    ({"code": "rate_limit_exceeded", "message": "slow down"}, 429),
    ({"code": "server_error", "message": "it broke"}, 500),
    ({"status": "RESOURCE_EXHAUSTED", "message": "slow down"}, 429),
    ({"message": "litellm.ServiceUnavailableError: no capacity"}, 503),
]
PLACES = ["in place of the answer", "beside half of it", "beside nothing"]


def failing(protocol: str, place: str, told: Any) -> Body:
    if place == "in place of the answer":
        return {"type": "error", "error": told}
    text = "half an" if place == "beside half of it" else None
    return {**ended(protocol, text, "stop"), "error": told}


@pytest.mark.parametrize("way", ["whole", "SDK's way"])
@each_protocol
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("told", "status"), FAILURES)
async def test_a_failure_told_in_a_200_is_tried_again_like_its_status(
    connect: Connect,
    fault_server: FaultServer,
    naps: list[float],
    protocol: str,
    way: str,
    place: str,
    told: Body,
    status: int,
) -> None:
    failed = Reply(body=failing(protocol, place, told))
    whole = Reply(body=ANSWERS[protocol])
    response = await ask(connect, fault_server, protocol, way, failed, whole, max_retries=2)
    assert outcome(response) == ("ok", "stop", False)
    assert len(naps) == 1
    with pytest.raises(ModelError) as raised:
        await ask(connect, fault_server, protocol, way, failed, max_retries=1)
    error = raised.value
    url = f"{fault_server.url}{PATHS[protocol]}"
    assert str(error).startswith(f"{status} from {url}: {told['message']} (tried ")
    assert getattr(error.__cause__, "status_code", None) == status


@each_way
@pytest.mark.parametrize("protocol", [CHAT, TOKEN, COMPLETIONS, MESSAGES])
@pytest.mark.parametrize(
    ("reason", "beside", "status"),
    [("error", {"code": 502, "message": "gone"}, 502), ("error", None, 502), ("abort", None, 503)],
)
async def test_a_reason_that_means_failure_is_tried_again(
    connect: Connect,
    fault_server: FaultServer,
    naps: list[float],
    protocol: str,
    way: str,
    reason: str,
    beside: Any,
    status: int,
) -> None:
    body = ended(protocol, "half an", reason)
    failed = reply(protocol, way, body)
    if beside and protocol != MESSAGES:
        body["choices"][0]["error"] = beside
        events: list[Any] = events_of(protocol, body)
        for event in events:
            for choice in event.get("choices", ()) if isinstance(event, dict) else ():
                choice |= {"error": beside} if choice.get("finish_reason") else {}
        failed = Reply(body=sent(events), headers=SSE) if way == "streamed" else Reply(body=body)
    whole = reply(protocol, way, ANSWERS[protocol])
    response = await ask(connect, fault_server, protocol, way, failed, whole, max_retries=1)
    assert outcome(response) == ("ok", "stop", False)
    with pytest.raises(ModelError, match=f"{status} from "):
        await ask(connect, fault_server, protocol, way, failed, max_retries=0)


@each_protocol
@pytest.mark.parametrize("end", ["as if it were done", "as it is"])
async def test_a_stream_is_whole_only_when_something_said_why_it_ended(
    connect: Connect, fault_server: FaultServer, naps: list[float], protocol: str, end: str
) -> None:
    events = events_of(protocol, ended(protocol, "half an", "stop"))
    torn = events[: next(n for n, event in enumerate(events) if _says_why(event))]
    if end == "as if it were done":
        torn += [{"type": "message_stop"}] if protocol == MESSAGES else ["[DONE]"]
    broken = Reply(body=sent(torn), headers=SSE)
    whole = reply(protocol, "streamed", ANSWERS[protocol])
    response = await ask(connect, fault_server, protocol, "streamed", broken, whole, max_retries=1)
    assert outcome(response) == ("ok", "stop", False)
    with pytest.raises(ModelError, match="the stream ended before the answer did"):
        await ask(connect, fault_server, protocol, "streamed", broken, max_retries=1)


def _says_why(event: Any) -> bool:
    if isinstance(event, str):
        return False
    if event.get("type") in ("message_delta", "response.completed"):
        return True
    return any(choice.get("finish_reason") for choice in event.get("choices", ()))


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


@pytest.mark.parametrize("way", ["whole", "streamed"])
@each_protocol
@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ({"object": "error", "message": "busy", "code": 503}, ModelError, "503 from .*: busy"),
        ([{"error": {"code": 503, "message": "busy"}}], ModelError, "503 from .*: busy"),
        ({"detail": "out of order"}, InvalidModelResponseError, "out of order"),
        (
            {"base_resp": {"status_code": 1002, "status_msg": "too fast"}, "choices": None},
            InvalidModelResponseError,
            "too fast",
        ),
        (
            {"promptFeedback": {"blockReason": "SAFETY"}, "choices": []},
            PromptRefusedError,
            "the prompt was blocked: SAFETY",
        ),
    ],
)
async def test_failures_in_shapes_that_are_not_the_protocols_are_read(
    connect: Connect,
    fault_server: FaultServer,
    protocol: str,
    way: str,
    body: Any,
    kind: type[Exception],
    text: str,
) -> None:
    is_stream = way == "streamed" and "choices" not in body and isinstance(body, dict)
    answer = Reply(body=sent([json.dumps(body)]), headers=SSE) if is_stream else Reply(body=body)
    with pytest.raises(kind, match=text):
        await ask(connect, fault_server, protocol, way, answer, max_retries=0)


@each_way
@each_protocol
async def test_an_overlong_prompt_told_in_a_200_is_one(
    connect: Connect, fault_server: FaultServer, protocol: str, way: str
) -> None:
    told = {"error": {"message": "prompt is too long: 2000 tokens > 1000 maximum"}}
    answer = Reply(body=told)
    if way == "streamed":
        answer = Reply(body=sent([told]), headers=SSE)
    with pytest.raises(OverlongPromptError, match="prompt is too long"):
        await ask(connect, fault_server, protocol, way, answer)
    assert len(fault_server.requests) == 1


@each_way
async def test_a_wait_that_a_gateway_passes_on_is_kept_to(
    connect: Connect, fault_server: FaultServer, naps: list[float], way: str
) -> None:
    metadata = {"headers": {"Retry-After": "7"}}
    told = {"error": {"code": 429, "message": "slow down", "metadata": metadata}}
    failed = Reply(body=told)
    if way == "streamed":
        failed = Reply(body=sent([told]), headers=SSE)
    await ask(connect, fault_server, CHAT, way, failed, reply(CHAT, way, ANSWERS[CHAT]))
    assert naps[0] >= 7


@pytest.mark.parametrize("retries", [0, 2])
async def test_a_client_that_was_handed_in_tries_as_often_as_it_says(
    fault_server: FaultServer,
    naps: list[float],
    monkeypatch: pytest.MonkeyPatch,
    retries: int,
) -> None:
    async def no_sleep(*_: Any, **__: Any) -> None:
        pass

    monkeypatch.setattr("openai._base_client.AsyncAPIClient._sleep_for_retry", no_sleep)
    sdk = openai.AsyncOpenAI(api_key="k", base_url=f"{fault_server.url}/v1", max_retries=retries)
    client = OpenAIChatCompletionsClient(sdk)
    told = {"error": {"code": 502, "message": "gone"}}
    for failed in (Reply(body=told), Reply(502, told)):
        fault_server.requests.clear()
        fault_server.script(PATHS[CHAT], [failed])
        with pytest.raises(ModelError, match=r"502 from http.*gone"):
            await client.get_response(PROMPT, "m", {})
        assert len(fault_server.requests) == retries + 1
    await client.close()
