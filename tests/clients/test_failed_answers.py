"""Failures inside a 200, and streams that broke off: in every protocol and way of a call."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from ended_answers import (
    CHAT,
    COMPLETIONS,
    MESSAGES,
    PROMPT,
    PROTOCOLS,
    TOKEN,
    WAYS,
    Body,
    ask,
    ended,
    outcome,
    reply,
)
from endpoint_scripts import ANSWERS, PATHS, Connect
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent
from tiers import first_always

from tui_eval.clients.openai_chat_completions import OpenAIChatCompletionsClient
from tui_eval.errors import (
    InvalidModelResponseError,
    ModelError,
    OverlongPromptError,
    PromptRefusedError,
)

each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
each_way = pytest.mark.parametrize("way", WAYS)


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


def failing(protocol: str, place: str, reported: Any) -> Body:
    if place == "in place of the answer":
        return {"type": "error", "error": reported}
    text = "half an" if place == "beside half of it" else None
    return {**ended(protocol, text, "stop"), "error": reported}


@pytest.mark.parametrize("way", ["whole", "SDK's way"])
@each_protocol
@pytest.mark.parametrize("place", first_always(PLACES))
@pytest.mark.parametrize(("reported", "status"), FAILURES)
async def test_a_failure_in_a_200_is_tried_again_like_its_status(
    connect: Connect,
    fault_server: FaultServer,
    naps: list[float],
    protocol: str,
    way: str,
    place: str,
    reported: Body,
    status: int,
) -> None:
    failed = Reply(body=failing(protocol, place, reported))
    whole = Reply(body=ANSWERS[protocol])
    response = await ask(connect, fault_server, protocol, way, failed, whole, max_retries=2)
    assert outcome(response) == ("ok", "stop", False)
    assert len(naps) == 1
    with pytest.raises(ModelError) as raised:
        await ask(connect, fault_server, protocol, way, failed, max_retries=1)
    error = raised.value
    url = f"{fault_server.url}{PATHS[protocol]}"
    assert str(error).startswith(f"{status} from {url}: {reported['message']} (tried ")
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
async def test_an_overlong_prompt_inside_a_200_is_recognised(
    connect: Connect, fault_server: FaultServer, protocol: str, way: str
) -> None:
    reported = {"error": {"message": "prompt is too long: 2000 tokens > 1000 maximum"}}
    answer = Reply(body=reported)
    if way == "streamed":
        answer = Reply(body=sent([reported]), headers=SSE)
    with pytest.raises(OverlongPromptError, match="prompt is too long"):
        await ask(connect, fault_server, protocol, way, answer)
    assert len(fault_server.requests) == 1


@each_way
async def test_a_wait_that_a_gateway_passes_on_is_kept_to(
    connect: Connect, fault_server: FaultServer, naps: list[float], way: str
) -> None:
    metadata = {"headers": {"Retry-After": "7"}}
    reported = {"error": {"code": 429, "message": "slow down", "metadata": metadata}}
    failed = Reply(body=reported)
    if way == "streamed":
        failed = Reply(body=sent([reported]), headers=SSE)
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
    reported = {"error": {"code": 502, "message": "gone"}}
    for failed in (Reply(body=reported), Reply(502, reported)):
        fault_server.requests.clear()
        fault_server.script(PATHS[CHAT], [failed])
        with pytest.raises(ModelError, match=r"502 from http.*gone"):
            await client.get_response(PROMPT, "m", {})
        assert len(fault_server.requests) == retries + 1
    await client.close()
