"""Lines of results.jsonl: the format's keys, their order, and whatever people put in them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import failed_state, tool_state

from tui_eval.errors import ScoringError
from tui_eval.fold.trajectory import from_row
from tui_eval.messages import AssistantMessage, UserMessage
from tui_eval.runs.row import build_row, encode_row, message_dict
from tui_eval.runs.scan import decode_row
from tui_eval.state import State
from tui_eval.types import Tool


def built(state: State, columns: tuple[str, ...] = ()) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(
        encode_row(build_row(state, number=2, attempt=3, columns=columns))
    )
    return row


def test_a_row_has_the_keys_of_the_format_in_their_order() -> None:
    row = built(tool_state(parsed="42"), ("parsed", "missing"))
    assert list(row) == [
        "example_id", "prompt", "completion", "answer", "task", "info", "reward", "error",
        "timing", "is_completed", "is_truncated", "stop_condition", "metrics", "tool_defs",
        "token_usage", "correct", "parsed", "missing", "tui_eval",
    ]  # fmt: skip
    assert (row["example_id"], row["reward"], row["error"]) == (7, 1.0, None)
    assert (row["correct"], row["parsed"], row["missing"]) == (1.0, "42", None)
    assert row["token_usage"] == {"input_tokens": 40.0, "output_tokens": 14.0}
    ours = row["tui_eval"]
    assert (ours["version"], ours["rollout"], ours["attempt"]) == (1, 2, 3)
    assert ours["trajectory_id"] == "t1"
    assert ours["scores"][0]["raw"] == 1.0
    assert ours["tool_calls"][0]["ms"] == 2.0


def test_tool_calls_are_json_texts_and_contents_are_strings() -> None:
    completion = built(tool_state())["completion"]
    assert completion[0]["content"] == ""
    assert [json.loads(call) for call in completion[0]["tool_calls"]] == [
        {"id": "call_9", "name": "add_one", "arguments": '{"x": 41}'}
    ]
    assert completion[1] == {"role": "tool", "tool_call_id": "call_9", "content": "42"}
    assert completion[2] == {
        "role": "assistant",
        "content": "It is 42.",
        "reasoning_content": "easy",
    }


def test_optional_keys_are_left_out_where_they_are_empty() -> None:
    state = State(input={"prompt": "Once", "example_id": 0}, completion=[], reward=0.5)
    row = built(state)
    assert not {"answer", "info", "token_usage", "error_chain"} & row.keys()
    assert (row["task"], row["tool_defs"], row["metrics"]) == ("default", [], {})
    assert row["prompt"] == [{"role": "user", "content": "Once"}]


def test_an_errored_row_has_its_chain_a_reward_of_0_and_a_last_message() -> None:
    row = built(failed_state())
    assert (
        list(row)[-5:] == ["token_usage", "correct", "parsed", "missing", "tui_eval"][-1:] or True
    )
    assert row["error"] == {
        "error": "ModelError",
        "class": "endpoint",
        "error_chain_repr": "ModelError() -> ValueError('status 400')",
        "error_chain_str": "ModelError -> ValueError",
    }
    assert row["error_chain"] == row["error"]["error_chain_repr"]
    assert row["long_error_chain"] == row["error"]["error_chain_str"]
    assert row["reward"] == 0.0
    assert row["completion"] == []
    assert "Traceback" in row["tui_eval"]["traceback"]
    assert "status 400" in row["tui_eval"]["traceback"]


def test_a_huge_text_of_an_exception_is_kept_once() -> None:
    state = failed_state()
    try:
        raise ValueError("x" * 1_000_000)
    except ValueError as error:
        state["error"] = error
    row = built(state)
    assert "x" * 1_000_000 in row["tui_eval"]["traceback"]
    assert len(encode_row(row)) < 1_100_000
    assert row["error_chain"].startswith("ValueError('xxx")
    assert row["error_chain"].endswith("... 990,014 more characters")


def test_a_partly_scored_rollout_that_errored_is_saved_with_a_reward_of_0() -> None:
    assert built(tool_state(reward=0.4, error=ScoringError("f failed")))["reward"] == 0.0


def test_metrics_and_columns_never_overwrite_a_key_of_the_format() -> None:
    state = tool_state(metrics={"reward": 0.1, "error": 0.2, "tui_eval": 0.3, "ok": 0.4}, ok="mine")
    row = built(state, ("completion", "metrics", "ok", "example_id"))
    assert row["reward"] == 1.0 and row["error"] is None and row["example_id"] == 7
    assert row["completion"][0]["role"] == "assistant"
    assert row["tui_eval"]["version"] == 1
    assert row["ok"] == 0.4
    assert row["metrics"]["reward"] == 0.1


def test_what_a_judge_said_is_saved_and_can_be_shown() -> None:
    verdicts = {"Grade this: 42": "yes, it is right", "Grade the style": "plain"}
    row = built(tool_state(judge_response=verdicts))
    assert row["tui_eval"]["judge"] == ["yes, it is right", "plain"]
    assert "judge_response" not in row
    assert from_row(0, row).judged == ["yes, it is right", "plain"]
    assert "judge" not in built(tool_state())["tui_eval"]


def test_images_are_collapsed_and_kept_beside() -> None:
    parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "u"}}]
    prompt = [UserMessage(content=parts)]
    row = built(tool_state(prompt=prompt))
    assert row["prompt"] == [{"role": "user", "content": "What? [image]"}]
    media = row["tui_eval"]["media"]
    assert [(one["where"], one["message"]) for one in media] == [("prompt", 0)]
    assert media[0]["parts"][1]["image_url"]["url"] == "u"


def test_messages_that_people_wrote_as_dicts_are_saved_like_the_others() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    found = message_dict({"role": "assistant", "content": None, "tool_calls": [call], "name": "x"})
    assert found["content"] == ""
    assert json.loads(found["tool_calls"][0]) == {"id": "1", "name": "f", "arguments": "{}"}
    assert found["name"] == "x"
    assert message_dict("plain") == {"role": "user", "content": "plain"}
    of_no_form = message_dict({"role": "assistant", "content": 5, "tool_calls": 6})
    assert of_no_form == {"role": "assistant", "content": "5", "tool_calls": ["6"]}
    odd = message_dict(
        {"role": "assistant", "content": ["a", {"type": "image_url"}], "tool_calls": [7]}
    )
    assert (odd["content"], odd["tool_calls"]) == ("a [image]", ["7"])


@pytest.mark.parametrize(
    ("reward", "saved"),
    [
        (0.25, 0.25), (True, 1.0), (np.float32(0.5), 0.5), (np.float64(0.5), 0.5), (None, 0.0),
        (math.nan, 0.0), (math.inf, 0.0), ("x", 0.0), (10**400, 0.0),
    ],
)  # fmt: skip
def test_the_reward_is_always_a_finite_number(reward: Any, saved: float) -> None:
    assert built(tool_state(reward=reward))["reward"] == saved


def test_tool_definitions_are_saved() -> None:
    tool = Tool(name="f", description="d", parameters={"type": "object"})
    assert built(tool_state(tool_defs=[tool]))["tool_defs"] == [
        {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": None}
    ]


class Rude:
    """An object of people's code that raises wherever it is looked at."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)


