"""Mathematics first, and a judge where it finds no match."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from lazy_modules import LazyModule
from made_states import rollout
from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.compat import verifiers_alias
from tui_eval.rubrics.hybrid_math_rubric import HybridMathRubric

LazyModule("math_verify")
CHAT = "/v1/chat/completions"


def rubric_of(server: FaultServer, verdict: str = "", **kwargs: Any) -> HybridMathRubric:
    server.script(CHAT, [Reply(body=chat_answer(verdict))])
    client = openai.AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0)
    return HybridMathRubric(judge_client=client, **kwargs)


@pytest.mark.process
async def test_equal_answers_call_no_judge(fault_server: FaultServer) -> None:
    state = rollout("1/2", said="0.5")
    await rubric_of(fault_server, judge_model="wise").score_rollout(state)
    assert (state["reward"], len(fault_server.requests)) == (1.0, 0)
    assert state["metrics"]["math_verify_score"] == state["metrics"]["judge_score"] == 1.0


@pytest.mark.parametrize(
    ("verdict", "reward"), [("So: \\boxed{A}", 1.0), ("A", 1.0), ("\\boxed{B}", 0.0), ("no", 0.0)]
)
async def test_a_judge_decides_the_rest(
    fault_server: FaultServer, verdict: str, reward: float
) -> None:
    state = rollout("seven", said="It is VII.")
    await rubric_of(fault_server, verdict, judge_model="wise").score_rollout(state)
    assert state["reward"] == reward and state["metrics"]["judge_score"] == reward
    assert len(fault_server.requests) == 1


async def test_without_a_judge_model_no_judge_is_called(fault_server: FaultServer) -> None:
    state = rollout("7", said="8")
    await rubric_of(fault_server).score_rollout(state)
    assert (state["reward"], len(fault_server.requests)) == (0.0, 0)


async def test_a_judge_that_fails_is_an_error_where_mathematics_found_nothing(
    fault_server: FaultServer,
) -> None:
    fault_server.script(CHAT, [Reply(400, {"error": {"message": "no"}})])
    client = openai.AsyncOpenAI(api_key="k", base_url=f"{fault_server.url}/v1", max_retries=0)
    state = rollout("7", said="8")
    await HybridMathRubric(judge_client=client, judge_model="wise").score_rollout(state)
    assert "judge_score came to no result" in str(state["error"])


def test_it_is_where_verifiers_has_it() -> None:
    with verifiers_alias():
        from verifiers.rubrics.experimental.hybrid_math_rubric import HybridMathRubric as theirs
    assert theirs is HybridMathRubric
    assert issubclass(theirs, vf.JudgeRubric)
