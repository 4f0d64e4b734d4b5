"""The token ids of one step, cut to the longest sequence."""

from __future__ import annotations

from tui_eval.types import ResponseTokens, TrajectoryStepTokens


def step_tokens(
    tokens: ResponseTokens | None, max_seq_len: int | None
) -> TrajectoryStepTokens | None:
    """The token ids of an answer as a step keeps them; None where the endpoint reported none.

    Args:
        max_seq_len: The longest prompt and completion together, in tokens. A prompt that is longer
            alone is cut to it and leaves no completion.
    """
    if tokens is None:
        return None
    limit = max_seq_len or len(tokens.prompt_ids) + len(tokens.completion_ids)
    left = max(limit - len(tokens.prompt_ids), 0)
    return TrajectoryStepTokens(
        prompt_ids=tokens.prompt_ids[:limit],
        prompt_mask=tokens.prompt_mask[:limit],
        completion_ids=tokens.completion_ids[:left],
        completion_mask=tokens.completion_mask[:left],
        completion_logprobs=tokens.completion_logprobs[:left],
        overlong_prompt=len(tokens.prompt_ids) > limit,
        is_truncated=len(tokens.prompt_ids) + len(tokens.completion_ids) > limit,
        routed_experts=tokens.routed_experts,
    )
