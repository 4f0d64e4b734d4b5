"""Arguments for tools that the scripted policy does not know: valid, and of the question."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tui_eval.demo.policy.dialogue import Dice
from tui_eval.demo.policy.schema import make_value

WORDS = re.findall(r"\S+", "How far is it from Lyon to Graz in 12 km steps of 2.5")


def problems(schema: dict[str, Any], value: Any) -> list[str]:
    found = Draft202012Validator(
        schema, format_checker=Draft202012Validator.FORMAT_CHECKER
    ).iter_errors(value)
    return [one.message for one in found]


def bounded(kind: str, low: int, span: int) -> dict[str, Any]:
    return {"type": kind, "minimum": low, "maximum": low + span}


KINDS = ("integer", "number")
FORMATS = ("date", "time", "email", "ipv4", "uuid", "date-time")
PATTERNS = ("^[A-Z]{3}$", r"^\d{4}$", "^[a-z]+-[0-9]+$", "^(a|b)", "^[A-Z]{2}[0-9]{2}$")
leaves: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from([{"type": kind} for kind in ("boolean", "null", "string", "integer")]),
    st.builds(lambda n: {"type": "string", "minLength": n, "maxLength": n + 3}, st.integers(0, 30)),
    st.builds(bounded, st.sampled_from(KINDS), st.integers(-50, 50), st.integers(0, 9)),
    st.builds(lambda n: {"type": "integer", "exclusiveMinimum": n}, st.integers(-9, 9)),
    st.builds(lambda n: {"type": "number", "exclusiveMaximum": n}, st.integers(-9, 9)),
    st.builds(
        lambda step, n: {"type": "integer", "multipleOf": step, "minimum": n, "maximum": n + 40},
        st.integers(1, 20),
        st.integers(-50, 50),
    ),
    st.builds(lambda values: {"enum": values}, st.lists(st.text(), min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, st.text() | st.integers()),
    st.sampled_from([{"type": "string", "format": name} for name in FORMATS]),
    st.sampled_from([{"type": "string", "pattern": text} for text in PATTERNS]),
    st.just({"type": ["string", "null"]}),
)
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda s, n: {"type": "array", "items": s, "minItems": n}, inner, st.just(2)),
        st.builds(lambda s: {"type": "array", "items": s, "maxItems": 2}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(lambda one: {"anyOf": [one, {"type": "null"}], "default": None}, inner),
        st.builds(
            lambda properties: {
                "type": "object",
                "properties": properties,
                "required": list(properties)[:1],
                "additionalProperties": False,
            },
            st.dictionaries(st.text(max_size=5), inner, max_size=3),
        ),
    ),
    max_leaves=6,
)


@given(schema=schemas, seed=st.integers())
def test_arguments_satisfy_their_schema(schema: dict[str, Any], seed: int) -> None:
    assert problems(schema, make_value(schema, Dice(seed, 1.0), WORDS)) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"Colour": {"enum": ["red", "blue"]}}, "$ref": "#/$defs/Colour"},
        {
            "definitions": {
                "Tree": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "below": {"type": "array", "items": {"$ref": "#/definitions/Tree"}},
                    },
                    "required": ["name", "below"],
                }
            },
            "$ref": "#/definitions/Tree",
        },
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
            ]
        },
        {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 2},
        {"type": "object", "additionalProperties": {"type": "integer"}},
    ],
)
def test_what_schemas_are_made_of_is_followed(schema: dict[str, Any]) -> None:
    for seed in range(40):
        value = make_value(schema, Dice(seed, 1.0), WORDS)
        assert problems(schema, value) == [], value


def test_another_rollout_has_other_values_and_they_are_of_the_question() -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "steps": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["city", "steps"],
    }
    made = [make_value(schema, Dice(seed, 1.0), WORDS) for seed in range(20)]
    assert len({json.dumps(one) for one in made}) > 10
    assert all(set(one["city"].split()) <= set(WORDS) for one in made)
    assert sum(one["steps"] == 12 for one in made) > 4, "a number that the question names"
    assert all(re.fullmatch(r"[^ ]+( [^ ]+){0,2}", one["city"]) for one in made)


def test_an_option_or_a_name_that_the_question_has_is_preferred() -> None:
    colour = {"enum": ["red", "green", "blue", "black", "white"]}
    said = ["Paint", "it", "Green", "for", "Ada"]
    drawn = [make_value(colour, Dice(seed, 1.0), said) for seed in range(100)]
    assert 50 < drawn.count("green") < 100
    texts = [make_value({"type": "string"}, Dice(seed, 1.0), said) for seed in range(100)]
    assert texts.count("Ada") > 15
