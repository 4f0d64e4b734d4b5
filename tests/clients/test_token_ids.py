"""Token ids and log probabilities of answers, and what a caller finds of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from tui_eval.clients.wire.answer_struct import decode_answer
from tui_eval.clients.wire.chat_answer import ChatAnswer, check_chat_answer, from_chat_answer
from tui_eval.clients.wire.completions import CompletionAnswer, from_completion_answer
from tui_eval.types import ResponseMessage

PAYLOADS = Path(__file__).parent / "payloads"


def read_chat(content: bytes, sdk: bool = False) -> ResponseMessage:
    answer: Any = (
        ChatCompletion.model_validate_json(content) if sdk else decode_answer(content, ChatAnswer)
    )
    check_chat_answer(answer)
    return from_chat_answer(answer).message


def changed(**choice: Any) -> bytes:
    payload = json.loads((PAYLOADS / "vllm_chat_tokens.json").read_bytes())
    payload["choices"][0].update(choice)
    return json.dumps(payload).encode()


@pytest.mark.parametrize("sdk", [False, True])
def test_a_chat_of_vllm_has_ids_of_prompt_and_completion(sdk: bool) -> None:
    message = read_chat((PAYLOADS / "vllm_chat_tokens.json").read_bytes(), sdk)

    assert message.tokens is not None
    assert message.tokens.model_dump() == {
        "prompt_ids": [151644, 872, 198],
        "prompt_mask": [0, 0, 0],
        "completion_ids": [13048, 151645],
        "completion_mask": [1, 1],
        "completion_logprobs": [-0.25, -0.001],
        "routed_experts": None,
    }


def test_a_text_completion_of_vllm_has_them_in_its_choice() -> None:
    content = (PAYLOADS / "vllm_completion_tokens.json").read_bytes()

    tokens = from_completion_answer(decode_answer(content, CompletionAnswer)).message.tokens

    assert tokens is not None
    assert (tokens.prompt_ids, tokens.completion_ids) == ([603, 11], [1378, 151645])
    assert (tokens.prompt_mask, tokens.completion_mask) == ([0, 0], [1, 1])
    assert tokens.completion_logprobs == [-0.5, -0.001]


def test_the_routing_of_experts_is_kept() -> None:
    message = read_chat(changed(routed_experts=[[[1, 2]]]))

    assert message.tokens is not None and message.tokens.routed_experts == [[[1, 2]]]


@pytest.mark.parametrize(
    "choice",
    [{"token_ids": None}, {"logprobs": None}, {"token_ids": [1]}, {"logprobs": {"content": None}}],
)
def test_ids_without_a_number_each_are_no_tokens(choice: dict[str, Any]) -> None:
    assert read_chat(changed(**choice)).tokens is None


@pytest.mark.parametrize("sdk", [False, True])
def test_log_probabilities_without_ids_are_kept_as_they_came(sdk: bool) -> None:
    content = (PAYLOADS / "openai_logprobs.json").read_bytes()

    message = read_chat(content, sdk)

    logprobs = message.get("logprobs")["content"]
    assert message.tokens is None
    assert [(token["token"], token["logprob"]) for token in logprobs] == [("Hello", -0.31725305)]
    assert [top["token"] for top in logprobs[0]["top_logprobs"]] == ["Hello", "Hi"]


def test_where_none_were_requested_there_are_none() -> None:
    message = read_chat((PAYLOADS / "vllm_reasoning.json").read_bytes())

    assert (message.tokens, "logprobs" in message) == (None, False)
