"""Types of parameters, and what the tests look at in a schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tui_eval.tools.schema import tool_from_function


class Point(BaseModel):
    x: int
    label: str = "here"


def properties(func: Any) -> dict[str, Any]:
    return tool_from_function(func).parameters["properties"]
