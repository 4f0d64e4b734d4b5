"""The schema of a tool: from functions, methods, partials and callable objects."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel
from schema_samples import Point, properties

from tui_eval.tools.schema import tool_from_function


class Opaque:
    """Something without a JSON schema."""


def whole(x: int, y: float = 2.0, z: Optional[str] = None, *, flag: bool = False):  # noqa: UP045
    """Short summary.

    Longer text here.

    Args:
        x: the x
        y (float): the y
        z: maybe
            and more

    Returns:
        nothing: at all
    """


def test_keys_of_a_schema_stand_in_the_order_in_which_they_are_written():
    def move(to: Point, points: list[Point]):
        """Move.

        Args:
            to: where
        """

    parameters = tool_from_function(move).parameters
    root = ["$defs", "properties", "required", "title", "type", "additionalProperties"]
    assert list(parameters) == root
    to = ["description", "properties", "required", "title", "type", "additionalProperties"]
    assert list(parameters["properties"]["to"]) == to
    assert list(parameters["$defs"]["Point"]) == to[1:]


def test_a_function_becomes_the_schema_that_strict_endpoints_take():
    assert tool_from_function(whole).model_dump() == {
        "name": "whole",
        "description": "Short summary.\n\nLonger text here.",
        "parameters": {
            "properties": {
                "x": {"description": "the x", "title": "X", "type": "integer"},
                "y": {"default": 2.0, "description": "the y", "title": "Y", "type": "number"},
                "z": {
                    "anyOf": [{"type": "string"}, {"type": "null"}],
                    "description": "maybe and more",
                    "title": "Z",
                },
                "flag": {"default": False, "title": "Flag", "type": "boolean"},
            },
            "required": ["x", "y", "z", "flag"],
            "title": "whole_args",
            "type": "object",
            "additionalProperties": False,
        },
        "strict": None,
    }


def test_parameters_without_annotations_take_anything():
    def loose(x, y=3):
        pass

    tool = tool_from_function(loose)
    assert tool.description == ""
    assert tool.parameters["properties"] == {"x": {"title": "X"}, "y": {"default": 3, "title": "Y"}}
    assert tool.parameters["required"] == ["x", "y"]


def test_dicts_and_further_keywords_stay_open():
    def put(data: dict[str, int], free: dict, **more: Any):
        pass

    schema = tool_from_function(put).parameters
    assert schema["properties"]["data"]["additionalProperties"] == {"type": "integer"}
    assert schema["properties"]["free"]["additionalProperties"] is True
    assert schema["additionalProperties"] is True
    assert schema["required"] == ["data", "free"]


def test_names_that_pydantic_reserves_are_fine_as_parameters():
    def odd(json: str, _hidden: int, model_config: str, copy: bool):
        pass

    assert list(properties(odd)) == ["json", "_hidden", "model_config", "copy"]


def test_methods_and_callable_objects():
    class Box:
        def look(self, where: str) -> str:
            """Looks."""
            return where

        def __call__(self, key: int) -> int:
            return key

    class Talker:
        """Somebody."""

        async def __call__(self, words: str) -> None:
            """Says it.

            Args:
                words: what is said
            """

    assert tool_from_function(Box().look).name == "look"
    assert properties(Box().look) == {"where": {"title": "Where", "type": "string"}}
    assert tool_from_function(Box()).name == "Box"
    assert properties(Box()) == {"key": {"title": "Key", "type": "integer"}}
    assert tool_from_function(Talker()).description == "Says it."
    assert properties(Talker())["words"]["description"] == "what is said"


def test_partials_are_the_function_inside_without_what_is_bound():
    async def add(a: int, b: int) -> int:
        """Adds.

        Args:
            a: one
        """
        return a + b

    tool = tool_from_function(functools.partial(add, b=1))
    assert (tool.name, tool.description) == ("add", "Adds.")
    assert tool.parameters["properties"] == {
        "a": {"description": "one", "title": "A", "type": "integer"}
    }
    assert list(properties(functools.partial(functools.partial(add, 1)))) == ["b"]
    one = functools.partial(add, b=1)
    one.__name__ = "add_one"
    one.__doc__ = "Adds one."
    assert tool_from_function(one).name == "add_one"
    assert tool_from_function(one).description == "Adds one."


def test_decorated_functions_are_seen_through():
    def twice(func):
        @functools.wraps(func)
        async def wrapper(*args, **kwargs):
            return func(*args, **kwargs)

        return wrapper

    @functools.lru_cache
    def look(where: Point, how: Literal["a", "b"] = "a"):
        """Looks."""

    for func in (look, twice(look)):
        tool = tool_from_function(func)
        assert (tool.name, tool.description) == ("look", "Looks.")
        assert tool.parameters["properties"] == {
            "where": {"$ref": "#/$defs/Point"},
            "how": {"default": "a", "enum": ["a", "b"], "title": "How", "type": "string"},
        }


def test_what_has_no_schema_or_no_name_is_refused():
    def opaque(x: Opaque):
        pass

    def unknown(x: Nowhere):  # noqa: F821
        pass

    refused = [
        (opaque, "'opaque': a parameter has a type without a JSON schema"),
        (unknown, "'unknown': an annotation cannot be resolved: name 'Nowhere'"),
        (lambda x: x, "lambda has no name"),
        ("look", "A tool is a function, not str: 'look'"),
        (dict.pop, "'pop': its parameters cannot be read"),
    ]
    for func, words in refused:
        with pytest.raises(TypeError, match=words):
            tool_from_function(func)


def test_skipped_parameters_need_no_schema_and_leave_no_definitions():
    def look(path: str, box: Opaque, point: Point, nowhere: Nowhere = None) -> Elsewhere:  # noqa: F821
        pass

    tool = tool_from_function(look, ["box", "point", "nowhere"])
    assert tool.parameters == {
        "properties": {"path": {"title": "Path", "type": "string"}},
        "required": ["path"],
        "title": "look_args",
        "type": "object",
        "additionalProperties": False,
    }


def test_parameters_by_place_and_lists_of_arguments():
    def total(start: int, /, *args: Annotated[int, "what is added"], scale: int = 1):
        pass

    found = tool_from_function(total).parameters
    assert found["properties"] == {
        "start": {"title": "Start", "type": "integer"},
        "args": {
            "description": "what is added",
            "items": {"type": "integer"},
            "title": "Args",
            "type": "array",
        },
        "scale": {"default": 1, "title": "Scale", "type": "integer"},
    }
    assert found["required"] == ["start", "args", "scale"]


def test_the_context_of_an_agents_run_is_no_matter_of_the_models():
    def by_name(ctx: agents.RunContextWrapper[int], question: str):  # noqa: F821
        pass

    def second(question: str, ctx: ToolContext):
        pass

    class ToolContext(BaseModel):
        pass

    def by_type(context, question: str):
        pass

    by_type.__annotations__["context"] = ToolContext
    assert list(properties(by_name)) == list(properties(by_type)) == ["question"]
    with pytest.raises(TypeError, match="ToolContext"):
        tool_from_function(second)
