"""The parameters of a function that a model may call: their names, types and descriptions."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Collection, Mapping
from inspect import Parameter
from types import SimpleNamespace
from typing import Any

import typing_extensions

from tui_eval.tools.docstrings import read_docstring

_CONTEXTS = frozenset({"RunContextWrapper", "ToolContext"})


def tool_name(func: Callable[..., Any]) -> str:
    """The name under which a model calls a function.

    A `functools.partial` without a name of its own has that of the function inside.
    """
    name = getattr(func, "__name__", None)
    if name is None and isinstance(func, functools.partial):
        return tool_name(func.func)
    return str(name or type(func).__name__)


def parameter_names(func: Callable[..., Any]) -> tuple[list[str], bool]:
    """The names of all parameters, and whether others are taken as well (`**kwargs`)."""
    parameters = _signature(func)
    names = [p.name for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
    return names, len(names) < len(parameters)


def hidden_names(func: Callable[..., Any]) -> list[str]:
    """Parameters that are no matter of the model's, whoever adds the tool.

    These are what a `functools.partial` has bound by name, and a first parameter that is
    annotated as the context of an agent's run.
    """
    parameters = _signature(func)
    bound = dict(func.keywords) if isinstance(func, functools.partial) else {}
    context = [p.name for p in parameters[:1] if _is_context(p.annotation)]
    return [*context, *(name for name in bound if name not in context)]


def visible_parameters(
    func: Callable[..., Any], hidden: Collection[str]
) -> list[tuple[Parameter, Any]]:
    """Each parameter that is not hidden, and its annotation as an object; else a TypeError."""
    found = [p for p in _signature(func) if p.name not in hidden]
    written = {p.name: p.annotation for p in found if p.annotation is not Parameter.empty}
    names = getattr(_annotated(func), "__globals__", {})
    try:
        # One object with only these annotations: others may name what exists for a type checker.
        holder = SimpleNamespace(__annotations__=written)
        hints = typing.get_type_hints(holder, globalns=names, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        name = tool_name(func)
        raise TypeError(f"Tool {name!r}: an annotation cannot be resolved: {error}") from error
    return [(parameter, portable(hints.get(parameter.name, Any))) for parameter in found]


def described(func: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description of a function and the text of each parameter, by name."""
    if isinstance(func, functools.partial):
        description, inner = described(func.func)
        own, texts = read_docstring(vars(func).get("__doc__"))
        return own or description, {**inner, **texts}
    if _is_function(func):
        return read_docstring(inspect.getdoc(func))
    description, inner = read_docstring(inspect.getdoc(type(func)))
    own, texts = read_docstring(inspect.getdoc(type(func).__call__))
    return own or description, {**inner, **texts}


def _signature(func: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(inspect.signature(func).parameters.values())
    except ValueError as error:
        raise TypeError(
            f"Tool {tool_name(func)!r}: its parameters cannot be read ({error}). "
            "Put a Python function around it"
        ) from error


def _annotated(func: Any) -> Any:
    """The function whose module knows the names in the annotations."""
    if isinstance(func, functools.partial):
        return _annotated(func.func)
    if isinstance(func, type):
        return inspect.unwrap(getattr(func, "__init__"))  # noqa: B009
    return inspect.unwrap(func if _is_function(func) else type(func).__call__)


def _is_function(func: Callable[..., Any]) -> bool:
    return isinstance(func, type) or inspect.isroutine(inspect.unwrap(func))


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, str):
        name = annotation.partition("[")[0].rpartition(".")[2]
    else:
        name = getattr(typing.get_origin(annotation) or annotation, "__name__", "")
    return name.strip() in _CONTEXTS


def portable(annotation: Any, inside: frozenset[Any] = frozenset()) -> Any:
    """The same annotation; before Python 3.12 with other types in the place of `TypedDict`s.

    Which keys are required is not kept: tool schemas require all of them.

    Args:
        inside: Types that this annotation is a part of; where one holds itself it becomes `dict`.
    """
    if sys.version_info >= (3, 12):
        return annotation
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        if annotation in inside:
            return dict[str, Any]
        hints = typing.get_type_hints(annotation, include_extras=True)
        fields = {
            name: portable(_bare(hint), inside | {annotation}) for name, hint in hints.items()
        }
        twin = typing_extensions.TypedDict(annotation.__name__, fields)  # type: ignore[misc]
        twin.__doc__ = annotation.__doc__
        return twin
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    changed = tuple(portable(part, inside) for part in parts)
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return annotation
    if not isinstance(origin, type) or origin.__module__ == "types":
        origin = typing.Annotated if origin is typing.Annotated else typing.Union
    return origin[changed]


def _bare(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Required, typing.NotRequired):
        return typing.get_args(hint)[0]
    return hint


def call_by_name(func: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Calls a function with arguments by name, those that it takes by place included.

    Arguments are given as they are: a parameter annotated with a model or an enumeration gets the
    dict or the text that was sent.

    Args:
        arguments: One value for each parameter; a list for `*args`.

    Raises:
        TypeError: The arguments do not fit the function.
        Exception: Whatever the function raises.
    """
    code = getattr(func, "__code__", None)
    if code is not None and not code.co_flags & inspect.CO_VARARGS and not code.co_posonlyargcount:
        return func(**arguments)
    try:
        parameters = inspect.signature(func).parameters.values()
    except ValueError:  # some functions written in C have none
        return func(**arguments)
    places, names = _split(list(parameters), dict(arguments))
    return func(*places, **names)


def _split(parameters: list[Parameter], names: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by place, and those by name: as many by name as possible."""
    rest = next((p.name for p in parameters if p.kind is Parameter.VAR_POSITIONAL), None)
    more = names.pop(rest, []) if rest else []
    if not isinstance(more, (list, tuple)):
        raise TypeError(f"{rest!r} must be a list, not a {type(more).__name__}")
    placed = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)[: 2 if more else 1]
    places: list[Any] = []
    for parameter in parameters:
        if parameter.kind not in placed:
            continue
        if parameter.name not in names and parameter.default is Parameter.empty:
            raise TypeError(f"missing a required argument: {parameter.name!r}")
        places.append(names.pop(parameter.name, parameter.default))
    return [*places, *more], names
