from __future__ import annotations

import asyncio
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.errors import InfraError, ScoringError
from tui_eval.messages import AssistantMessage
from tui_eval.parsers.parser import Parser
from tui_eval.rubrics.rubric import Rubric
from tui_eval.rubrics.rubric_group import RubricGroup
from tui_eval.state import State
from tui_eval.stats.rewards import passes


def rollout(answer: str | None = "42", said: str = "42", **more: Any) -> State:
    row = {"prompt": [], "example_id": 0, "task": "default"}
    if answer is not None:
        row["answer"] = answer
    return State(
        input=row,
        completion=[AssistantMessage(content=said)],
        error=None,
        trajectory=[{"reward": None, "advantage": None}],
        timing={"generation_ms": 5.0},
        **more,
    )


def exact(completion: Any, answer: str) -> float:
    return float(completion[-1]["content"] == answer)


async def test_functions_get_what_they_name_and_nothing_else():
    seen: dict[str, Any] = {}

    def few(answer, info, judge):
        seen["few"] = (answer, info, judge)
        return 1

    async def everything(**kwargs):
        seen["all"] = set(kwargs)
        return 1

    parser = Parser()
    rubric = Rubric([few, everything], parser=parser)
    rubric.add_class_object("judge", "J")
    state = rollout(answer=None)
    await rubric.score_rollout(state)
    assert seen["few"] == ("", {}, "J")
    assert seen["all"] == {
        "prompt", "completion", "answer", "state", "task", "info", "parser", "judge"
    }  # fmt: skip
    assert state["error"] is None


def test_functions_and_weights_are_lists_and_weights_are_numbers():
    def right():
        return 1.0

    refused = [
        ({"funcs": right}, r"'funcs' is a list of functions: \[right\]"),
        ({"funcs": [right], "weights": 2.0}, r"'weights' is a list .*: \[2.0\]"),
        ({"funcs": [right], "weights": ["2"]}, "The weight of 'right' is '2', not a number"),
        ({"funcs": [right], "weights": [1, 2]}, "2 weights were given for 1 functions"),
    ]
    for arguments, words in refused:
        with pytest.raises((TypeError, ValueError), match=words):
            Rubric(**arguments)


async def test_weights_make_the_reward_and_metrics_do_not_count():
    def half(**_):
        return 0.5

    def right(completion, answer):
        return completion[-1].content == answer

    def length(completion):
        return len(completion)

    rubric = Rubric([right, half], weights=[1.0, 2.0])
    rubric.add_metric(length)
    state = rollout()
    await rubric.score_rollout(state)
    assert state["reward"] == 2.0
    assert state["metrics"] == {"right": 1.0, "half": 0.5, "length": 1.0}
    assert state.scores == [
        {"name": "right", "raw": 1.0, "weight": 1.0, "error": None},
        {"name": "half", "raw": 0.5, "weight": 2.0, "error": None},
        {"name": "length", "raw": 1.0, "weight": 0.0, "error": None},
    ]
    assert state["trajectory"][0]["reward"] == 2.0


async def test_scoring_time_is_added_to_the_generation():
    async def slow(**_):
        await asyncio.sleep(0.02)
        return 1

    state = rollout()
    await RubricGroup([Rubric([slow]), Rubric([slow])]).score_rollout(state)
    timing = state["timing"]
    assert 35 < timing["scoring_ms"] < 5000
    assert timing["total_ms"] == pytest.approx(5.0 + timing["scoring_ms"])


async def test_scoring_that_is_cut_short_took_its_time_too():
    begun = asyncio.Event()

    async def judged(**_):
        begun.set()
        await asyncio.Event().wait()
        return 1.0

    state = rollout()
    scoring = asyncio.create_task(Rubric([judged]).score_rollout(state))
    await begun.wait()
    scoring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await scoring
    timing = state["timing"]
    assert timing["scoring_ms"] > 0
    assert timing["total_ms"] == 5.0 + timing["scoring_ms"]


def raises(**_):
    raise KeyError("lost")


async def leaves(**_):
    raise SystemExit(3)


