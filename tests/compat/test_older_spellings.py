"""Spellings of verifiers before 0.1.11 that still have a meaning keep it."""

from __future__ import annotations

import pytest

import tui_eval as vf


def right(completion: object, answer: str) -> float:
    return 1.0


def length(completion: object) -> float:
    return 0.5


def test_functions_and_weights_by_their_older_names() -> None:
    rubric = vf.Rubric([right], [0.25])
    assert (rubric.reward_funcs, rubric.reward_weights) == ([right], [0.25])
    rubric.reward_funcs.append(length)
    rubric.reward_weights.append(2.0)
    assert (rubric.funcs, rubric.weights) == ([right, length], [0.25, 2.0])


def test_a_group_of_rubrics_has_those_of_all() -> None:
    group = vf.RubricGroup([vf.Rubric([right], [0.25]), vf.Rubric([length])])
    assert (group.reward_funcs, group.reward_weights) == ([right, length], [0.25, 1.0])


def test_an_environments_rubric_has_them_too() -> None:
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}], rubric=vf.Rubric([right]))
    assert right in env.rubric.reward_funcs


def test_arguments_by_their_older_positions() -> None:
    parser = vf.Parser()
    rubric = vf.Rubric([right], [1.0], parser)
    assert (rubric.funcs, rubric.weights, rubric.parser) == ([right], [1.0], parser)
    assert vf.XMLParser(["think", "result"], "result").answer_field == "result"
    assert vf.JudgeRubric(parser).parser is parser


def test_tools_by_their_older_name_name_the_new_one() -> None:
    with pytest.raises(ValueError, match="tool_defs"):
        vf.SingleTurnEnv(dataset=[{"question": "q"}], oai_tools=[])
