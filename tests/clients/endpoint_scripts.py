"""The good answers of both protocols, and where they are given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
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
PATHS = {
    "openai_chat_completions": "/v1/chat/completions",
    "anthropic_messages": "/v1/messages",
}
ANSWERS = {"openai_chat_completions": CHAT_ANSWER, "anthropic_messages": MESSAGE_ANSWER}

Connect = Callable[..., AbstractAsyncContextManager[Client[Any, Any, Any, Any]]]


def take(way: str, client: Any) -> Any:
    """The client with one of its two ways of a call: its own short one, or `SDK's way`.

    The SDK's is what a class with a `get_native_response` of its own gets.
    """
    if way == "SDK's way":
        client._endpoint = None
    return client
