"""Numbers that a server reports are bounded and finite, or not counted; none ends a rollout."""

from __future__ import annotations

import json
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, PATHS, Connect
from servers import FaultServer, Reply

from tui_eval.clients.retry_after import LONGEST_WAIT, requested_wait
from tui_eval.messages import UserMessage


@pytest.mark.parametrize(
    ("reported", "counted"),
    [("-5", 0), ("NaN", 0), ("1e308", 0), ("1e999", 0), ('"x"', 0), ("null", 0), ("[]", 0),
     ("true", 0), ('"12"', 12), ("12.7", 12), ("12", 12)],
)  # fmt: skip
async def test_tokens_that_are_no_count_are_none(
    connect: Connect, fault_server: FaultServer, client_type: str, reported: str, counted: int
) -> None:
    answer: dict[str, Any] = json.loads(json.dumps(ANSWERS[client_type]))
    usage = {name: "@" for name, value in answer["usage"].items() if isinstance(value, int)}
    body = json.dumps({**answer, "usage": usage}).replace('"@"', reported).encode()
    fault_server.script(PATHS[client_type], [Reply(body=body)])
    async with connect(client_type, max_retries=0) as client:
        response = await client.get_response([UserMessage(content="hi")], "m", {"max_tokens": 5})
    assert response.message.content == "ok"
    assert response.usage is not None
    assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (counted, counted)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({}, {"message": "Please try again in 0.99s."}, 0.99),
        ({}, {"message": "Please try again in 6m0s."}, 360.0),
        ({}, {"message": "Try again in 350ms"}, pytest.approx(0.35)),
        ({}, "Please retry in 17.5s.", 17.5),
        ({}, "retry after 2 minutes", 120.0),
        ({}, "We retry 3 times at most", None),
        ({}, [{"error": {"details": [{"retryDelay": "17s"}]}}], 17.0),
        ({}, r"litellm: {\"retryDelay\": \"17s\"}", 17.0),
        ({"x-ratelimit-reset-requests": "1s"}, None, 1.0),
        (
            {
                "x-ratelimit-reset-requests": "20ms",
                "x-ratelimit-remaining-requests": "9",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "0",
            },
            None,
            360.0,
        ),
        ({"x-ratelimit-reset": "4102444800"}, None, LONGEST_WAIT),
        ({"x-ratelimit-reset": "4102444800000"}, None, LONGEST_WAIT),
        ({"anthropic-ratelimit-requests-reset": "2099-01-01T00:00:00Z"}, None, LONGEST_WAIT),
        ({"anthropic-ratelimit-requests-reset": "2001-01-01T00:00:00Z"}, None, None),
        ({"x-ratelimit-reset": "1e999"}, None, LONGEST_WAIT),
        ({"x-ratelimit-reset": "nonsense"}, None, None),
        ({"retry-after": "3"}, {"message": "try again in 9s"}, 3.0),
        ({"retry-after": "30s"}, None, 30.0),
        ({"retry-after": "1m30s"}, None, 90.0),
        ({"retry-after": "2099-01-01T00:00:00Z"}, None, LONGEST_WAIT),
        ({"retry-after": "1000000000"}, None, None),  # of 2001
        ({}, {"error": {"message": "busy", "retry_after": 7}}, 7.0),
        ({}, {"error": {"message": "busy", "retry_after_ms": 700}}, 0.7),
        ({}, {"error": {"message": "busy", "metadata": {"retry_after_seconds": 7.5}}}, 7.5),
        ({}, {"error": {"metadata": {"headers": {"Retry-After": "7"}}}}, 7.0),
        (
            {},
            {"error": {"metadata": {"headers": {"X-RateLimit-Reset": "4102444800000"}}}},
            LONGEST_WAIT,
        ),
        ({}, {"error": {"message": "busy", "retry_after": True}}, None),
        ({}, {"error": {"message": "busy", "retry_after": 10**400}}, LONGEST_WAIT),
    ],
)
def test_a_wait_is_read_in_every_spelling(
    headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    assert requested_wait(headers, body) == seconds
