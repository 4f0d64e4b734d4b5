"""Token ids and log probabilities of an answer, where the endpoint says them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tui_eval.types import ResponseTokens


def response_tokens(
    prompt_ids: Any, completion_ids: Any, logprobs: Sequence[Any], routed_experts: Any = None
) -> ResponseTokens | None:
    """The token ids of one answer: the prompt's tokens are masked out, the completion's count.

    Args:
        prompt_ids: As the endpoint names them, or None.
        completion_ids: As the endpoint names them, or None.
        logprobs: Natural logarithms, one for each token of the completion.
        routed_experts: As the endpoint names them, or None.

    Returns:
        None where ids are missing, or do not come with one number each.
    """
    if prompt_ids is None or completion_ids is None:
        return None
    if len(completion_ids) != len(logprobs) or None in logprobs:
        return None
    return ResponseTokens(
        prompt_ids=prompt_ids,
        prompt_mask=[0] * len(prompt_ids),
        completion_ids=completion_ids,
        completion_mask=[1] * len(completion_ids),
        completion_logprobs=list(logprobs),
        routed_experts=routed_experts,
    )
