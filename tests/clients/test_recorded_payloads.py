"""Answers as providers gave them, through the whole client, on both ways of a call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from endpoint_scripts import PATHS, PAYLOADS, RECORDED, Connect, take
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent

from tui_eval.errors import ModelError
from tui_eval.messages import ToolMessage, UserMessage
from tui_eval.types import Response

PROMPT = [UserMessage(content="hi")]
FAULTY = {
    "openai_responses_failed.json": ("openai_responses", "failed to generate"),
    "openrouter_error.json": ("openai_chat_completions", "Provider returned error"),
}


async def ask(client: Any, prompt: list[Any]) -> Response:
    response: Response = await client.get_response(prompt, "m", {"max_tokens": 5})
    return response


def test_every_payload_is_tried() -> None:
    assert {path.name for path in PAYLOADS.iterdir()} == {*RECORDED, *FAULTY}


@pytest.mark.parametrize("name", list(RECORDED))
async def test_both_ways_read_it_alike_and_send_it_back_alike(
    connect: Connect, fault_server: FaultServer, name: str
) -> None:
    client_type = RECORDED[name]
    fault_server.script(PATHS[client_type], [Reply(body=(PAYLOADS / name).read_bytes())])

    answers = []
    async with connect(client_type) as client:
        for way in ("short way", "SDK's way"):
            answer = await ask(take(way, client), PROMPT)
            if client_type != "openai_completions":
                await ask(client, [*PROMPT, answer.message, UserMessage(content="go on")])
            answers.append(answer.model_dump(exclude={"created"}))

    sent = [request.json() for request in fault_server.requests]
    half = len(sent) // 2
    assert answers[0] == answers[1]
    assert sent[:half] == sent[half:]


async def test_a_streamed_message_is_put_together_as_by_the_sdk(
    connect: Connect, fault_server: FaultServer
) -> None:
    answer = json.loads((PAYLOADS / "anthropic_thinking.json").read_bytes())
    body = sent(events_of("anthropic_messages", answer, [3]))
    fault_server.script(PATHS["anthropic_messages"], [Reply(body=body, headers=SSE)])

    async with connect("anthropic_messages", stream=True) as client:
        ours = await ask(client, PROMPT)
        prompt: Any = [{"role": "user", "content": "hi"}]
        async with client.client.messages.stream(
            model="m", max_tokens=5, messages=prompt
        ) as stream:
            theirs = await client.from_native_response(await stream.get_final_message())

    assert ours.model_dump(exclude={"created"}) == theirs.model_dump(exclude={"created"})


@pytest.mark.parametrize("name", list(FAULTY))
@pytest.mark.parametrize("way", ["short way", "SDK's way"])
async def test_an_error_in_a_successful_answer_is_reported(
    connect: Connect, fault_server: FaultServer, name: str, way: str
) -> None:
    client_type, reported = FAULTY[name]
    fault_server.script(PATHS[client_type], [Reply(body=(PAYLOADS / name).read_bytes())])

    async with connect(client_type, max_retries=0) as client:
        with pytest.raises(ModelError, match=f"50[02] from http.*: .*{reported}"):
            await ask(take(way, client), PROMPT)


async def sent_back(connect: Connect, fault_server: FaultServer, name: str) -> dict[str, Any]:
    """The assistant's message as a chat client sends it back."""
    fault_server.script(
        PATHS["openai_chat_completions"], [Reply(body=(PAYLOADS / name).read_bytes())]
    )
    async with connect() as client:
        message = (await ask(client, PROMPT)).message
        results = [ToolMessage(tool_call_id=c.id, content="rain") for c in message.tool_calls or ()]
        await ask(client, [*PROMPT, message, *results])
    back: dict[str, Any] = fault_server.requests[1].json()["messages"][1]
    return back


async def test_details_of_reasoning_go_back_with_their_signatures(
    connect: Connect, fault_server: FaultServer
) -> None:
    back = await sent_back(connect, fault_server, "openrouter_reasoning_details.json")

    details = back["reasoning_details"]
    assert [(one["type"], one.get("signature"), one.get("data")) for one in details] == [
        ("reasoning.text", "EqQB", None),
        ("reasoning.encrypted", None, "Zm9v"),
    ]
    assert (back["reasoning"], "reasoning_content" in back) == ("Oslo first.", False)


async def test_the_signature_of_a_call_goes_back_with_it(
    connect: Connect, fault_server: FaultServer
) -> None:
    back = await sent_back(connect, fault_server, "gemini_signature.json")

    assert back["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "CrICAdHtim"}}
