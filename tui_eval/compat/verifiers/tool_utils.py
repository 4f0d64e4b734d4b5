"""`verifiers.utils.tool_utils`: functions as tools, and what tools may give back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tui_eval.tools.schema import tool_from_function
from tui_eval.types import Tool

VALID_TOOL_CONTENT_PART_TYPES = frozenset(("text", "image_url"))
"""The types of parts that a tool's result may have."""


def convert_func_to_tool_def(func: Callable[..., Any]) -> Tool:
    """The definition of a Python function as a tool.

    Raises:
        TypeError: The function cannot be made a tool.
    """
    return tool_from_function(func)


def is_valid_tool_content_parts(value: object) -> bool:
    """Whether a value is a list of text and image parts, and so may be a message's content."""
    return isinstance(value, list) and all(
        isinstance(part, Mapping) and part.get("type") in VALID_TOOL_CONTENT_PART_TYPES
        for part in value
    )
