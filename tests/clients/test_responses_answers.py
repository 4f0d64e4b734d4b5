"""Answers of a responses endpoint."""

from __future__ import annotations

import json
from typing import Any

import pytest
from responses_payloads import PAYLOADS, read, text_item

from tui_eval.clients.wire.answer_struct import decode_answer
from tui_eval.clients.wire.failed_answers import ReportedError
from tui_eval.clients.wire.responses_answer import ResponsesAnswer
from tui_eval.clients.wire.responses_items import to_items
from tui_eval.clients.wire.responses_translation import (
    check_responses_answer,
    from_responses_answer,
)
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError


def answer_with(output: list[Any], **fields: Any) -> ResponsesAnswer:
    payload = {"id": "x", "status": "completed", "output": output, **fields}
    answer: ResponsesAnswer = decode_answer(json.dumps(payload).encode(), ResponsesAnswer)
    return answer


@pytest.mark.parametrize("sdk", [False, True])
def test_reads_reasoning_calls_and_usage_of_openai(sdk: bool) -> None:
    response = read("openai_responses_reasoning.json", sdk)

    message = response.message
    assert message.content == "I'll look."
    assert message.reasoning_content == "**Looking up the weather**\n\nTwo cities."
    assert [(c.id, c.name, c.arguments) for c in message.tool_calls or ()] == [
        ("call_a", "get_weather", '{"city":"Oslo"}'),
        ("call_b", "get_weather", '{"city":"Bergen"}'),
    ]
    assert (message.finish_reason, message.is_truncated) == ("tool_calls", False)
    assert (response.id, response.created) == ("resp_0888a46c", 1762941294)
    assert response.usage == {
        "prompt_tokens": 81,
        "reasoning_tokens": 64,
        "completion_tokens": 75,
        "total_tokens": 156,
        "cached_prompt_tokens": 0,
        "cache_write_tokens": 0,
        "audio_prompt_tokens": 0,
        "audio_completion_tokens": 0,
    }


@pytest.mark.parametrize("sdk", [False, True])
def test_a_recorded_answer_goes_back_in_its_order(sdk: bool) -> None:
    recorded = json.loads((PAYLOADS / "openai_responses_reasoning.json").read_bytes())["output"]
    recorded[1]["content"][0].pop("logprobs")

    items, _ = to_items([read("openai_responses_reasoning.json", sdk).message])

    assert items == recorded


def test_arguments_that_are_an_object_become_json_text() -> None:
    calls = read("aihubmix_responses_call.json").message.tool_calls or []

    assert [(c.id, json.loads(c.arguments)) for c in calls] == [
        ("call_PFtW", {"expression": "25*4"})
    ]


def test_an_answer_cut_off_within_its_reasoning_is_truncated_and_no_error() -> None:
    message = read("openai_responses_incomplete.json").message

    assert (message.content, message.finish_reason, message.is_truncated) == ("", "length", True)


def test_an_answer_that_a_filter_stopped_is_not_truncated() -> None:
    fields = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}

    message = from_responses_answer(answer_with([text_item("a")], **fields)).message

    assert (message.finish_reason, message.is_truncated) == ("content_filter", False)


def test_a_refusal_is_the_text_of_the_answer() -> None:
    answer = answer_with([text_item("No.", "refusal")])
    check_responses_answer(answer)

    assert from_responses_answer(answer).message.content == "No."


def test_reasoning_in_the_open_is_read() -> None:
    item = {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "2+2"}]}

    message = from_responses_answer(answer_with([item, text_item("4")])).message

    assert (message.reasoning_content, message.content) == ("2+2", "4")


def test_log_probabilities_are_kept_in_the_shape_of_a_chat() -> None:
    item = text_item("Hi")
    item["content"][0]["logprobs"] = [{"token": "Hi", "logprob": -0.5, "top_logprobs": []}]

    message = from_responses_answer(answer_with([item])).message

    assert message.get("logprobs") == {
        "content": [{"token": "Hi", "logprob": -0.5, "top_logprobs": []}]
    }


def test_a_failed_response_gives_its_reason() -> None:
    for sdk in (False, True):
        kind = ReportedError if sdk else InvalidModelResponseError
        with pytest.raises(kind, match="failed to generate a response"):
            read("openai_responses_failed.json", sdk)


def test_a_response_that_is_not_done_is_invalid() -> None:
    with pytest.raises(InvalidModelResponseError, match="not done: its status is 'queued'"):
        check_responses_answer(answer_with([], status="queued"))


@pytest.mark.parametrize("output", [[], [text_item("")], [{"type": "message", "content": None}]])
def test_a_response_with_nothing_in_it_that_has_no_status_is_empty(output: list[Any]) -> None:
    check_responses_answer(answer_with(output))
    with pytest.raises(EmptyModelResponseError):
        check_responses_answer(answer_with(output, status=None))
