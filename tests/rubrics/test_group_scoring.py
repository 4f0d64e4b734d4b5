from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from tui_eval.errors import InfraError, ScoringError
from tui_eval.messages import AssistantMessage
from tui_eval.rubrics.rubric import Rubric
from tui_eval.rubrics.rubric_group import RubricGroup
from tui_eval.state import State


def rollout(score: float) -> State:
    return State(
        input={"prompt": [], "example_id": 0, "task": "default", "info": {"score": score}},
        completion=[AssistantMessage(content="x")],
        error=None,
        trajectory=[{"reward": None, "advantage": None}],
        timing={"generation_ms": 1.0},
    )


def own(info) -> float:
    return info["score"]


def rank(infos) -> list[float]:
    order = sorted(info["score"] for info in infos)
    return [order.index(info["score"]) for info in infos]


def test_group_functions_are_known_by_parameters_or_result():
    def as_list(**kwargs) -> list:
        return []

    def as_typed_list(state) -> list[float]:
        return []

    def by_completions(completions, **kwargs):
        return []

    def single(state, completion, **kwargs) -> float:
        return 0

    for func in (as_list, as_typed_list, by_completions, rank):
        assert Rubric([own, func]).has_group_funcs is True
    assert Rubric([own, single]).has_group_funcs is False
    assert RubricGroup([Rubric([own]), Rubric([rank])]).has_group_funcs is True


async def test_a_group_is_scored_together_and_advantages_are_against_its_mean():
    states = [rollout(0.0), rollout(1.0), rollout(5.0)]
    await Rubric([own, rank], weights=[1.0, 10.0]).score_group(states)
    assert [state["reward"] for state in states] == [0.0, 11.0, 25.0]
    assert [state["advantage"] for state in states] == [-12.0, -1.0, 13.0]
    assert [state["metrics"]["rank"] for state in states] == [0.0, 1.0, 2.0]
    assert [state["trajectory"][0] for state in states] == [
        {"reward": 0.0, "advantage": -12.0},
        {"reward": 11.0, "advantage": -1.0},
        {"reward": 25.0, "advantage": 13.0},
    ]


async def test_group_functions_get_plural_values():
    seen: dict[str, Any] = {}

    async def look(states, prompts, completions, answers, tasks, infos, judge):
        seen.update(locals())
        return np.array([1.0, 2.0])

    rubric = Rubric([look])
    rubric.add_class_object("judge", "J")
    states = [rollout(1.0), rollout(2.0)]
    await rubric.score_group(states)
    assert seen["states"] == states
    assert seen["answers"] == ["", ""]
    assert seen["tasks"] == ["default", "default"]
    assert seen["infos"] == [{"score": 1.0}, {"score": 2.0}]
    assert seen["judge"] == "J"
    assert [state["reward"] for state in states] == [1.0, 2.0]


@pytest.mark.parametrize("wrapped", [False, True])
async def test_individual_functions_of_a_group_run_at_the_same_time(wrapped):
    together = asyncio.Barrier(4)

    async def meets(**_):
        async with asyncio.timeout(30), together:
            return 1

    func = (lambda **kwargs: meets(**kwargs)) if wrapped else meets
    states = [rollout(0) for _ in range(4)]
    await Rubric([func]).score_group(states)
    assert [state["error"] for state in states] == [None] * 4


async def test_members_with_an_error_are_out_of_sight():
    broken = rollout(9.0)
    broken["error"] = InfraError("gone")
    states = [rollout(0.0), broken, rollout(2.0)]
    sizes = []

    def size(states):
        sizes.append(len(states))
        return [0.0] * len(states)

    await Rubric([own, size]).score_group(states)
    assert sizes == [2]
    assert [state["advantage"] for state in states] == [-1.0, None, 1.0]
    assert (broken["reward"], broken["metrics"], broken.scores) == (0.0, {}, [])


