"""Tokens of every kind, as each protocol and provider reports them, whole and streamed."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint_scripts import ANSWERS, PATHS, Connect
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent

from tui_eval.messages import UserMessage
from tui_eval.types import Usage

CHAT = "openai_chat_completions"
COMPLETIONS = "openai_completions"
RESPONSES = "openai_responses"
MESSAGES = "anthropic_messages"
HIT = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
READ = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}

REPORTED: dict[str, tuple[str, dict[str, Any], dict[str, int]]] = {
    "OpenAI": (
        CHAT,
        {
            **HIT,
            "prompt_tokens_details": {"cached_tokens": 90, "audio_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 12, "audio_tokens": 4},
        },
        {
            "cached_prompt_tokens": 90,
            "reasoning_tokens": 12,
            "audio_prompt_tokens": 3,
            "audio_completion_tokens": 4,
        },
    ),
    "DeepSeek": (
        CHAT,
        {**HIT, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},
        {"cached_prompt_tokens": 64},
    ),
    "Moonshot": (CHAT, {**HIT, "cached_tokens": 64}, {"cached_prompt_tokens": 64}),
    "OpenRouter": (
        CHAT,
        {**HIT, "prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 30}},
        {"cached_prompt_tokens": 50, "cache_write_tokens": 30},
    ),
    "LiteLLM": (
        CHAT,
        {**HIT, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 30},
        {"cached_prompt_tokens": 50, "cache_write_tokens": 30},
    ),
    "a gateway that counts as Anthropic does": (
        CHAT,
        {"prompt_tokens": 10, "completion_tokens": 20, "cache_read_input_tokens": 90},
        {"cached_prompt_tokens": 90},
    ),
    "Google, whose total has the thoughts alone": (
        CHAT,
        {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 120},
        {"reasoning_tokens": 15},
    ),
    "xAI, whose thoughts are beside the completion": (
        CHAT,
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 15},
        },
        {"cached_prompt_tokens": 10, "reasoning_tokens": 15},
    ),
    "vLLM": (
        COMPLETIONS,
        {**HIT, "prompt_tokens_details": {"cached_tokens": 96}},
        {"cached_prompt_tokens": 96},
    ),
    "OpenAI's responses": (
        RESPONSES,
        {
            **READ,
            "input_tokens_details": {"cached_tokens": 90},
            "output_tokens_details": {"reasoning_tokens": 12},
        },
        {"cached_prompt_tokens": 90, "reasoning_tokens": 12},
    ),
    "Anthropic, which counts them apart": (
        MESSAGES,
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 65,
            "cache_creation_input_tokens": 30,
            "output_tokens": 20,
        },
        {"cached_prompt_tokens": 65, "cache_write_tokens": 30},
    ),
    "numbers as text and as fractions": (
        CHAT,
        {"prompt_tokens": "100", "completion_tokens": 20.0, "total_tokens": "120"},
        {},
    ),
}


async def reported_usage(
    connect: Connect, server: FaultServer, client_type: str, usage: Any, streamed: bool
) -> Usage:
    answer = {**ANSWERS[client_type], "usage": usage}
    reply = Reply(body=answer)
    if streamed:
        reply = Reply(body=sent(events_of(client_type, answer)), headers=SSE)
    server.script(PATHS[client_type], [reply])
    async with connect(client_type, stream=streamed) as client:
        prompt = [UserMessage(content="hi")]
        response = await client.get_response(prompt, "m", {"max_tokens": 5})
    assert response.usage is not None
    return response.usage


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", REPORTED)
async def test_tokens_of_each_kind_are_kept(
    connect: Connect, fault_server: FaultServer, name: str, streamed: bool
) -> None:
    client_type, usage, kinds = REPORTED[name]
    found = await reported_usage(connect, fault_server, client_type, usage, streamed)
    whole = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    assert found == Usage(**whole, **kinds)


@pytest.mark.parametrize("client_type", [CHAT, COMPLETIONS, RESPONSES, MESSAGES])
@pytest.mark.parametrize(
    "nonsense", [-5, 1e300, 10**30, "many", "9" * 5000, [], {}, True, float("nan"), float("inf")]
)
async def test_a_number_that_is_no_count_counts_as_none(
    connect: Connect, fault_server: FaultServer, client_type: str, nonsense: Any
) -> None:
    names = ("prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens",
             "cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens")  # fmt: skip
    usage = dict.fromkeys(names, nonsense)
    details = {"cached_tokens": nonsense, "reasoning_tokens": nonsense, "audio_tokens": nonsense}
    usage |= {"prompt_tokens_details": details, "output_tokens_details": details}
    found = await reported_usage(connect, fault_server, client_type, usage, False)
    assert not any(found.model_dump().values())
