"""Rubrics with a `score_rollout` or `score_group` of their own, among others."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tui_eval.environments.one_rollout import score
from tui_eval.environments.single_turn import SingleTurnEnv
from tui_eval.errors import ScoringError
from tui_eval.rubrics.rubric import Rubric
from tui_eval.rubrics.rubric_group import RubricGroup
from tui_eval.state import State


def state_of(text: str) -> State:
    message = {"role": "assistant", "content": text}
    return State(
        input={"prompt": [], "example_id": 0, "task": "default"},
        completion=[message],
        trajectory=[{"completion": [message], "reward": None, "advantage": None}],
    )


def length(completion: list[Any]) -> float:
    return float(len(completion[-1]["content"]))


def one() -> float:
    return 1.0


class Bonus(Rubric):
    async def score_rollout(self, state: State) -> None:
        await super().score_rollout(state)
        state["reward"] += 10
        state["metrics"]["bonus"] = 10.0


class OnlyItsOwn(Rubric):
    async def score_rollout(self, state: State) -> None:
        assert (state["reward"], state["metrics"], state.scores) == (0.0, {}, [])
        state["reward"] = 5
        state["metrics"] = None


class Ranks(Rubric):
    async def score_group(self, states: list[State]) -> None:
        await super().score_group(states)
        for rank, state in enumerate(sorted(states, key=lambda state: state["reward"])):
            state["reward"] = float(rank)


async def test_what_a_rubric_adds_by_itself_counts_beside_the_others() -> None:
    group = RubricGroup([Rubric([one]), Bonus([length], [0.5]), Rubric([length], [0.0])])
    state = state_of("four")
    await group.score_rollout(state)
    assert state["reward"] == 1 + (0.5 * 4 + 10)
    assert state["metrics"] == {"one": 1.0, "length": 8.0, "bonus": 10.0}
    assert [record["name"] for record in state.scores] == ["one", "length", "length"]
    assert state["trajectory"][0]["reward"] == 13.0


async def test_a_rubric_that_computes_everything_itself() -> None:
    state = state_of("x")
    await RubricGroup([Rubric([one]), RubricGroup([OnlyItsOwn()])]).score_rollout(state)
    assert (state["reward"], state["metrics"]) == (6.0, {"one": 1.0})
    assert len(state.scores) == 1


async def test_a_rubric_that_scores_groups_itself_gets_whole_groups() -> None:
    group = RubricGroup([Ranks([length]), Rubric([one])])
    assert group.has_group_funcs
    assert not RubricGroup([Bonus(), Rubric([one])]).has_group_funcs
    states = [state_of("aaaa"), state_of("b"), state_of("cc")]
    await group.score_group(states)
    assert [state["reward"] for state in states] == [3.0, 1.0, 2.0]
    assert [state["advantage"] for state in states] == pytest.approx([1.0, -1.0, 0.0])
    assert [state["trajectory"][0]["advantage"] for state in states] == pytest.approx([1, -1, 0])


async def test_a_rubric_that_raises_is_the_error_of_its_rollout() -> None:
    class Broken(Rubric):
        async def score_rollout(self, state: State) -> None:
            raise LookupError("no key of answers")

    env = SingleTurnEnv(dataset=[{"question": "q"}], rubric=Broken([one]))
    broken, whole = state_of("a"), state_of("b")
    await score(env, [broken], together=False)
    assert isinstance(broken["error"], LookupError)
    await RubricGroup([Rubric([one])]).score_rollout(whole)
    assert (whole["reward"], whole["trajectory"][0]["reward"]) == (1.0, 1.0)


async def test_a_rubric_that_raises_leaves_the_errors_and_scores_that_were_there() -> None:
    class Broken(Rubric):
        async def score_group(self, states: list[State]) -> None:
            raise LookupError("no key of answers")

    group = RubricGroup([Rubric([one]), Broken([length])])
    env = SingleTurnEnv(dataset=[{"question": "q"}], rubric=group)
    errored, whole = state_of("a"), state_of("b")
    first = errored["error"] = ValueError("the model did not answer")
    await score(env, [errored, whole], together=True)
    assert errored["error"] is first
    assert isinstance(whole["error"], LookupError)
    assert [record["name"] for record in whole.scores] == ["one"]


@pytest.mark.parametrize(
    "left", [math.nan, -math.inf, 1e308, pytest.param(10**400, id="huge"), "much"]
)
async def test_a_reward_that_is_no_number_is_the_error_of_its_rollout(left: Any) -> None:
    class Odd(Rubric):
        async def score_group(self, states: list[State]) -> None:
            states[0]["reward"] = left
            states[1]["reward"] = 0.5

    for rubric in (Odd(), RubricGroup([Odd(), Rubric([one])])):
        env = SingleTurnEnv(dataset=[{"question": "q"}], rubric=rubric)
        odd, good = states = [state_of("a"), state_of("b")]
        await score(env, states, together=True)
        assert isinstance(odd["error"], ScoringError)
        assert "Odd left a reward that is no number of at most 1e+100: " in str(odd["error"])
        assert good.get("error") is None
        assert good["reward"] == (1.5 if isinstance(rubric, RubricGroup) else 0.5)