async def test_a_member_whose_own_score_failed_is_out_of_the_group_function():
    def picky(info):
        if info["score"] > 5:
            raise ValueError("too much")
        return info["score"]

    states = [rollout(1.0), rollout(9.0), rollout(3.0)]
    await Rubric([picky, rank]).score_group(states)
    assert [state["metrics"] for state in states] == [
        {"picky": 1.0, "rank": 0.0},
        {},
        {"picky": 3.0, "rank": 1.0},
    ]
    assert isinstance(states[1]["error"], ScoringError)
    assert [record["name"] for record in states[1].scores] == ["picky", "rank"]
    assert "Not called" in states[1].scores[1]["error"]
    assert [state["advantage"] for state in states] == [-1.5, None, 1.5]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ([1.0], "returned 1 numbers for a group of 2 rollouts"),
        (1.0, "not a list of 2 numbers"),
        (None, "not a list of 2 numbers"),
        ("ab", "not a list of 2 numbers"),
    ],
)
async def test_a_wrong_result_is_an_error_of_every_member(result, text):
    def group(states):
        return result

    states = [rollout(1.0), rollout(2.0)]
    await Rubric([own, group]).score_group(states)
    for state in states:
        assert text in str(state["error"])
        assert state.scores[1]["raw"] is None
        assert state["advantage"] is None
    assert [state["reward"] for state in states] == [1.0, 2.0]


async def test_a_wrong_number_is_an_error_of_its_member_alone():
    states = [rollout(1.0), rollout(2.0)]
    await Rubric([lambda states: [1.0, None]]).score_group(states)
    assert states[0]["error"] is None
    assert isinstance(states[1]["error"], ScoringError)


async def test_a_group_function_without_its_group_is_an_error():
    state = rollout(1.0)
    await Rubric([own, rank]).score_rollout(state)
    assert "needs all rollouts of the example" in str(state["error"])
    assert state["reward"] == 1.0


async def test_rubrics_of_a_group_add_up_and_share_one_advantage():
    def turns(state):
        return 2.0

    states = [rollout(1.0), rollout(3.0)]
    group = RubricGroup([Rubric([own, turns]), RubricGroup([Rubric([own])])])
    group.rubrics[1].rubrics[0].add_metric(turns)
    await group.score_group(states)
    assert [state["reward"] for state in states] == [4.0, 8.0]
    assert states[0]["metrics"] == {"own": 2.0, "turns": 4.0}
    assert [state["advantage"] for state in states] == [-2.0, 2.0]
    assert [record["name"] for record in states[0].scores] == ["own", "turns", "own", "turns"]


async def test_scoring_again_restarts():
    state = rollout(1.0)
    rubric = Rubric([own])
    await rubric.score_group([state])
    await rubric.score_group([state])
    assert state["reward"] == 1.0
    assert len(state.scores) == 1


async def test_what_is_added_to_a_group_goes_to_its_first_rubric():
    first = Rubric()
    group = RubricGroup([first, Rubric()])
    group.add_reward_func(own, 2.0)
    group.add_metric(own)
    group.add_class_object("judge", "J")
    assert first.weights == [2.0, 0.0]
    assert first.class_objects["judge"] == "J"


async def test_a_group_has_its_advantage_although_its_last_rubric_only_watches():
    async def takes(**_):
        await asyncio.sleep(0.01)
        return 1.0

    def turns(state):
        return 1.0

    states = [rollout(0.0), rollout(4.0)]
    watching = Rubric()
    watching.add_metric(turns)
    await RubricGroup([Rubric([own]), RubricGroup([Rubric([takes]), watching])]).score_group(states)
    assert [state["advantage"] for state in states] == [-2.0, 2.0]
    assert [state["trajectory"][0]["advantage"] for state in states] == [-2.0, 2.0]
    for state in states:
        assert 10 <= state["timing"]["scoring_ms"] < 30_000
        assert state["timing"]["total_ms"] == 1.0 + state["timing"]["scoring_ms"]


async def test_limits_of_functions_added_to_a_group_hold():
    async def hangs(states):
        await asyncio.Event().wait()

    group = RubricGroup([Rubric([own]), Rubric()])
    group.add_reward_func(hangs, timeout_seconds=0.02)
    states = [rollout(1.0), rollout(2.0)]
    await group.score_group(states)
    assert ["0.02 s" in str(state["error"]) for state in states] == [True, True]


@pytest.mark.parametrize("scores", [[0.1] * 3, [0.7 + 0.2 + 0.1, 1.0, 1.0]])
async def test_equal_rewards_have_an_advantage_of_exactly_nothing(scores):
    states = [rollout(score) for score in scores]
    await Rubric([own]).score_group(states)
    assert [state["advantage"] for state in states] == [0.0] * 3
    assert [state["trajectory"][0]["advantage"] for state in states] == [0.0] * 3
