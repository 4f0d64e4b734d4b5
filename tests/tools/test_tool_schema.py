from __future__ import annotations

import dataclasses
import enum
import functools
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

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


class Opaque:
    """Something without a JSON schema."""


@dataclasses.dataclass
class Place:
    name: str
    tags: list[str] = dataclasses.field(default_factory=list)


class Trip(TypedDict):
    places: list[Place]
    back: NotRequired[bool]


class Plan(BaseModel):
    points: list[Point]
    home: Point | None = None


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


def test_models_dataclasses_and_typed_dicts_are_definitions():
    def send(place: Place, trip: Trip, plan: Plan, near: dict[str, Place] | None = None):
        pass

    schema = tool_from_function(send).parameters
    found = schema["properties"]
    assert found["place"] == {"$ref": "#/$defs/Place"}
    assert found["trip"] == {"$ref": "#/$defs/Trip"}
    assert found["plan"] == {"$ref": "#/$defs/Plan"}
    assert found["near"]["anyOf"][0] == {
        "additionalProperties": {"$ref": "#/$defs/Place"},
        "type": "object",
    }
    assert schema["$defs"]["Place"] == {
        "properties": {
            "name": {"title": "Name", "type": "string"},
            "tags": {"items": {"type": "string"}, "title": "Tags", "type": "array"},
        },
        "required": ["name", "tags"],
        "title": "Place",
        "type": "object",
        "additionalProperties": False,
    }
    trip = schema["$defs"]["Trip"]
    assert trip["properties"]["places"]["items"] == {"$ref": "#/$defs/Place"}
    assert trip["properties"]["back"] == {"title": "Back", "type": "boolean"}
    assert trip["required"] == ["places", "back"]
    assert trip["additionalProperties"] is False
    plan = schema["$defs"]["Plan"]["properties"]
    assert plan["points"]["items"] == {"$ref": "#/$defs/Point"}
    assert plan["home"] == {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}


@pytest.mark.filterwarnings("error")
def test_defaults_that_json_does_not_have_are_left_out():
    def odd(x: float = float("inf"), y: Any = object(), z: Optional[int] = None):  # noqa: B008, UP045
        pass

    found = properties(odd)
    assert found["x"] == {"title": "X", "type": "number"}
    assert found["y"] == {"title": "Y"}
    assert found["z"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "Z"}


def test_fields_as_defaults_keep_what_they_say():
    def find(a: int = Field(default=3, ge=1, description="from the field"), b: int = Field()):
        """Find.

        Args:
            b: from the docstring
        """

    assert properties(find) == {
        "a": {
            "default": 3,
            "description": "from the field",
            "minimum": 1,
            "title": "A",
            "type": "integer",
        },
        "b": {"description": "from the docstring", "title": "B", "type": "integer"},
    }


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


def test_words_that_only_look_like_sections_stay_in_the_description():
    text = ":class:`Box` it is: a box\n\nTitle\n-----\nmore"
    assert read_docstring(text) == (text, {})


def test_fields_without_parameters_end_the_description_too():
    text = "Sums.\n\n:return: the sum\n:rtype: int"
    assert read_docstring(text) == ("Sums.", {})


@pytest.mark.parametrize("text", [None, "", "Only words.", "Words: with a colon\nand more"])
def test_docstrings_without_sections(text: str | None):
    assert read_docstring(text) == (text or "", {})
