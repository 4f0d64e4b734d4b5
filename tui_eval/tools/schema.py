"""What a model is told about tools: from Python functions, or from definitions."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Annotated, Any

from pydantic import ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo

from tui_eval.tools.docstrings import read_docstring
from tui_eval.types import Tool


def tool_name(func: Callable[..., Any]) -> str:
    """The name under which a model calls a function."""
    return str(getattr(func, "__name__", None) or type(func).__name__)


def tool_from_function(func: Callable[..., Any]) -> Tool:
    """The name, description and JSON schema of a function that a model may call.

    The description of a parameter comes from the docstring, or from `Annotated[T, "text"]`.
    Every parameter is listed as required, those with a default too, and objects allow no
    further keys unless their type does, as strict endpoints want it.

    Raises:
        TypeError: A parameter cannot be given by name, or its type has no JSON schema.
    """
    name = tool_name(func)
    description, texts = read_docstring(inspect.getdoc(func))
    fields: dict[str, Any] = {}
    extra: typing.Literal["allow", "forbid"] = "forbid"
    for parameter, annotation in _parameters(func, name):
        if parameter.kind is Parameter.VAR_KEYWORD:
            extra = "allow"
            continue
        # Names such as `json` or `_x` are not allowed as names of fields, but are as aliases.
        fields[f"arg{len(fields)}"] = _field(parameter, annotation, texts.get(parameter.name))
    try:
        model = create_model(
            f"{name}_args",
            __config__=ConfigDict(extra=extra, arbitrary_types_allowed=False),
            **fields,
        )
        schema = model.model_json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise TypeError(
            f"Tool {name!r}: a parameter has a type without a JSON schema: {error}"
        ) from error
    parameters = _strict(schema, schema, frozenset())
    return Tool(name=name, description=description, parameters=parameters)


def to_tools(tools: Sequence[Any]) -> list[Tool]:
    """Tools as objects, from objects or dicts with name, description and parameters.

    Raises:
        ValueError: A dict has a provider's shape.
        TypeError: It is neither a `Tool` nor a dict.
    """
    found = []
    for tool in tools:
        if isinstance(tool, Tool):
            found.append(tool)
        elif not isinstance(tool, Mapping):
            raise TypeError(f"A tool is a Tool or a dict, not {type(tool).__name__}")
        elif "function" in tool or tool.get("type") == "function":
            raise ValueError("A tool is {name, description, parameters}, without 'function' around")
        else:
            found.append(Tool(**tool))
    return found


def _parameters(func: Callable[..., Any], name: str) -> list[tuple[Parameter, Any]]:
    """Each parameter with its annotation, as an object and not as a string."""
    target = func if inspect.isroutine(func) or not callable(func) else type(func).__call__
    target = getattr(func, "func", target)  # functools.partial
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(f"Tool {name!r}: an annotation cannot be resolved: {error}") from error
    found = []
    for parameter in inspect.signature(func).parameters.values():
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise TypeError(
                f"Tool {name!r}: parameter {parameter.name!r} cannot be given by name. "
                "Make it an ordinary parameter, or a list"
            )
        found.append((parameter, hints.get(parameter.name, Any)))
    return found


def _field(parameter: Parameter, annotation: Any, text: str | None) -> tuple[Any, FieldInfo]:
    default = ... if parameter.default is Parameter.empty else parameter.default
    if isinstance(default, FieldInfo):
        annotation, default = Annotated[annotation, default], default.get_default()
    if text is None and typing.get_origin(annotation) is Annotated:
        notes = [note for note in annotation.__metadata__ if isinstance(note, str)]
        text = notes[0] if notes else None
    described: dict[str, Any] = {} if text is None else {"description": text}
    return annotation, Field(
        default,
        alias=parameter.name,
        title=parameter.name.replace("_", " ").title().strip(),
        **described,
    )


def _strict(node: Any, root: dict[str, Any], inside: frozenset[str]) -> Any:
    """The same schema in the form that strict endpoints accept, built anew.

    Args:
        root: The whole schema, with the definitions.
        inside: References whose definitions this node stands in; they stay references.
    """
    if isinstance(node, list):
        return [_strict(item, root, inside) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node and len(node) > 1:
        reference = node["$ref"]
        if reference in inside:
            return {"$ref": reference}
        rest = {key: item for key, item in node.items() if key != "$ref"}
        return _strict({**_resolve(reference, root), **rest}, root, inside | {reference})
    if len(node.get("allOf", ())) == 1:
        rest = {key: item for key, item in node.items() if key != "allOf"}
        return _strict({**node["allOf"][0], **rest}, root, inside)
    node = {"anyOf" if key == "oneOf" else key: item for key, item in node.items()}
    if "default" in node and node["default"] is None:
        del node["default"]
    strict = {key: _strict_part(key, item, root, inside) for key, item in node.items()}
    if strict.get("type") == "object":
        strict.setdefault("additionalProperties", False)
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
    return strict


def _strict_part(key: str, item: Any, root: dict[str, Any], inside: frozenset[str]) -> Any:
    if key in ("properties", "$defs") and isinstance(item, dict):
        return {name: _strict(part, root, inside) for name, part in item.items()}
    if key in ("default", "enum", "const", "examples"):
        return item
    return _strict(item, root, inside)


def _resolve(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    node: Any = root
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return dict(node)
