"""Arguments of environments that are written as JSON, checked against their types."""

from __future__ import annotations

from typing import Any

import pytest

from tui_eval.config.fields import argument_field, value_of

TEXTS = ["list", "text"]


def written(shape: Any, text: str) -> Any:
    """Value of a text in the field of an argument of this shape."""
    declared = {"name": "x", "kind": "json", "choices": [], "nullable": False, "required": False,
            "default": None, "annotation": "some type", "shape": shape, "help": ""}  # fmt: skip
    return value_of(argument_field(declared), text)


@pytest.mark.parametrize(
    ("shape", "text", "value"),
    [
        (TEXTS, '["a", "b"]', ["a", "b"]),
        (TEXTS, "[]", []),
        (["list", "any"], '[1, "a"]', [1, "a"]),
        (["list", "float"], "[1, 0.5]", [1, 0.5]),
        (["table", "int"], '{"a": 1}', {"a": 1}),
        (["row", "text", "int"], '["a", 1]', ["a", 1]),
        (["either", TEXTS, "text"], '"a"', "a"),
        (["either", TEXTS, "null"], "null", None),
        (["list", ["among", "easy", "hard"]], '["hard"]', ["hard"]),
        ("any", "7", 7),
    ],
)
def test_what_has_the_type_of_an_argument_is_taken(shape: Any, text: str, value: Any) -> None:
    assert written(shape, text) == value


@pytest.mark.parametrize(
    ("shape", "text", "why"),
    [
        (TEXTS, "7", """7 is not a list of texts, such as ["a", "b"]"""),
        (TEXTS, '["a", 7]', """["a", 7] is not a list of texts, such as ["a", "b"]"""),
        (TEXTS, '{"a": 1}', """{"a": 1} is not a list of texts, such as ["a", "b"]"""),
        (TEXTS, "a, b", """this is not valid JSON; expected a list of texts, such as ["a", "b"]"""),
        (["list", "int"], "[true]", "[true] is not a list of whole numbers, such as [1, 2]"),
        (["list", "any"], "7", """7 is not a list, such as [1, "a"]"""),
        (["table", "float"], "7", """7 is not an object of numbers, such as {"key": 0.5}"""),
        (
            ["table", TEXTS],
            '{"a": "b"}',
            """{"a": "b"} is not an object of lists of texts, such as {"key": ["a", "b"]}""",
        ),
        (
            ["row", "text", "int"],
            '["a"]',
            """["a"] is not a list of a text and a whole number, such as ["a", 1]""",
        ),
        (
            ["either", TEXTS, "text"],
            "7",
            """7 is not a list of texts or a text, such as ["a", "b"]""",
        ),
        (
            ["list", ["among", "easy", "hard"]],
            '["odd"]',
            """["odd"] is not a list of "easy" or "hard", such as ["easy"]""",
        ),
    ],
)
def test_what_has_another_type_is_refused_with_an_example(shape: Any, text: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        written(shape, text)
    assert str(refused.value) == why
