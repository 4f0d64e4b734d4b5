"""Subclasses of rubrics that override and call methods, as environments for `verifiers` do."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.environments.env_group import EnvGroupRubric
from tui_eval.environments.single_turn import SingleTurnEnv
from tui_eval.parsers.parser import Parser
from tui_eval.rubrics.rubric import Rubric
from tui_eval.rubrics.rubric_group import RubricGroup
from tui_eval.state import State


def half(**_: Any) -> float:
    return 0.5


def one(**_: Any) -> float:
    return 1.0


def size(states: list[Any]) -> list[float]:
    return [float(len(states))] * len(states)


def breaks(**_: Any) -> float:
    raise LookupError("nothing there")


def rollout(**values: Any) -> State:
    given = {"prompt": [], "completion": [], "answer": "a", "task": "t", "trajectory": []}
    return State(**{**given, **values})


async def scored(rubric: Rubric, count: int = 1) -> list[State]:
    states = [rollout() for _ in range(count)]
    await rubric.score_group(states)
    return states


class Doubles(Rubric):
    """Calls functions in a way of its own."""

    async def _call_individual_reward_func(self, func: Any, state: State) -> float:
        return 2 * await super()._call_individual_reward_func(func, state)

    async def _call_group_reward_func(self, func: Any, states: list[State]) -> list[float]:
        return [10 * score for score in await super()._call_group_reward_func(func, states)]


async def test_how_a_subclass_calls_functions_is_how_they_are_called() -> None:
    first, second = await scored(Doubles([half, size]), 2)
    assert first["reward"] == second["reward"] == 21.0
    assert first["metrics"] == {"half": 1.0, "size": 20.0}
    inner = RubricGroup([Doubles([half]), Rubric([one])])
    assert (await scored(inner))[0]["reward"] == 2.0


async def test_a_function_that_fails_below_an_own_call_is_a_scoring_error() -> None:
    (state,) = await scored(Doubles([breaks, one]))
    assert "breaks" in str(state["error"]) and state["reward"] == 2.0
    assert state.scores[0]["error"].startswith("LookupError: nothing there")


async def test_an_own_call_may_make_something_of_a_failure() -> None:
    class Forgives(Rubric):
        async def _call_individual_reward_func(self, func: Any, state: State) -> float:
            try:
                return await super()._call_individual_reward_func(func, state)
            except LookupError:
                return 0.25

    (state,) = await scored(Forgives([breaks]))
    assert state["reward"] == 0.25 and state.get("error") is None


async def test_a_metric_that_fails_leaves_the_reward() -> None:
    rubric = Rubric([one])
    rubric.add_metric(breaks)
    (state,) = await scored(rubric)
    assert state["reward"] == 1.0 and state.get("error") is None
    assert math.isnan(state["metrics"]["breaks"])
    assert "nothing there" in state.scores[1]["error"]


@pytest.mark.parametrize(("given", "reward"), [("0.5", 0.5), (" 1 ", 1.0), (True, 1.0)])
async def test_what_float_takes_is_a_score(given: Any, reward: float) -> None:
    def func(**_: Any) -> Any:
        return given

    assert (await scored(Rubric([func])))[0]["reward"] == reward


async def test_no_weights_are_weights_of_one() -> None:
    assert (await scored(Rubric([one, half], weights=[])))[0]["reward"] == 1.5


async def test_functions_get_what_a_row_has_not_as_it_is() -> None:
    got: list[Any] = []

    def looks(answer: Any, info: Any) -> float:
        got.extend([answer, info])
        return 1.0

    state = rollout(answer=None, info=None)
    await Rubric([looks]).score_group([state])
    assert got == [None, None]


def test_functions_are_known_by_name_weight_and_kind() -> None:
    rubric = Rubric([half, size], weights=[1.0, 0.5])
    rubric.add_metric(one)
    assert rubric.get_reward_func_names() == ["half", "size", "one"]
    assert rubric.get_reward_funcs() == [half, size, one]
    assert rubric.get_reward_weights() == [1.0, 0.5, 0.0]
    assert rubric._get_individual_reward_func_names() == ["half", "one"]
    assert rubric._get_individual_reward_weights() == [1.0, 0.0]
    assert rubric._get_group_reward_funcs() == [size] and rubric._is_group_func(size)
    group = RubricGroup([rubric, Rubric([one])], parser=(parser := Parser()))
    assert group.get_reward_func_names() == ["half", "size", "one", "one"]
    assert group.get_reward_weights() == [1.0, 0.5, 0.0, 1.0] and group.parser is parser


async def test_functions_appended_to_the_lists_count() -> None:
    rubric = Rubric([half])
    assert (await scored(rubric))[0]["reward"] == 0.5
    rubric.funcs.append(one)
    rubric.weights.append(2.0)
    assert (await scored(rubric))[0]["reward"] == 2.5


def test_a_rubric_has_a_logger_of_its_class(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Doubles().logger.info("hello")
    (record,) = caplog.records
    assert record.name.endswith(".Doubles")


async def test_a_rubric_of_a_group_routes_by_the_tasks_of_its_environments() -> None:
    def env(func: Any) -> SingleTurnEnv:
        return SingleTurnEnv(dataset=[{"question": "?"}], rubric=Rubric([func]))

    rubric = EnvGroupRubric({"a": env(one), "b": env(half)})
    assert rubric.all_reward_names == rubric.get_reward_func_names()
    assert rubric.all_reward_names == ["half", "num_turns", "one"]
    states = [rollout(task="a"), rollout(task="b")]
    await rubric.score_group(states)
    assert [state["reward"] for state in states] == [1.0, 0.5]


ALONE = """
import verifiers as vf


