"""The good answers of all protocols, and where they are given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from tui_eval.clients.base import Client

KEY = "sk-test-0123456789abcdef"
CHAT_ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1755000000,
    "model": "m",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}
MESSAGE_ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 1},
}
COMPLETION_ANSWER = {
    "id": "cmpl-1",
    "object": "text_completion",
    "created": 1755000000,
    "model": "m",
    "choices": [{"index": 0, "text": "ok", "finish_reason": "stop", "logprobs": None}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}
RESPONSE_ANSWER = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1755000000,
    "model": "m",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "ok", "annotations": []}],
        }
    ],
    "usage": {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 4,
    },
}
PATHS = {
    "openai_chat_completions": "/v1/chat/completions",
    "openai_chat_completions_token": "/v1/chat/completions",
    "openai_completions": "/v1/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
}
ANSWERS: dict[str, dict[str, Any]] = {
    "openai_chat_completions": CHAT_ANSWER,
    "openai_chat_completions_token": CHAT_ANSWER,
    "openai_completions": COMPLETION_ANSWER,
    "openai_responses": RESPONSE_ANSWER,
    "anthropic_messages": MESSAGE_ANSWER,
}
RECORDED = {
    "anthropic_thinking.json": "anthropic_messages",
    "aihubmix_responses_call.json": "openai_responses",
    "openai_responses_incomplete.json": "openai_responses",
    "openai_responses_reasoning.json": "openai_responses",
    "openai_completion.json": "openai_completions",
    "vllm_completion_tokens.json": "openai_completions",
    "gemini_signature.json": "openai_chat_completions",
    "openai_logprobs.json": "openai_chat_completions",
    "openai_tool_calls.json": "openai_chat_completions",
    "openrouter_reasoning_details.json": "openai_chat_completions",
    "openrouter_truncated.json": "openai_chat_completions",
    "vllm_chat_tokens.json": "openai_chat_completions",
    "vllm_reasoning.json": "openai_chat_completions",
}
"""Answers as providers gave them, in `PAYLOADS`."""
PAYLOADS = Path(__file__).parent / "clients" / "payloads"

Connect = Callable[..., AbstractAsyncContextManager[Client[Any, Any, Any, Any]]]


def take(way: str, client: Any) -> Any:
    """The client with one of its two ways of a call: its own short one, or `SDK's way`.

    The SDK's is what a class with a `get_native_response` of its own gets.
    """
    if way == "SDK's way":
        client._endpoint = None
    return client
