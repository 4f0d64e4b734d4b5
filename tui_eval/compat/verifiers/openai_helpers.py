"""Helpers of verifiers' client of chat completions, for classes that derive from it."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from tui_eval.clients.refused_prompts import kind_of_refusal
from tui_eval.messages import field_of, text_of

T = TypeVar("T")

OpenAIChatMessage: TypeAlias = dict[str, Any]
"""A message as it goes over the wire."""
OpenAIChatMessages: TypeAlias = list[OpenAIChatMessage]

DEFAULT_REASONING_FIELDS = ["reasoning", "reasoning_content", "reasoning_details"]
"""Names under which endpoints send what a model thought."""


def __getattr__(name: str) -> Any:
    if name != "AUTH_ERRORS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import anthropic
    import openai

    kinds = ("AuthenticationError", "PermissionDeniedError")
    return tuple(getattr(sdk, kind) for sdk in (openai, anthropic) for kind in kinds)


def content_to_text(content: Any) -> str:
    """The text of a message's content, its parts with spaces between them."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return " ".join(filter(None, (text_of([part]) for part in content if _is_text(part)))).strip()


def _is_text(part: Any) -> bool:
    return field_of(part, "type") in ("text", None) and bool(field_of(part, "text"))


def get_usage_field(usage: Any, key: str) -> Any:
    """A field of an object or of a dict; None where there is none."""
    return field_of(usage, key)


def parse_reasoning_content(message: Any) -> str | None:
    """The model's reasoning, under the first name that has text; None where there is none."""
    reported = message.model_dump()
    if not isinstance(reported, dict):
        return None
    texts = (reported.get(name) for name in DEFAULT_REASONING_FIELDS)
    return next((text for text in texts if isinstance(text, str)), None)


def handle_openai_overlong_prompt(
    func: Callable[..., Awaitable[T]],
) -> Callable[..., Awaitable[T]]:
    """A call that raises `OverlongPromptError` where the endpoint says so of its prompt."""

    @functools.wraps(func)
    async def wrapper(*args: Any, **kwargs: Any) -> T:
        try:
            return await func(*args, **kwargs)
        except Exception as error:
            kind = kind_of_refusal(error)
            if kind is None:
                raise
            raise kind(str(error)) from error

    return wrapper
