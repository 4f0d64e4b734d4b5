"""Tools as a model sees them: from Python functions, or from definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter
from typing import Annotated, Any, Literal, get_origin

from pydantic import ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from tui_eval.tools.parameters import described, hidden_names, tool_name, visible_parameters
from tui_eval.types import Tool


class _Generator(GenerateJsonSchema):
    """Leaves defaults out that JSON does not have, without a warning for each."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012
        "skipped-choice",
        "non-serializable-default",
    }


def tool_from_function(func: Callable[..., Any], args_to_skip: Collection[str] = ()) -> Tool:
    """The name, description and JSON schema of a function that a model may call.

    The description of a parameter comes from the docstring, or from `Annotated[T, "text"]`.
    Every parameter is listed as required, those with a default too, and objects allow no
    further keys unless their type does, as strict endpoints want it. `*args: T` is a list of T,
    `**kwargs` allow any further key. What a `functools.partial` has bound by name is left out, and
    so is a first parameter that is annotated as the context of an agent's run.

    Args:
        args_to_skip: Parameters that are left out too; their types need no JSON schema.

    Raises:
        TypeError: The function has no name, or the type of a parameter has no JSON schema.
    """
    if not callable(func):
        raise TypeError(f"A tool is a function, not {type(func).__name__}: {func!r}")
    name = tool_name(func)
    if name == "<lambda>":
        raise TypeError("A lambda has no name that a model can call; set its __name__, or use def")
    description, texts = described(func)
    fields: dict[str, Any] = {}
    extra: Literal["allow", "ignore"] = "ignore"
    for parameter, annotation in visible_parameters(func, {*args_to_skip, *hidden_names(func)}):
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
        schema = model.model_json_schema(schema_generator=_Generator)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        why = str(error).split(". Set ")[0].splitlines()[0]
        raise TypeError(
            f"Tool {name!r}: a parameter has a type without a JSON schema: {why}"
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


def _field(parameter: Parameter, annotation: Any, text: str | None) -> tuple[Any, FieldInfo]:
    default = ... if parameter.default is Parameter.empty else parameter.default
    if isinstance(default, FieldInfo):
        annotation, default = Annotated[annotation, default], default.get_default()
    if text is None and get_origin(annotation) is Annotated:
        notes = [note for note in annotation.__metadata__ if isinstance(note, str)]
        text = notes[0] if notes else None
    if parameter.kind is Parameter.VAR_POSITIONAL:
        annotation = list[annotation]
    words: dict[str, Any] = {} if text is None else {"description": text}
    return annotation, Field(default, alias=parameter.name, **words)


def _strict(node: Any, root: dict[str, Any], inside: frozenset[str]) -> Any:
    """The same schema in the form that strict endpoints accept, built again.

    Args:
        root: The whole schema, with the definitions.
        inside: References whose definitions this node is in; they stay references.
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
        whole = {**rest, **_resolve(reference, root), **rest}  # in the order it is written in
        return _strict(whole, root, inside | {reference})
    if len(node.get("allOf", ())) == 1:
        rest = {key: item for key, item in node.items() if key != "allOf"}
        return _strict({**node["allOf"][0], **rest}, root, inside)
    node = {"anyOf" if key == "oneOf" else key: item for key, item in node.items()}
    default = node.get("default")
    if default is None or (isinstance(default, float) and not math.isfinite(default)):
        node.pop("default", None)
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
