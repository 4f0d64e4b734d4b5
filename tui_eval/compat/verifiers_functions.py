"""Functions that environments import from verifiers' inner modules, by verifiers' names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tui_eval.environments.ending import maybe_await as maybe_await
from tui_eval.tools.schema import tool_from_function
from tui_eval.types import Tool


def convert_func_to_tool_def(func: Callable[..., Any]) -> Tool:
    """The definition of a Python function as a tool.

    Raises:
        TypeError: The function cannot be made a tool.
    """
    return tool_from_function(func)


def is_valid_tool_content_parts(value: object) -> bool:
    """Whether a value is a list of text and image parts, and so may be a message's content."""
    return isinstance(value, list) and all(
        isinstance(part, Mapping) and part.get("type") in ("text", "image_url") for part in value
    )
