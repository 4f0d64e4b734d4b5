"""A spent quota is known in everybody's words, and a minute's limit is not taken for one."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint_scripts import CHAT_ANSWER, PATHS, Connect
from servers import FaultServer, Reply

from tui_eval.errors import ModelError
from tui_eval.messages import UserMessage

OPENAI = "You exceeded your current quota, please check your plan and billing details."
THROUGH_LITELLM = f"litellm.RateLimitError: RateLimitError: OpenAIException - {OPENAI}"
SPENT = [
    (429, {"message": OPENAI, "type": "insufficient_quota", "code": "insufficient_quota"}),
    (429, {"message": OPENAI, "type": "insufficient_quota", "code": None}),
    (429, {"message": THROUGH_LITELLM, "type": "throttling_error", "code": "429"}),
    (429, {"message": '{"error": {"code": "insufficient_quota"}}', "type": None, "code": "429"}),
    (429, {"message": "Billing hard limit has been reached", "code": "billing_hard_limit_reached"}),
    (429, {"message": "Insufficient Balance", "code": "invalid_request_error"}),
    (402, {"message": "Payment required"}),
    (
        429,
        {
            "message": "Budget has been exceeded! Current cost: 20.1, Max budget: 20.0",
            "type": "budget_exceeded",
            "param": None,
            "code": "429",
        },
    ),
    (
        429,
        {
            "message": "ExceededBudget: User=ann over budget. Spend=3.1, Budget=3.0",
            "type": "auth_error",
            "code": "429",
        },
    ),
    (400, {"message": "Your credit balance is too low to access the Anthropic API."}),
    (500, {"message": "insufficient_quota", "code": "500"}),
]
GOOGLES_MINUTE = {
    "code": 429,
    "message": OPENAI.replace("details.", "details. Please retry in 17.1s."),
    "status": "RESOURCE_EXHAUSTED",
    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}],
}
GOOGLES_DAY = {
    **GOOGLES_MINUTE,
    "details": [
        {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
        *GOOGLES_MINUTE["details"],  # type: ignore[misc]
    ],
}


async def ask(connect: Connect, client_type: str = "openai_chat_completions") -> None:
    async with connect(client_type, max_retries=3) as client:
        await client.get_response([UserMessage(content="hi")], "m", {"max_tokens": 5})


@pytest.mark.parametrize(("status", "error"), [*SPENT, (429, GOOGLES_DAY)])
async def test_a_spent_quota_is_reported_at_once(
    connect: Connect, fault_server: FaultServer, naps: list[float], client_type: str,
    status: int, error: dict[str, Any],
) -> None:  # fmt: skip
    body = {"type": "error", "error": error}
    fault_server.script(PATHS[client_type], [Reply(status, body, {"retry-after": "20"})])
    with pytest.raises(ModelError, match=str(error["message"])[:20].replace("{", r"\{")):
        await ask(connect, client_type)
    assert (len(fault_server.requests), naps) == (1, [])


@pytest.mark.parametrize("body", [[{"error": GOOGLES_MINUTE}], {"error": GOOGLES_MINUTE}])
async def test_googles_limit_of_a_minute_is_waited_for(
    connect: Connect, fault_server: FaultServer, naps: list[float], body: Any
) -> None:
    replies = [Reply(429, body), Reply(body=CHAT_ANSWER)]
    fault_server.script(PATHS["openai_chat_completions"], replies)
    await ask(connect)
    assert naps == [17]
