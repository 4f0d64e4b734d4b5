"""Malformed arguments go back in a form that strict servers take, and are kept as written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, PATHS, Connect, take
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from tui_eval.runs.row import build_row, encode_row

CHAT = "openai_chat_completions"
TOKEN = "openai_chat_completions_token"
RESPONSES = "openai_responses"
MESSAGES = "anthropic_messages"
PROTOCOLS = [CHAT, TOKEN, RESPONSES, MESSAGES]
UNQUOTED = '{"city": "He said "Ulm" twice"}'


def back(protocol: str, body: Any) -> Any:
    """The arguments of the call in a request, as a strict server reads them."""
    if protocol == MESSAGES:
        (use,) = (block for message in body["messages"] if isinstance(message["content"], list)
                  for block in message["content"] if block["type"] == "tool_use")  # fmt: skip
        return use["input"]
    if protocol == RESPONSES:
        (text,) = (one["arguments"] for one in body["input"] if one.get("type") == "function_call")
    else:
        calls = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
        text = calls[0]["function"]["arguments"]
    return json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize("way", ["short way", "SDK's way"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("written", "replayed"),
    [
        ('{"city": "Ulm"}', {"city": "Ulm"}),
        ("", {}),
        ("  ", {}),
        (UNQUOTED, {"unparsed_arguments": UNQUOTED}),
        ('{"city": "Ul', {"unparsed_arguments": '{"city": "Ul'}),
        ('["Ulm"]', {"unparsed_arguments": '["Ulm"]'}),
        ('"Ulm"', {"unparsed_arguments": '"Ulm"'}),
        ("null", {"unparsed_arguments": "null"}),
        ('{"n": NaN}', {"unparsed_arguments": '{"n": NaN}'}),
        ('{"city": "\\ud800"}', {"unparsed_arguments": '{"city": "\\ud800"}'}),
        ('{"city": "\ud800"}', {"unparsed_arguments": '{"city": "\ufffd"}'}),
        ('{"city": "\ud83d\ude00"}', {"unparsed_arguments": '{"city": "\U0001f600"}'}),
        ('{"a":' * 3000, {"unparsed_arguments": '{"a":' * 3000}),
    ],
)
async def test_arguments_go_back_as_an_object(
    connect: Connect,
    fault_server: FaultServer,
    protocol: str,
    way: str,
    written: str,
    replayed: dict[str, Any],
) -> None:
    fault_server.script(PATHS[protocol], [Reply(body=ANSWERS[protocol])])
    call = ToolCall(id="c1", name="lookup", arguments=written)
    talk = [
        UserMessage(content="hi"),
        AssistantMessage(content="", tool_calls=[call]),
        ToolMessage(tool_call_id="c1", content="what?"),
    ]
    async with connect(protocol) as client:
        await take(way, client).get_response(talk, "m", {"max_tokens": 5})
    request = fault_server.requests[0]
    assert back(protocol, request.json()) == replayed
    assert b"\\ud800" not in request.body.replace(b"\\\\ud800", b"")
    assert call.arguments == written


def call_answer(protocol: str, arguments: str) -> dict[str, Any]:
    body = ANSWERS[protocol]
    if protocol == RESPONSES:
        call = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "lookup",
                "arguments": arguments}  # fmt: skip
        return {**body, "output": [call]}
    if protocol == MESSAGES:
        use = {"type": "tool_use", "id": "c1", "name": "lookup", "input": arguments}
        return {**body, "content": [use], "stop_reason": "tool_use"}
    function = {"name": "lookup", "arguments": arguments}
    message = {"content": None, "tool_calls": [{"id": "c1", "function": function}]}
    return {**body, "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


async def lookup(city: str) -> str:
    """Looks a city up."""
    return f"{city} is fine"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_slip_is_reported_to_the_model_and_the_row_has_what_it_wrote(
    connect: Connect, fault_server: FaultServer, protocol: str
) -> None:
    replies = [call_answer(protocol, UNQUOTED), ANSWERS[protocol]]
    fault_server.script(PATHS[protocol], [Reply(body=body) for body in replies])
    env = vf.ToolEnv(tools=[lookup], dataset=[{"question": "q"}], rubric=vf.Rubric(), max_turns=3)
    row: Any = env.get_dataset()[0]
    async with connect(protocol, max_retries=0) as client:
        state = await env.rollout(row, client, "m", {"max_tokens": 50})
    assert state["error"] is None
    call_turn, result, answered = state["completion"]
    assert (call_turn.tool_calls[0].arguments, answered.content) == (UNQUOTED, "ok")
    assert result.content.startswith("Expecting ',' delimiter")
    assert back(protocol, fault_server.requests[1].json()) == {"unparsed_arguments": UNQUOTED}
    saved = json.loads(encode_row(build_row(state, number=0, attempt=1)))
    assert json.loads(saved["completion"][0]["tool_calls"][0])["arguments"] == UNQUOTED