class Own(vf.Rubric):
    async def score_rollout(self, state):
        state["reward"], state["metrics"] = 0.42, {}


def load_environment(**kwargs):
    rubric = Own(funcs=[lambda **_: 1.0])
    return vf.SingleTurnEnv(dataset=[{"question": "?", "answer": ""}], rubric=rubric)
"""


@pytest.mark.parametrize(("flags", "reward"), [((), 1.0), (("-i",), 0.42)])
@pytest.mark.process
def test_an_own_way_to_score_one_rollout_is_for_independent_scoring(
    program: Program, fault_server: FaultServer, flags: tuple[str, ...], reward: float
) -> None:
    Path(program.folder, "alone.py").write_text(ALONE)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    url = f"{fault_server.url}/v1"
    done = run_here(program, "alone", "-m", "m", "-b", url, "-n", "1", "-r", "1", "-s", *flags)
    assert done.code == 0, done
    assert [row["reward"] for row in program.only_run().rows] == [reward]


async def test_a_way_to_score_that_is_put_on_a_rubric_counts_also_among_others() -> None:
    async def own(states: list[State]) -> None:
        for state in states:
            state["reward"], state["metrics"] = 0.75, {"own": 1.0}

    rubric = Rubric([half])
    rubric.score_group = own  # type: ignore[method-assign]
    group = RubricGroup([rubric, Rubric([one], weights=[0.0])])
    assert rubric.scores_in_groups and group.scores_in_groups
    (state,) = await scored(group)
    assert state["reward"] == 0.75 and state["metrics"] == {"own": 1.0, "one": 1.0}


async def test_a_way_to_score_that_is_put_on_a_group_of_rubrics_counts_for_one_rollout_too() -> (
    None
):
    async def own(states: list[State]) -> None:
        for state in states:
            state["reward"], state["metrics"] = 0.75, {}

    group = RubricGroup([Rubric([half]), Rubric([one])])
    assert not group.scores_in_groups
    group.score_group = own  # type: ignore[method-assign]
    assert group.has_group_funcs and group.scores_in_groups
