"""Types and defaults in the schema of a tool."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Literal, NotRequired, Optional, TypedDict

import pytest
from pydantic import BaseModel, Field
from schema_samples import Point, properties

from tui_eval.tools.schema import tool_from_function


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


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


def test_a_type_that_holds_itself_is_described_once_and_then_named():
    def visit(start: Folder) -> str: ...

    definitions = tool_from_function(visit).parameters["$defs"]

    inner = definitions["Folder"]["properties"]["inside"]
    assert inner["description"] == "What holds it"
    assert inner["properties"]["inside"] == {"$ref": "#/$defs/Folder"}
