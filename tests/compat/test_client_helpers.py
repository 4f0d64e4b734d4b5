"""Helpers for classes that derive from verifiers' client of chat completions."""

from __future__ import annotations

import httpx2
import openai
import pytest

from tui_eval.compat import verifiers_alias
from tui_eval.errors import OverlongPromptError
from tui_eval.messages import AssistantMessage, TextContentPart


def test_texts_and_reasoning_are_taken_out() -> None:
    with verifiers_alias():
        from verifiers.clients.openai_chat_completions_client import (
            content_to_text,
            get_usage_field,
            parse_reasoning_content,
        )

    parts = [{"type": "text", "text": "one"}, {"type": "image_url"}, TextContentPart(text="two")]
    assert content_to_text(parts) == "one two"
    assert (content_to_text("as it is"), content_to_text(None)) == ("as it is", "")
    assert get_usage_field({"a": 1}, "a") == 1 and get_usage_field(object(), "a") is None
    message = AssistantMessage(content="x", reasoning_content="because")
    assert parse_reasoning_content(message) == "because"
    assert parse_reasoning_content(AssistantMessage(content="x")) is None


async def test_an_overlong_prompt_is_its_own_error_and_a_refused_key_stays_what_it_is() -> None:
    with verifiers_alias():
        from verifiers.clients.client import AUTH_ERRORS
        from verifiers.clients.openai_chat_completions_client import handle_openai_overlong_prompt

    def failure(kind: type[openai.APIStatusError], status: int, text: str) -> Exception:
        request = httpx2.Request("POST", "http://127.0.0.1/v1")
        return kind(text, response=httpx2.Response(status, request=request), body=None)

    @handle_openai_overlong_prompt
    async def call(error: Exception) -> None:
        raise error

    too_long = "This model's maximum context length is 10 tokens"
    with pytest.raises(OverlongPromptError):
        await call(failure(openai.BadRequestError, 400, too_long))
    with pytest.raises(AUTH_ERRORS):
        await call(failure(openai.AuthenticationError, 401, "no"))
