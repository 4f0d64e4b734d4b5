"""Prompts refused for what they are: detected whoever serves, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint_scripts import PATHS, Connect, take
from servers import FaultServer, Reply
from tiers import first_always

from tui_eval.errors import ModelError, OverlongPromptError, PromptRefusedError
from tui_eval.messages import UserMessage

LITELLM = "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - "
OVERLONG: dict[str, Any] = {
    "OpenAI": {"message": "Please adjust your input.", "code": "context_length_exceeded"},
    "OpenAI, with its answer": {
        "message": "This model's maximum context length is 8192 tokens. However, you requested "
        "9000 tokens (1000 in the messages, 8000 in the completion)."
    },
    "vLLM": {
        "message": "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's "
        "maximum context length is 4096 tokens and your request has 100 input tokens "
        "(4000 > 4096 - 100)."
    },
    "vLLM's engine": {
        "message": "The decoder prompt (length 5000) is longer than the maximum model length of "
        "4096. Make sure that `max_model_len` is no smaller than the number of text tokens."
    },
    "SGLang": {
        "message": "The input (5000 tokens) is longer than the model's context length (4096 "
        "tokens)."
    },
    "llama.cpp": {
        "message": "request (519 tokens) exceeds the available context size (512 tokens)",
        "type": "exceed_context_size_error",
        "code": 400,
    },
    "llama-cpp-python": {"message": "Requested tokens (600) exceed context window of 512"},
    "TGI": {"message": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4"},
    "TGI, without its answer": {
        "message": "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000"
    },
    "TensorRT-LLM": {"message": "Prompt length (5000) exceeds maximum input length (4096)."},
    "Zhipu": {"code": "1261", "message": "Prompt 超长"},
    "Claude": {"message": "prompt is too long: 208310 tokens > 200000 maximum"},
    "Claude, with its answer": {
        "message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"
    },
    "Claude behind LiteLLM": {"message": f'{LITELLM}{{"message": "prompt is too long: 2 > 1"}}'},
    "Bedrock": {"message": "Input is too long for requested model."},
    "Gemini": {
        "message": "The input token count (1200000) exceeds the maximum number of tokens allowed"
    },
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Moonshot": {"message": "Invalid request: Your request exceeded model token limit: 8192"},
    "Qwen": {"message": "Range of input length should be [1, 30720]"},
    "GitHub": {"code": "tokens_limit_reached", "message": "Request body too large. Max size: 8000"},
}
FILTERED: dict[str, tuple[int, Any]] = {
    "Azure": (
        400,
        {
            "message": "The response was filtered due to the prompt triggering Azure OpenAI's "
            "content management policy.",
            "code": "content_filter",
            "innererror": {"code": "ResponsibleAIPolicyViolation"},
        },
    ),
    "OpenAI": (
        400,
        {
            "message": "Invalid prompt: your prompt was flagged as potentially violating our "
            "usage policy.",
            "code": "invalid_prompt",
        },
    ),
    "OpenAI's images": (400, {"code": "content_policy_violation", "message": "Rejected."}),
    "Claude": (400, {"message": "Output blocked by content filtering policy"}),
    "OpenRouter": (
        403,
        {
            "code": 403,
            "message": "Your chosen model requires moderation and your input was flagged",
        },
    ),
    "xAI": (403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"),
    "LiteLLM": (400, {"message": "litellm.ContentPolicyViolationError: AzureException - no"}),
    "Qwen": (400, {"code": "data_inspection_failed", "message": "inappropriate content."}),
    "DeepSeek": (400, {"message": "Content Exists Risk"}),
}
OTHER: dict[str, tuple[int, Any]] = {
    "a limit on tokens a minute": (
        413,
        {
            "message": "Request too large for model m on tokens per minute (TPM): Limit 6000, "
            "Requested 7000, please reduce the length of the messages and try again.",
            "code": "rate_limit_exceeded",
        },
    ),
    "an answer longer than the model's": (
        400,
        {
            "message": "max_tokens is too large: 100000. This model supports at most 16384 "
            "completion tokens, whereas you provided 100000.",
            "param": "max_tokens",
        },
    ),
    "an answer alone longer than the context": (
        400,
        {
            "message": "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's "
            "maximum context length is 4096 tokens and your request has 100 input tokens."
        },
    ),
    "an answer longer than Claude's": (
        400,
        {"message": "max_tokens: 300000 > 64000, which is the maximum allowed number"},
    ),
    "a router's settings": (
        400,
        {"message": "litellm.BadRequestError: no. context_window_fallbacks=None. fallbacks=None."},
    ),
    "a wrong key": (403, {"message": "this key may not use the model"}),
}

each_protocol = pytest.mark.parametrize("protocol", list(PATHS))
each_way = pytest.mark.parametrize("way", ["short way", "SDK's way"])


async def failure(
    connect: Connect, server: FaultServer, protocol: str, way: str, status: int, reported: Any
) -> ModelError | OverlongPromptError:
    server.script(PATHS[protocol], [Reply(status, {"error": reported})])
    async with connect(protocol, max_retries=0) as client:
        with pytest.raises((ModelError, OverlongPromptError)) as raised:
            await take(way, client).get_response([UserMessage(content="hi")], "m", {})
    return raised.value


@pytest.mark.parametrize("way", first_always(["short way", "SDK's way"]))
@each_protocol
@pytest.mark.parametrize("who", list(OVERLONG))
async def test_a_prompt_that_outgrew_the_context_is_one_whoever_serves(
    connect: Connect, fault_server: FaultServer, protocol: str, way: str, who: str
) -> None:
    error = await failure(connect, fault_server, protocol, way, 400, OVERLONG[who])
    assert type(error) is OverlongPromptError


@each_way
@each_protocol
@pytest.mark.parametrize("who", list(FILTERED))
async def test_a_prompt_refused_for_what_it_holds_is_the_models_error(
    connect: Connect, fault_server: FaultServer, protocol: str, way: str, who: str
) -> None:
    error = await failure(connect, fault_server, protocol, way, *FILTERED[who])
    assert type(error) is PromptRefusedError
    assert error.error_class == "model"


@each_way
@each_protocol
@pytest.mark.parametrize("what", list(OTHER))
async def test_other_refusals_are_the_endpoints(
    connect: Connect, fault_server: FaultServer, protocol: str, way: str, what: str
) -> None:
    error = await failure(connect, fault_server, protocol, way, *OTHER[what])
    assert type(error) is ModelError
