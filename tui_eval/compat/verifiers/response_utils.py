"""`verifiers.utils.response_utils`: parts of an answer as a rollout keeps them."""

from __future__ import annotations

from tui_eval.environments.multi_turn import step_tokens
from tui_eval.types import AssistantMessage, Messages, Response, TrajectoryStepTokens


async def parse_response_message(response: Response) -> Messages:
    """The message of an answer, as a conversation of one."""
    fields = AssistantMessage.model_fields
    return [AssistantMessage(**{name: response.message.get(name) for name in fields})]


async def parse_response_tokens(
    response: Response | None, max_seq_len: int | None = None
) -> TrajectoryStepTokens | None:
    """The token ids of an answer, cut to `max_seq_len`; None where it has none."""
    return None if response is None else step_tokens(response.message.tokens, max_seq_len)
