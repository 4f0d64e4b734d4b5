from __future__ import annotations

import enum
import functools
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

from tui_eval.tools.docstrings import read_docstring
from tui_eval.tools.schema import tool_from_function


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    label: str = "here"


class Folder(BaseModel):
    name: str
    inside: Folder = Field(description="What holds it")


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


def properties(func: Any) -> dict[str, Any]:
    return tool_from_function(func).parameters["properties"]


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


def test_literals_enums_tuples_and_models():
    def paint(
        mode: Literal["a", "b"],
        colour: Colour,
        other: Colour = Colour.RED,
        pair: tuple[int, str] = (1, "x"),
        points: list[Point] = [],  # noqa: B006
    ):
        pass

    schema = tool_from_function(paint).parameters
    found = schema["properties"]
    assert found["mode"] == {"enum": ["a", "b"], "title": "Mode", "type": "string"}
    assert found["other"]["enum"] == ["red", "blue"]
    assert found["other"]["default"] == "red"
    assert "$ref" not in found["other"]
    assert found["pair"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    point = schema["$defs"]["Point"]
    assert point["required"] == ["x", "label"]
    assert point["additionalProperties"] is False


def test_annotated_text_describes_unless_the_docstring_does():
    def find(
        a: Annotated[str, "from the note"],
        b: Annotated[int, Field(ge=1, description="from the field")] = 2,
        c: Annotated[str, "overruled"] = "x",
    ):
        """Find.

        :param c: from the docstring
        """

    found = properties(find)
    assert found["a"]["description"] == "from the note"
    assert found["b"] == {
        "default": 2,
        "description": "from the field",
        "minimum": 1,
        "title": "B",
        "type": "integer",
    }
    assert found["c"]["description"] == "from the docstring"


def test_names_that_pydantic_reserves_are_fine_as_parameters():
    def odd(json: str, _hidden: int, model_config: str, copy: bool):
        pass

    assert list(properties(odd)) == ["json", "_hidden", "model_config", "copy"]


def test_methods_partials_and_callable_objects():
    class Box:
        def look(self, where: str) -> str:
            """Looks."""
            return where

        def __call__(self, key: int) -> int:
            return key

    def add(a: int, b: int) -> int:
        return a + b

    assert tool_from_function(Box().look).name == "look"
    assert properties(Box().look) == {"where": {"title": "Where", "type": "string"}}
    assert tool_from_function(Box()).name == "Box"
    assert properties(Box()) == {"key": {"title": "Key", "type": "integer"}}
    one = functools.partial(add, b=1)
    one.__name__ = "add_one"
    assert tool_from_function(one).name == "add_one"
    assert properties(one)["a"] == {"title": "A", "type": "integer"}


def test_what_cannot_be_called_by_name_is_refused():
    def by_place(x, /):
        pass

    def many(*args: int):
        pass

    class Opaque:
        pass

    def opaque(x: Opaque):
        pass

    opaque.__annotations__["x"] = Opaque
    for func, word in ((by_place, "'x'"), (many, "'args'"), (opaque, "Opaque")):
        with pytest.raises(TypeError, match=word):
            tool_from_function(func)


NUMPY = """
    Sums things.

    Parameters
    ----------
    a : int
        the first
        number
    b, c
        the others

    Returns
    -------
    int
        the sum
"""
SPHINX = """Sums things.

:param a: the first
    number
:param int b: the second
:type a: int
:returns: the sum
"""


def test_a_type_that_holds_itself_is_described_once_and_then_named():
    def visit(start: Folder) -> str: ...

    definitions = tool_from_function(visit).parameters["$defs"]

    inner = definitions["Folder"]["properties"]["inside"]
    assert inner["description"] == "What holds it"
    assert inner["properties"]["inside"] == {"$ref": "#/$defs/Folder"}


def test_numpy_and_sphinx_docstrings():
    assert read_docstring(NUMPY) == (
        "Sums things.",
        {"a": "the first number", "b": "the others", "c": "the others"},
    )
    assert read_docstring(SPHINX) == (
        "Sums things.",
        {"a": "the first number", "b": "the second"},
    )


@pytest.mark.parametrize("text", [None, "", "Only words.", "Words: with a colon\nand more"])
def test_docstrings_without_sections(text: str | None):
    assert read_docstring(text) == (text or "", {})
