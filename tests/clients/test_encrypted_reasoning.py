"""Encrypted thoughts on their way through the calls of one conversation."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint_scripts import PATHS, RESPONSE_ANSWER, Connect
from ruled_endpoint import RuledEndpoint, openai_refusal, pydantic_refusal
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent

from tui_eval.clients import make_client
from tui_eval.messages import ToolMessage, UserMessage
from tui_eval.types import ClientConfig

KIND = "openai_responses"
ENCRYPTED = "reasoning.encrypted_content"
PROMPT: list[Any] = [UserMessage(content="hi")]
ITEMS = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "A"},
    {
        "type": "message", "id": "m0", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "looking", "annotations": []}],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "B"},
    {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "f", "arguments": "{}"},
]  # fmt: skip
THINKING = {**RESPONSE_ANSWER, "output": ITEMS}


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_thoughts_come_back_in_their_places(
    connect: Connect, fault_server: FaultServer, is_streamed: bool
) -> None:
    reply = Reply(body=THINKING)
    if is_streamed:
        reply = Reply(body=sent(events_of(KIND, THINKING, [3])), headers=SSE)
    fault_server.script(PATHS[KIND], [reply])

    async with connect(KIND, stream=is_streamed) as client:
        said = (await client.get_response(PROMPT, "m", {})).message
        results = [ToolMessage(tool_call_id=f"c{n}", content="x") for n in (1, 2)]
        await client.get_response([*PROMPT, said, *results], "m", {})

    first, second = [request.json() for request in fault_server.requests]
    assert first["include"] == second["include"] == [ENCRYPTED]
    assert first["store"] is False
    back = second["input"][1:6]
    assert [(item["type"], item["id"]) for item in back] == [
        (item["type"], item["id"]) for item in ITEMS
    ]
    assert [item.get("encrypted_content") for item in back] == ["A", None, None, "B", None]


@pytest.mark.parametrize(
    "refusal",
    [
        openai_refusal("include", "Encrypted content is not supported with this model."),
        (400, {"error": {"message": "Encrypted content is not supported with this model."}}),
        pydantic_refusal(("include", 0)),
        pydantic_refusal(("include",)),
        (400, {"error": {"message": "Unknown parameter: 'include'."}}),
    ],
)
async def test_encrypted_reasoning_is_not_requested_again_once_refused(
    connect: Connect, refusal: tuple[int, Any]
) -> None:
    with RuledEndpoint(lambda body: refusal if "include" in body else None) as endpoint:
        async with connect(KIND, api_base_url=f"{endpoint.url}/v1") as client:
            for _ in range(2):
                assert (await client.get_response(PROMPT, "m", {})).message.content == "ok"

    assert ["include" in body for body in endpoint.bodies] == [True, False, False]


def test_encrypted_reasoning_is_not_requested_of_models_without_it() -> None:
    def requests_reasoning(url: str, model: str, **given: Any) -> bool:
        config = ClientConfig(api_base_url=url, api_key_var="", client_type=KIND, **given)  # type: ignore[arg-type]
        return make_client(config).profile(model).encrypted_reasoning

    assert not requests_reasoning("https://api.openai.com/v1", "gpt-4.1-mini")
    assert requests_reasoning("https://api.openai.com/v1", "gpt-5")
    assert requests_reasoning("https://api.openai.com/v1", "o3")
    assert requests_reasoning("http://localhost:8000/v1", "gpt-4.1-mini")
    assert not requests_reasoning("http://localhost:8000/v1", "m", encrypted_reasoning=False)
