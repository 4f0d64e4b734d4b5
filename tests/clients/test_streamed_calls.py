"""Calls that ask for streams: what is sent, what comes back, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable
from typing import Any

import openai
import pytest
from endpoint_scripts import ANSWERS, PATHS, PAYLOADS, Connect
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent

from tui_eval.errors import (
    InvalidModelResponseError,
    ModelError,
    OverlongPromptError,
)
from tui_eval.messages import UserMessage
from tui_eval.observer import SilentObserver
from tui_eval.types import State

CHAT = "openai_chat_completions"
COMPLETIONS = "openai_completions"
MESSAGES = "anthropic_messages"
RESPONSES = "openai_responses"
PROMPT = [UserMessage(content="hi")]


def stream(*events: Any, **fields: Any) -> Reply:
    return Reply(body=sent(events), headers=SSE, **fields)


def whole_stream(client_type: str, **fields: Any) -> Reply:
    return stream(*events_of(client_type, ANSWERS[client_type]), **fields)


def first_half(client_type: str) -> list[Any]:
    """Events of an answer up to its first text."""
    events = events_of(client_type, ANSWERS[client_type])
    place = next(n for n, event in enumerate(events) if '"o"' in json.dumps(event))
    return events[: place + 1]


class Receiver(SilentObserver):
    """Receives the text of every answer."""

    def __init__(self) -> None:
        self.answers: list[list[tuple[str, str]]] = []

    def answer_begins(self) -> Callable[[str, str], None]:
        received: list[tuple[str, str]] = []
        self.answers.append(received)
        return lambda kind, text: received.append((kind, text))


async def ask(
    connect: Connect, client_type: str, observer: Receiver | None = None, **settings: Any
) -> Any:
    state = State()
    state.observer = observer or Receiver()
    async with connect(client_type, stream=True, **settings) as client:
        return await client.get_response(
            PROMPT, "m", {"temperature": 0.5, "max_tokens": 5}, state=state
        )


async def failure(connect: Connect, client_type: str, **settings: Any) -> Exception:
    with pytest.raises(ModelError) as raised:
        await ask(connect, client_type, **settings)
    return raised.value


async def test_a_streamed_answer_is_the_whole_one_and_its_text_is_received(
    connect: Connect, fault_server: FaultServer, client_type: str
) -> None:
    path = PATHS[client_type]
    fault_server.script(path, [whole_stream(client_type), Reply(body=ANSWERS[client_type])])
    receiver = Receiver()
    answer = await ask(connect, client_type, receiver)
    assert receiver.answers == [[("text", "o"), ("text", "k")]]
    body = fault_server.requests[0].json()
    assert body["stream"] is True
    assert body["temperature"] == 0.5
    counts = {"include_usage": True} if client_type in (CHAT, COMPLETIONS) else None
    assert body.get("stream_options") == counts
    async with connect(client_type) as client:
        whole = await client.get_response(PROMPT, "m", {"max_tokens": 5})
    assert whole.model_dump(exclude={"created"}) == answer.model_dump(exclude={"created"})
    assert fault_server.requests[1].json()["stream"] is False
    assert fault_server.connections == 2, "one for each client"


async def test_text_is_received_before_the_answer_is_whole(
    connect: Connect, fault_server: FaultServer, client_type: str
) -> None:
    resume = threading.Event()
    hold = (len(sent(first_half(client_type))), resume)
    fault_server.script(PATHS[client_type], [whole_stream(client_type, hold=hold)])
    receiver = Receiver()
    pending = asyncio.create_task(ask(connect, client_type, receiver))
    async with asyncio.timeout(30):
        while receiver.answers != [[("text", "o")]] and not pending.done():
            await asyncio.sleep(0.005)
        assert not pending.done()
        resume.set()
        assert (await pending).message.content == "ok"


@pytest.mark.parametrize("name", ["anthropic_thinking.json", "openai_responses_reasoning.json"])
async def test_thinking_and_calls_are_received_by_their_kind(
    connect: Connect, fault_server: FaultServer, name: str
) -> None:
    client_type = MESSAGES if name.startswith("anthropic") else RESPONSES
    events = events_of(client_type, json.loads((PAYLOADS / name).read_bytes()), [4])
    fault_server.script(PATHS[client_type], [stream(*events)])
    receiver = Receiver()
    answer = (await ask(connect, client_type, receiver)).message
    (received,) = receiver.answers
    texts = {kind: "".join(text for k, text in received if k == kind) for kind, _ in received}
    assert texts["text"] == answer.content == "I'll look."
    assert texts["reasoning"] == answer.reasoning_content
    assert texts["tool"] == "\n".join(f"{c.name} {c.arguments}" for c in answer.tool_calls or ())


async def test_an_endpoint_that_answers_whole_all_the_same_is_understood(
    connect: Connect, fault_server: FaultServer, client_type: str
) -> None:
    fault_server.script(PATHS[client_type], [Reply(body=ANSWERS[client_type])])
    assert (await ask(connect, client_type)).message.content == "ok"


async def test_what_comes_behind_the_end_is_not_waited_for(
    connect: Connect, fault_server: FaultServer, client_type: str
) -> None:
    done = sent(events_of(client_type, ANSWERS[client_type]))
    body = done + sent([{"type": "error", "error": {"message": "too late", "code": 500}}])
    hold = (len(done), threading.Event())
    fault_server.script(PATHS[client_type], [Reply(body=body, headers=SSE, hold=hold)])
    assert (await ask(connect, client_type, timeout=30)).message.content == "ok"
    assert len(fault_server.requests) == 1


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
LIMIT = {"code": "rate_limit_exceeded", "message": "slow down", "param": None}
FAILED = {**ANSWERS[RESPONSES], "status": "failed", "output": []}
PASSING = [
    (CHAT, {"error": {"message": "out of memory", "code": 500}}, 500),
    (CHAT, {"error": {"message": "slow down", "code": "429"}}, 429),
    (CHAT, {"error": {"message": "it broke", "type": "server_error", "code": None}}, 500),
    (COMPLETIONS, {"error": {"message": "out of memory", "code": 500}}, 500),
    (MESSAGES, OVERLOADED, 529),
    (MESSAGES, {"type": "error", "error": {"type": "api_error", "message": "it broke"}}, 500),
    (RESPONSES, {"type": "error", **LIMIT}, 429),
    (RESPONSES, {"type": "error", "error": LIMIT}, 429),
    (RESPONSES, {"type": "response.failed", "response": {**FAILED, "error": LIMIT}}, 429),
]


@pytest.mark.parametrize(("client_type", "reported", "status"), PASSING)
async def test_a_transient_fault_in_the_middle_is_retried_and_finally_reported(
    connect: Connect,
    fault_server: FaultServer,
    naps: list[float],
    client_type: str,
    reported: dict[str, Any],
    status: int,
) -> None:
    broken = stream(*first_half(client_type), reported)
    fault_server.script(PATHS[client_type], [broken, whole_stream(client_type), broken])
    receiver = Receiver()
    answer = await ask(connect, client_type, receiver, max_retries=2)
    assert answer.message.content == "ok"
    assert len(naps) == 1
    assert receiver.answers == [[("text", "o")], [("text", "o"), ("text", "k")]]
    error = await failure(connect, client_type, max_retries=1, rate_limit_timeout=20.0)
    assert getattr(error.__cause__, "status_code", None) == status
    assert str(error).startswith(f"{status} from {fault_server.url}{PATHS[client_type]}: ")
    assert re.search(r"\(tried \d+ times\)$", str(error))


@pytest.mark.parametrize("cut", ["ends early", "ends in an event", "is cut", "is refused"])
async def test_a_broken_stream_is_tried_again_from_the_beginning(
    connect: Connect, fault_server: FaultServer, naps: list[float], client_type: str, cut: str
) -> None:
    half = first_half(client_type)
    broken = {
        "ends early": stream(*half),
        "ends in an event": Reply(body=sent(half) + b'data: {"choi', headers=SSE),
        "is cut": whole_stream(client_type, cut=len(sent(half)) + 10),
        "is refused": Reply(503, {"error": {"message": "busy"}}),
    }[cut]
    fault_server.script(PATHS[client_type], [broken, whole_stream(client_type)])
    receiver = Receiver()
    answer = await ask(connect, client_type, receiver, max_retries=2)
    assert answer.message.content == "ok"
    assert len(naps) == 1
    assert len(receiver.answers) == 2
    assert receiver.answers[1] == [("text", "o"), ("text", "k")]


async def test_a_stream_that_always_breaks_says_so(
    connect: Connect, fault_server: FaultServer, naps: list[float], client_type: str
) -> None:
    fault_server.script(PATHS[client_type], [stream(*first_half(client_type))])
    error = await failure(connect, client_type, max_retries=1)
    assert "the stream ended before the answer did" in str(error)
    assert str(error).endswith("(tried 2 times)")


@pytest.mark.parametrize(
    ("client_type", "reported"),
    [
        (CHAT, {"error": {"message": "no such adapter"}}),
        (CHAT, {"error": "no such adapter"}),
        (MESSAGES, {"type": "error", "error": {"type": "new_error", "message": "no such adapter"}}),
        (RESPONSES, {"type": "error", "code": "new_error", "message": "no such adapter"}),
        (
            RESPONSES,
            {
                "type": "response.failed",
                "response": {**FAILED, "error": {"code": "bad", "message": "no such adapter"}},
            },
        ),
    ],
)
async def test_an_error_without_status_is_reported_and_not_tried_again_and_no_half_is_taken(
    connect: Connect, fault_server: FaultServer, client_type: str, reported: dict[str, Any]
) -> None:
    fault_server.script(PATHS[client_type], [stream(*first_half(client_type), reported)])
    error = await failure(connect, client_type, max_retries=2)
    assert isinstance(error, InvalidModelResponseError)
    assert "no such adapter" in str(error)
    assert len(fault_server.requests) == 1


@pytest.mark.parametrize(
    ("client_type", "reported"),
    [
        (
            CHAT,
            {"message": "pay first", "type": "insufficient_quota", "code": "insufficient_quota"},
        ),
        (RESPONSES, {"message": "pay first", "code": "insufficient_quota"}),
    ],
)
async def test_a_spent_quota_in_the_middle_is_not_tried_again(
    connect: Connect, fault_server: FaultServer, client_type: str, reported: dict[str, Any]
) -> None:
    events = [*first_half(client_type), {"type": "error", "error": reported}]
    fault_server.script(PATHS[client_type], [stream(*events)])
    error = await failure(connect, client_type, max_retries=2)
    assert isinstance(error.__cause__, openai.RateLimitError)
    assert len(fault_server.requests) == 1


async def test_a_prompt_that_turns_out_too_long_in_a_stream_is_an_error_of_its_own(
    connect: Connect, fault_server: FaultServer
) -> None:
    reported = {
        "code": "context_length_exceeded",
        "message": "Your input exceeds the context window",
    }
    fault_server.script(PATHS[RESPONSES], [stream({"type": "error", "error": reported})])
    with pytest.raises(OverlongPromptError, match="exceeds the context window"):
        await ask(connect, RESPONSES)


@pytest.mark.parametrize("data", ["<html>", '{"type": "message_start", ', "[7]", '{"id": [], '])
async def test_what_is_no_json_in_a_stream_is_an_invalid_answer(
    connect: Connect, fault_server: FaultServer, client_type: str, data: str
) -> None:
    fault_server.script(PATHS[client_type], [stream(*first_half(client_type), data)])
    error = await failure(connect, client_type, max_retries=2)
    assert isinstance(error, InvalidModelResponseError)
    assert f"{PATHS[client_type]} answered with no usable JSON" in str(error)
    assert len(fault_server.requests) == 1


async def test_a_page_of_html_in_place_of_a_stream_says_so(
    connect: Connect, fault_server: FaultServer, client_type: str
) -> None:
    page = Reply(body=b"<html>Hello</html>", headers={"Content-Type": "text/html"})
    fault_server.script(PATHS[client_type], [page])
    error = await failure(connect, client_type, max_retries=2)
    assert isinstance(error, InvalidModelResponseError)
    assert "<html>Hello" in str(error)


async def test_a_part_of_a_block_that_never_began_is_an_invalid_answer(
    connect: Connect, fault_server: FaultServer
) -> None:
    events = events_of(MESSAGES, ANSWERS[MESSAGES])
    broken = [event for event in events if event["type"] != "content_block_start"]
    fault_server.script(PATHS[MESSAGES], [stream(*broken)])
    error = await failure(connect, MESSAGES)
    assert isinstance(error, InvalidModelResponseError)
    assert "block 0" in str(error)


async def test_an_answer_cut_off_before_its_first_word_is_truncated(
    connect: Connect, fault_server: FaultServer
) -> None:
    details = {"reason": "max_output_tokens"}
    nothing = {
        **ANSWERS[RESPONSES], "output": [], "status": "incomplete", "incomplete_details": details
    }  # fmt: skip
    fault_server.script(PATHS[RESPONSES], [stream(*events_of(RESPONSES, nothing))])
    message = (await ask(connect, RESPONSES)).message
    assert (message.content, message.finish_reason, message.is_truncated) == ("", "length", True)


async def test_a_stream_that_never_ends_is_given_up_in_time(
    connect: Connect, fault_server: FaultServer, client_type: str
) -> None:
    hold = (len(sent(first_half(client_type))), threading.Event())
    fault_server.script(PATHS[client_type], [whole_stream(client_type, hold=hold)])
    error = await failure(connect, client_type, max_retries=2, timeout=0.5)
    assert "within 0.5 s" in str(error)
    assert "Timeout" in type(error.__cause__).__name__
    assert len(fault_server.requests) <= 1, "it is not asked again"