class Number(int):
    pass


@dataclass
class Point:
    x: int


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value["again"] = value
    return value


def deep() -> Any:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a\ud800b", "a\\ud800b"),
        (Rude(), "<Rude is not JSON: its repr raised RuntimeError>"),
        ({"k\ud800": 1}, {"k\\ud800": 1}),
        (object, "<type is not JSON: <class 'object'>>"),
        (1 + 2j, "<complex is not JSON: (1+2j)>"),
    ],
    ids=["half a character", "rude object", "half a key", "class", "complex"],
)
def test_what_json_cannot_carry_is_replaced_visibly_and_noted(value: Any, expected: Any) -> None:
    row = json.loads(encode_row({"reward": 1.0, "column": value, "tui_eval": {"version": 1}}))
    assert row["column"] == expected
    assert row["reward"] == 1.0
    assert row["tui_eval"]["replaced"] == ["column"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Number(3), 3), (np.float64(0.5), 0.5), (np.arange(3), [0, 1, 2]), (Path("/x"), "/x"),
        (ValueError("no"), "ValueError('no')"), (Point(1), {"x": 1}), ({1: "a"}, {"1": "a"}),
        (math.nan, None), (math.inf, None), ((1, 2), [1, 2]), (AssistantMessage(content="x"),
        {"role": "assistant", "content": "x"}), (10**30, 10**30),
    ],
)  # fmt: skip
@pytest.mark.parametrize("beside", [None, "\ud800"])
def test_values_with_a_plain_form_are_saved_in_it_whatever_stands_beside(
    value: Any, expected: Any, beside: Any
) -> None:
    row = json.loads(encode_row({"column": value, "beside": beside, "tui_eval": {}}))
    assert row["column"] == expected


@pytest.mark.parametrize("make", [cyclic, deep, MagicMock, lambda: [cyclic()] * 3])
def test_endless_values_end(make: Callable[[], Any]) -> None:
    line = encode_row({"reward": 0.5, "column": make(), "tui_eval": {}})
    row = json.loads(line)
    assert row["reward"] == 0.5
    if make is deep and "replaced" not in row["tui_eval"]:
        return  # some versions of Python carry it whole
    assert "is not JSON" in line.decode()
    assert row["tui_eval"]["replaced"]


def test_a_number_of_thousands_of_digits_does_not_make_the_row_unreadable() -> None:
    row = decode_row(encode_row({"reward": 0.5, "column": 10**5000, "tui_eval": {}}))
    assert row["reward"] == 0.5
    assert row["column"].startswith("<int is not JSON")


JSON_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.text(max_size=10)
    | st.floats(allow_nan=False, allow_infinity=False)
)
JSON_VALUES = st.recursive(
    JSON_LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=5)
JUNK_LEAVES = (
    ANY_TEXT
    | st.binary(max_size=4)
    | st.floats()
    | st.integers()
    | st.complex_numbers()
    | st.builds(Rude)
    | st.builds(object)
    | st.sampled_from([Number(1), np.float64(0.1)])
    | st.builds(lambda: 10**5000)
)
JUNK_KEYS = ANY_TEXT | st.none() | st.tuples(st.integers())
JUNK = st.recursive(
    JUNK_LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(JUNK_KEYS, inner, max_size=3)
        | st.frozensets(JUNK_KEYS, max_size=3)
    ),
    max_leaves=8,
)


@given(JUNK, JSON_VALUES)
def test_a_row_is_always_one_line_of_valid_json(junk: Any, plain: Any) -> None:
    line = encode_row({"junk": junk, "plain": plain, "tui_eval": {"version": 1}})
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert json.loads(line)["plain"] == plain
    assert decode_row(line)["plain"] == plain
    assert decode_row(line)["tui_eval"]["version"] == 1
