"""Decorators, helpers for tools, and the forms of eval functions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.compat.osmosis import (
    ToolArgumentError,
    create_tool_error_result,
    create_tool_result,
    execute_tool_calls,
    get_tool_call_info,
    osmosis_reward,
    osmosis_rubric,
    parse_tool_arguments,
    serialize_tool_result,
)
from tui_eval.compat.osmosis.eval_functions import last_answer, read_eval_function
from tui_eval.errors import RefusedError


def test_a_reward_function_must_return_a_float() -> None:
    @osmosis_reward
    def right(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
        return 0.5

    @osmosis_reward
    def wrong(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
        return 1

    @osmosis_reward
    async def late(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
        return 0.25

    assert right("a", "b") == right("a", "b", {}, data_source="x") == 0.5
    assert right.__name__ == "right"
    assert asyncio.run(late("a", "b")) == 0.25
    with pytest.raises(TypeError, match="wrong must return a float; it returned a int"):
        wrong("a", "b")


def test_wrong_signatures_are_refused_where_they_are_decorated() -> None:
    def other_names(solution: str, ground_truth: str, extra_info: dict = None): ...
    def two(solution_str: str, ground_truth: str): ...
    def not_annotated(solution_str, ground_truth: str, extra_info: dict = None): ...
    def no_default(solution_str: str, ground_truth: str, extra_info: dict): ...

    for func, expected in (
        (other_names, "the first parameters are solution, ground_truth, extra_info"),
        (two, "the first parameters are solution_str, ground_truth; the signature is"),
        (not_annotated, "'solution_str' must be annotated as str"),
        (no_default, "'extra_info' must have a default"),
    ):
        with pytest.raises(TypeError, match=expected):
            osmosis_reward(func)
    osmosis_rubric(no_default)


@pytest.mark.parametrize(
    ("result", "text"),
    [(True, "true"), (3, "3"), (0.5, "0.5"), ("as is", "as is"), (None, "null"), ([1], "[1]")],
)
def test_results_of_tools_as_text(result: Any, text: str) -> None:
    assert serialize_tool_result(result) == text


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()))
def test_arguments_come_back_from_their_json(arguments: dict[str, Any]) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": json.dumps(arguments)}}
    assert get_tool_call_info(call) == ("c", "f", arguments)


@pytest.mark.parametrize("arguments", ["{", "[1]", "3", "", None, 7])
def test_arguments_that_are_no_object(arguments: Any) -> None:
    with pytest.raises(ToolArgumentError):
        parse_tool_arguments(arguments)
    with pytest.raises(ToolArgumentError) as error:
        get_tool_call_info({"id": "c", "function": {"name": "f", "arguments": arguments}})
    assert (error.value.tool_call_id, error.value.tool_name) == ("c", "f")


async def test_calls_are_made_at_the_same_time_and_answered_in_order() -> None:
    second_began = asyncio.Event()

    async def make(call: dict[str, Any]) -> dict[str, str]:
        if call["id"] == "a":
            await second_began.wait()
        second_began.set()
        return create_tool_result(call["id"], "done")

    answers = await execute_tool_calls([{"id": "a"}, {"id": "b"}], make)
    assert [answer["tool_call_id"] for answer in answers] == ["a", "b"]
    assert await execute_tool_calls([], make) == []
    failed = create_tool_error_result("c", "it broke")
    assert failed == {"role": "tool", "tool_call_id": "c", "content": "Error: it broke"}


def test_the_form_of_an_eval_function_is_in_its_first_parameter() -> None:
    def simple(solution_str, ground_truth, extra_info=None): ...
    def full(messages, **kwargs): ...
    def needs_more(messages, ground_truth, metadata, judge): ...

    assert read_eval_function("m:f", simple, "w").mode == "simple"
    assert read_eval_function("m:f", full, "w").mode == "full"
    with pytest.raises(RefusedError, match="missing a required argument: 'judge'"):
        read_eval_function("m:f", needs_more, "w")
    with pytest.raises(RefusedError, match="it has no parameter"):
        read_eval_function("m:f", lambda: 1.0, "w")


@pytest.mark.parametrize(
    ("func", "takes"),
    [
        (lambda solution_str: 1.0, ("solution_str",)),
        (lambda solution_str, ground_truth: 1.0, ("solution_str", "ground_truth")),
        (lambda messages, metadata: 1.0, ("messages", "metadata")),
        (lambda messages, **rest: 1.0, ("messages", "ground_truth", "metadata")),
    ],
)
def test_an_eval_function_is_called_with_what_it_takes(func: Any, takes: tuple[str, ...]) -> None:
    assert read_eval_function("m:f", func, "w").takes == takes


def test_the_last_answer_is_the_last_that_says_something() -> None:
    assert last_answer([]) == ""
    said = {"role": "assistant", "content": "first"}
    calls = {"role": "assistant", "content": None, "tool_calls": [{}]}
    assert last_answer([said, calls, {"role": "tool", "content": "x"}]) == "first"
    assert last_answer([{"role": "assistant", "content": [{"type": "text", "text": "part"}]}]) == (
        "part"
    )
