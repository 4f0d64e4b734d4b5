"""Reasoning that goes back: to which endpoint, and under which name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, CHAT_ANSWER, PAYLOADS, Connect
from ruled_endpoint import RuledEndpoint

from tui_eval.environments.multi_turn import MultiTurnEnv
from tui_eval.messages import AssistantMessage, UserMessage
from tui_eval.rubrics.rubric import Rubric

CHAT = "openai_chat_completions"
PROMPT: list[Any] = [UserMessage(content="hi")]
FIELDS = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks")
DETAIL = {"type": "reasoning.text", "text": "hm", "signature": "s"}
BLOCKS = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "redacted_thinking", "data": "x"},
]


def thinking(**reasoning: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "a", **reasoning}
    return {**CHAT_ANSWER, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def takes_all(body: dict[str, Any]) -> None:
    return None


def sent_back(body: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = body["messages"][1]
    return {name: said[name] for name in FIELDS if name in said}


@pytest.mark.parametrize(
    "reasoning",
    [
        {"reasoning": "hm"},
        {"reasoning_content": "hm"},
        {"reasoning_details": [DETAIL]},
        {"reasoning": "hm", "reasoning_details": [DETAIL]},
        {"thinking_blocks": BLOCKS},
        {"reasoning_content": "hm", "thinking_blocks": BLOCKS},
    ],
)
async def test_reasoning_goes_back_as_it_came_and_to_nobody_else(
    connect: Connect, reasoning: dict[str, Any]
) -> None:
    with (
        RuledEndpoint(takes_all, thinking(**reasoning)) as first,
        RuledEndpoint(takes_all) as other,
    ):
        async with (
            connect(CHAT, api_base_url=f"{first.url}/v1") as client,
            connect(CHAT, api_base_url=f"{other.url}/v1") as elsewhere,
        ):
            said = (await client.get_response(PROMPT, "m", {})).message
            await client.get_response([*PROMPT, said, *PROMPT], "m", {})
            await elsewhere.get_response([*PROMPT, said, *PROMPT], "m", {})

    assert sent_back(first.bodies[1]) == reasoning
    assert sent_back(other.bodies[0]) == {}


def has_nulls(sent: Any) -> bool:
    values = sent.values() if isinstance(sent, dict) else sent if isinstance(sent, list) else ()
    return sent is None or any(map(has_nulls, values))


@pytest.mark.parametrize("kind", [CHAT, "openai_responses"])
async def test_what_is_null_in_reasoning_does_not_go_back(connect: Connect, kind: str) -> None:
    answer = thinking(reasoning_details=[{**DETAIL, "format": None, "id": None}])
    if kind != CHAT:
        items = [
            {"type": "reasoning", "id": "r", "status": None, "summary": [],
             "encrypted_content": "A"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": None},
            {"type": "message", "role": "assistant", "phase": None, "content": [
                {"type": "output_text", "text": "a", "annotations": []}]},
        ]  # fmt: skip
        answer = {**ANSWERS[kind], "output": items}
    with RuledEndpoint(takes_all, answer) as endpoint:
        async with connect(kind, api_base_url=f"{endpoint.url}/v1") as client:
            said = (await client.get_response(PROMPT, "m", {})).message
            await client.get_response([*PROMPT, said, *PROMPT], "m", {})

    sent = endpoint.bodies[1].get("messages") or endpoint.bodies[1]["input"]
    assert "reasoning" in json.dumps(sent)
    assert not has_nulls(sent)


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("none", {}),
        ("reasoning_content", {"reasoning_content": "hm"}),
        ("reasoning_details", {"reasoning_details": [DETAIL]}),
        ("thinking_blocks", {}),
    ],
)
async def test_the_name_that_was_set_for_an_endpoint_wins(
    connect: Connect, field: str, sent: dict[str, Any]
) -> None:
    answer = thinking(reasoning="hm", reasoning_details=[DETAIL])
    with RuledEndpoint(takes_all, answer) as endpoint:
        url = f"{endpoint.url}/v1"
        async with connect(CHAT, api_base_url=url, reasoning_field=field) as client:
            said = (await client.get_response(PROMPT, "m", {})).message
            await client.get_response([*PROMPT, said, *PROMPT], "m", {})

    assert sent_back(endpoint.bodies[1]) == sent


async def test_reasoning_that_an_author_wrote_is_sent_as_it_is_called(connect: Connect) -> None:
    said = AssistantMessage(content="a", reasoning_content="hm")
    with RuledEndpoint(takes_all) as endpoint:
        async with connect(CHAT, api_base_url=f"{endpoint.url}/v1") as client:
            await client.get_response([*PROMPT, said, *PROMPT], "m", {})

    assert sent_back(endpoint.bodies[0]) == {"reasoning_content": "hm"}


@pytest.mark.parametrize(
    ("kind", "name", "where"),
    [
        ("anthropic_messages", "anthropic_thinking.json", "thinking"),
        ("openai_responses", "openai_responses_reasoning.json", "encrypted_content"),
    ],
)
async def test_signed_and_encrypted_thoughts_stay_at_their_endpoint(
    connect: Connect, kind: str, name: str, where: str
) -> None:
    answer = json.loads((PAYLOADS / name).read_bytes())
    with RuledEndpoint(takes_all, answer) as first, RuledEndpoint(takes_all) as other:
        async with (
            connect(kind, api_base_url=f"{first.url}/v1") as client,
            connect(kind, api_base_url=f"{other.url}/v1") as elsewhere,
        ):
            said = (await client.get_response(PROMPT, "m", {"max_tokens": 5})).message
            conversation = [*PROMPT, said, *PROMPT]
            await client.get_response(conversation, "m", {"max_tokens": 5})
            await elsewhere.get_response(conversation, "m", {"max_tokens": 5})

    def thoughts(body: dict[str, Any]) -> str:
        return json.dumps(body.get("messages") or body.get("input"))

    assert f'"{where}"' in thoughts(first.bodies[1])
    assert f'"{where}"' not in thoughts(other.bodies[0])
    assert said.content in thoughts(other.bodies[0])


async def test_the_signature_of_a_call_goes_to_nobody_else(connect: Connect) -> None:
    answer = json.loads((PAYLOADS / "gemini_signature.json").read_bytes())
    with RuledEndpoint(takes_all, answer) as first, RuledEndpoint(takes_all) as other:
        async with (
            connect(CHAT, api_base_url=f"{first.url}/v1") as client,
            connect(CHAT, api_base_url=f"{other.url}/v1") as elsewhere,
        ):
            said = (await client.get_response(PROMPT, "m", {})).message
            for one in (client, elsewhere):
                await one.get_response([*PROMPT, said, *PROMPT], "m", {})

    assert "extra_content" in first.bodies[1]["messages"][1]["tool_calls"][0]
    assert "extra_content" not in other.bodies[0]["messages"][1]["tool_calls"][0]


class TwoEndpoints(MultiTurnEnv):
    """Asks a second endpoint from the second turn on."""

    elsewhere: Any = None

    async def env_response(self, messages: Any, state: Any, **_: Any) -> Any:
        if len(state["trajectory"]) == 2:
            state["client"] = self.elsewhere
        return "go on"


async def test_a_conversation_that_changes_its_client_takes_no_reasoning_along(
    connect: Connect,
) -> None:
    with (
        RuledEndpoint(takes_all, thinking(reasoning="hm")) as first,
        RuledEndpoint(takes_all) as other,
    ):
        async with (
            connect(CHAT, api_base_url=f"{first.url}/v1") as client,
            connect(CHAT, api_base_url=f"{other.url}/v1") as elsewhere,
        ):
            row = {"prompt": PROMPT, "answer": "a", "example_id": 0}
            env = TwoEndpoints(max_turns=3, dataset=[row], rubric=Rubric())
            env.elsewhere = elsewhere
            state = await env.rollout(next(iter(env.get_dataset())), client, "m", {})

    assert state["error"] is None
    assert sent_back(first.bodies[1]) == {"reasoning": "hm"}
    assert sent_back(other.bodies[0]) == {}