async def cancels_itself(**_):
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("func", "text"),
    [
        (raises, "KeyError: 'lost'"),
        (leaves, "SystemExit: 3"),
        (cancels_itself, "CancelledError"),
        (lambda **_: None, "TypeError: returned None"),
        (lambda **_: math.nan, "ValueError: returned nan"),
        (lambda **_: -math.inf, "ValueError: returned -inf"),
        (lambda **_: 10**400, "OverflowError"),
        (lambda **_: 1e308, "ValueError: returned 1e+308, which is more than the 1e+100"),
        (lambda **_: np.float64(-1e200), "ValueError: returned -1e+200, which is more than"),
        (lambda **_: "one", "ValueError: returned str 'one'"),
        (lambda **_: [1.0], "TypeError: returned list [1.0]"),
        (lambda **_: 1j, "TypeError: returned complex 1j"),
        (lambda nothing_by_this_name: 1, "missing 1 required positional argument"),
    ],
)
async def test_a_failing_function_is_a_recorded_error_and_the_others_still_count(func, text):
    rubric = Rubric([exact, func, exact], weights=[1.0, 5.0, 1.0])
    state = rollout()
    await rubric.score_rollout(state)
    assert state["reward"] == 2.0
    assert state["metrics"] == {"exact": 1.0}
    failed = state.scores[1]
    assert failed["raw"] is None
    assert failed["weight"] == 5.0
    assert text in failed["error"].splitlines()[0]
    assert isinstance(state["error"], ScoringError)
    assert repr(func.__name__) in str(state["error"])
    assert text in str(state["error"])
    assert state["error"].__cause__ is not None


async def test_the_record_shows_where_the_function_failed():
    state = rollout()
    await Rubric([raises]).score_rollout(state)
    assert 'raise KeyError("lost")' in state.scores[0]["error"]
    assert "test_rubric.py" in state.scores[0]["error"]
    assert "reward_call.py" not in state.scores[0]["error"]


@pytest.mark.parametrize(
    ("value", "score"), [(True, 1.0), (np.float32(0.5), 0.5), (np.int64(2), 2.0), (np.True_, 1.0)]
)
async def test_numbers_of_any_kind_count(value, score):
    state = rollout()
    await Rubric([lambda **_: value]).score_rollout(state)
    assert state["reward"] == score
    assert type(state["reward"]) is float


@pytest.mark.parametrize(
    ("score", "weights"), [(1e100, [1.0, 1.0]), (1e90, [1e200, 1.0]), (1e90, [1e300, -1e300])]
)
async def test_a_sum_that_no_mean_can_hold_is_an_error(score, weights):
    state = rollout()
    await Rubric([lambda **_: score, lambda **_: score], weights).score_rollout(state)
    assert state["reward"] == 0.0
    assert isinstance(state["error"], ScoringError)
    assert "The weighted scores sum up to" in str(state["error"])


async def test_errored_rollouts_are_not_scored():
    error = InfraError("gone")
    state = rollout(reward=None, metrics=None)
    state["error"] = error
    await Rubric([exact]).score_rollout(state)
    assert (state["reward"], state["metrics"], state.scores) == (0.0, {}, [])
    assert state["error"] is error
    assert state["timing"]["total_ms"] == 5.0


async def test_cancelling_goes_through():
    started = asyncio.Event()

    async def waits(**_):
        started.set()
        await asyncio.Event().wait()

    states = [rollout(), rollout()]
    task = asyncio.create_task(Rubric([waits]).score_group(states))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [state["error"] for state in states] == [None, None]


async def test_lists_that_people_change_hold_from_then_on():
    async def reward(rubric: Rubric) -> float:
        state = rollout()
        await rubric.score_rollout(state)
        assert state["error"] is None
        return state["reward"]

    rubric = Rubric([exact])
    assert await reward(rubric) == 1.0
    rubric.weights[0] = 3.0
    assert await reward(rubric) == 3.0
    rubric.funcs[0] = lambda **_: 0.5
    assert await reward(rubric) == 1.5
    rubric.funcs, rubric.weights = [exact, exact], [1.0, 1.0]
    assert await reward(rubric) == 2.0


