"""Token ids of a step are cut to the longest sequence, and say that they were."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.environments.multi_turn import step_tokens
from tui_eval.types import ResponseTokens


def tokens_of(prompt: int, completion: int, **more: Any) -> ResponseTokens:
    return ResponseTokens(
        prompt_ids=list(range(prompt)),
        prompt_mask=[0] * prompt,
        completion_ids=list(range(100, 100 + completion)),
        completion_mask=[1] * completion,
        completion_logprobs=[-0.5] * completion,
        **more,
    )


def test_an_answer_without_ids_has_none() -> None:
    assert step_tokens(None, 10) is None


@pytest.mark.parametrize(
    ("limit", "kept", "overlong", "truncated"),
    [
        (None, (3, 2), False, False),
        (5, (3, 2), False, False),
        (4, (3, 1), False, True),
        (3, (3, 0), False, True),
        (2, (2, 0), True, True),
    ],
)
def test_what_does_not_fit_is_cut_from_the_end(
    limit: int | None, kept: tuple[int, int], overlong: bool, truncated: bool
) -> None:
    step = step_tokens(tokens_of(3, 2), limit)

    assert step is not None
    assert (len(step["prompt_ids"]), len(step["completion_ids"])) == kept
    assert (step["overlong_prompt"], step["is_truncated"]) == (overlong, truncated)


@given(st.integers(0, 6), st.integers(0, 6), st.none() | st.integers(1, 14))
def test_lists_that_belong_together_stay_of_one_length(
    prompt: int, completion: int, limit: int | None
) -> None:
    whole = tokens_of(prompt, completion)

    step = step_tokens(whole, limit)

    assert step is not None
    assert len(step["prompt_mask"]) == len(step["prompt_ids"])
    lengths = {
        len(step["completion_ids"]),
        len(step["completion_mask"]),
        len(step["completion_logprobs"]),
    }
    assert len(lengths) == 1
    sequence = [*whole.prompt_ids, *whole.completion_ids][:limit]
    assert [*step["prompt_ids"], *step["completion_ids"]] == sequence
    assert step["is_truncated"] == (len(sequence) < prompt + completion)


def test_the_routing_of_experts_is_none_where_it_is_not_reported() -> None:
    without, with_it = (
        step_tokens(tokens_of(1, 1), None),
        step_tokens(tokens_of(1, 1, routed_experts=[1]), None),
    )

    assert without is not None and without["routed_experts"] is None
    assert with_it is not None and with_it["routed_experts"] == [1]