async def test_a_function_in_the_list_without_its_weight_is_not_called_and_reported(caplog):
    rubric = Rubric([exact])
    rubric.funcs.append(lambda **_: 1.0)
    state = rollout()
    await rubric.score_rollout(state)
    assert list(state["metrics"]) == ["exact"]
    assert "2 functions and 1 weights" in caplog.text and "add_reward_func" in caplog.text


def test_wrong_rubrics_are_refused():
    with pytest.raises(ValueError, match="2 weights were given for 1 functions"):
        Rubric([exact], weights=[1.0, 2.0])
    for weight in (math.nan, math.inf, 10**400):
        with pytest.raises(ValueError, match=r"The weight of 'exact' is .*, not a number"):
            Rubric([exact], weights=[weight])
    with pytest.raises(TypeError, match="callable"):
        Rubric(["exact"])
    with pytest.raises(ValueError, match="at least one"):
        RubricGroup([])


@given(
    st.lists(
        st.tuples(
            st.one_of(st.floats(-1e6, 1e6), st.none(), st.just(math.nan)), st.floats(-10, 10)
        ),
        max_size=6,
    )
)
async def test_the_reward_is_the_weighted_sum_of_what_succeeded(scores):
    rubric = Rubric()
    for place, (value, weight) in enumerate(scores):

        def func(value=value):
            return value

        func.__name__ = f"f{place}"
        rubric.add_reward_func(func, weight)
    state = rollout()
    await rubric.score_rollout(state)
    good = [(v, w) for v, w in scores if v is not None and not math.isnan(v)]
    assert state["reward"] == pytest.approx(sum(v * w for v, w in good))
    assert len(state.scores) == len(scores)
    assert sum(record["error"] is None for record in state.scores) == len(good)
    failed = [w for v, w in scores if v is None or math.isnan(v)]
    assert (state["error"] is None) == (not any(failed)), "a metric does not fail its rollout"


@pytest.mark.parametrize("weights", [[0.6, 0.3, 0.1], [0.7, 0.2, 0.1]])
async def test_weights_that_make_one_make_a_reward_that_passes_one(weights: list[float]):
    def other(answer: str) -> float:
        return 1.0

    def third(answer: str) -> float:
        return 1.0

    for rubric in (
        Rubric([exact, other, third], weights),
        RubricGroup([Rubric([exact, other], weights[:2]), Rubric([third], weights[2:])]),
    ):
        state = rollout()
        await rubric.score_rollout(state)
        assert state["reward"] == weights[0] + weights[1] + weights[2]
        assert passes(state["reward"], 1.0)
        assert state["trajectory"][0]["reward"] == state["reward"]
        together = [rollout(), rollout()]
        await rubric.score_group(together)
        assert [one["reward"] for one in together] == [state["reward"]] * 2


@given(st.lists(st.integers(1, 9999), min_size=1, max_size=8, unique=True), st.randoms())
async def test_weights_that_are_one_in_decimal_pass_a_threshold_of_one(cuts, random):
    parts = [b - a for a, b in itertools.pairwise([0, *sorted(cuts), 10_000])]
    random.shuffle(parts)
    half = len(parts) // 2
    weights = [part / 10_000 for part in parts]
    for rubric in (
        Rubric([exact] * len(weights), weights),
        RubricGroup([Rubric([exact] * len(w), w) for w in (weights[:half], weights[half:])]),
    ):
        together = [rollout(), rollout()]
        await rubric.score_group(together)
        assert [passes(one["reward"], 1.0) for one in together] == [True, True]
        assert [one["advantage"] for one in together] == [0.0, 0.0]


async def test_rubrics_of_a_group_are_summed_up_one_by_one():
    def other(answer: str) -> float:
        return 1.0

    rubric = RubricGroup([Rubric([exact], [0.7]), Rubric([exact, other], [0.2, 0.1])])
    state = rollout()
    await rubric.score_rollout(state)
    assert state["reward"] == 0.7 + (0.2 + 0.1) != 0.7 + 0.2 + 0.1
