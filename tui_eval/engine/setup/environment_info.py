"""The description of an environment for people who will run it, as plain JSON data.

The module also runs in the environment's own interpreter, which has few of our packages.
"""

from __future__ import annotations

import asyncio
import enum
import importlib.metadata
import inspect
import json
import os
import subprocess
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal, Union

from tui_eval.config.environment_defaults import environment_defaults, pyproject_of
from tui_eval.config.fields import Shape
from tui_eval.config.options import Settings
from tui_eval.config.toml_files import read_toml
from tui_eval.environments.discovery import FoundEnvironment, module_name_of
from tui_eval.environments.loader import import_environment
from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.summary_json import VERSION, json_line, refused_object
from tui_eval.tools.docstrings import read_docstring
from tui_eval.worker.open_environment import install_alias

README_CHARACTERS = 64_000
"""Characters of a README that are reported."""

_KINDS = {bool: "flag", int: "int", float: "float", str: "text"}
_LISTS = (
    list, tuple, set, frozenset, abc.Sequence, abc.MutableSequence, abc.Set, abc.MutableSet,
    abc.Iterable, abc.Collection,
)  # fmt: skip
_TABLES = (dict, abc.Mapping, abc.MutableMapping)


def describe_where_it_runs(env_id: str, folder: Path, *, no_alias: bool = False) -> dict[str, Any]:
    """Runs `describe_environment` in the environment's own interpreter, where it has one.

    Args:
        folder: The folder of local environments.
        no_alias: Leave `import verifiers` to the installed package.
    """
    from tui_eval.engine.interpreters.missing_packages import interpreter_of  # not there: see above

    settings, _ = environment_defaults(env_id, folder)
    python = settings.get("python")
    try:
        named = interpreter_of(python.value, python.source) if python is not None else None
        interpreter = asyncio.run(named) if named is not None else None
    except RefusedError as error:
        return refused_object(error.faults)
    if interpreter is None:
        return describe_environment(env_id, folder, no_alias=no_alias)
    words = interpreter.command("tui_eval.engine.setup.environment_info")
    words += [env_id, str(folder)] + (["--no-alias"] if no_alias else [])
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    try:
        described: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        what = f"{interpreter.path} ended with {done.returncode} before it said what this is"
        return refused_object([Fault(f"environment {env_id}", what)])
    return {**described, **_shown_defaults(settings)} if "defaults" in described else described


def describe_environment(env_id: str, folder: Path, *, no_alias: bool = False) -> dict[str, Any]:
    """Describes an environment that is imported but not made, or its faults.

    Args:
        folder: The folder of local environments.
        no_alias: Leave `import verifiers` to the installed package.
    """
    try:
        if not no_alias:
            install_alias()
        found, make = import_environment(env_id, folder)
    except RefusedError as error:
        return refused_object(error.faults)
    settings, faults = environment_defaults(env_id, folder)
    pyproject = pyproject_of(found)
    described = {
        "version": VERSION,
        "status": "described",
        "exit_code": 0,
        "env_id": env_id,
        "origin": found.origin,
        "path": str(found.path or found.module_name),
        "release": _release(found, pyproject),
        "docstring": inspect.getdoc(make) or "",
        "module_docstring": inspect.getdoc(inspect.getmodule(make)) or "",
        "readme": _readme(found, pyproject),
        "parameters": list(_parameters(make)),
        "takes_others": any(
            one.kind is Parameter.VAR_KEYWORD for one in inspect.signature(make).parameters.values()
        ),
        **_shown_defaults(settings),
        "faults": refused_object(faults)["faults"],
    }
    cleaned: dict[str, Any] = Cleaner().clean(described)
    return cleaned


def _shown_defaults(settings: Settings) -> dict[str, Any]:
    """The default settings of an environment, with the source of each."""
    shown = {
        name: {"value": setting.value, "source": setting.source}
        for name, setting in settings.items()
    }
    return {"defaults": shown}


def _release(found: FoundEnvironment, pyproject: Path | None) -> str:
    """Its version; empty where none is known."""
    if found.origin == "bundled":
        from tui_eval import __version__

        return __version__
    file = read_toml(pyproject, "the project")[0] if pyproject else None
    project = file.tables.get("project") if file else None
    if isinstance(project, dict) and isinstance(project.get("version"), str):
        return str(project["version"])
    if found.origin == "local":
        return ""
    name = module_name_of(found.module_name).partition(".")[0]
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _readme(found: FoundEnvironment, pyproject: Path | None) -> str:
    """The beginning of its README; empty where it has none of its own."""
    for folder in _readme_folders(found, pyproject):
        for name in ("README.md", "README.rst", "README.txt", "README"):
            try:
                with open(folder / name, encoding="utf-8-sig", errors="replace") as file:
                    return file.read(README_CHARACTERS)
            except OSError:
                continue
    return ""


def _readme_folders(found: FoundEnvironment, pyproject: Path | None) -> Iterator[Path]:
    """Folders that are the environment's own, by its name or its project."""
    name, path = module_name_of(found.module_name.rpartition(".")[2]), found.path
    if path is not None and path.name != "__init__.py":
        yield from (path.parent / spelling for spelling in (name, name.replace("_", "-")))
    if pyproject is not None:
        yield pyproject.parent
    if path is not None:
        if path.name == "__init__.py":
            yield path.parent
        yield from (one for one in path.parents[:3] if module_name_of(one.name) == name)


def _parameters(make: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """Parameters that `env_args` may set, in the order of the function."""
    hints = _hints(make)
    _, reported = read_docstring(make.__doc__)
    for parameter in inspect.signature(make).parameters.values():
        if parameter.kind in (
            Parameter.VAR_POSITIONAL,
            Parameter.VAR_KEYWORD,
            Parameter.POSITIONAL_ONLY,
        ):
            continue
        required = parameter.default is Parameter.empty
        default = None if required else parameter.default
        hint = hints.get(parameter.name)
        kind, choices = _kind(hint, default)
        yield {
            "name": parameter.name,
            "kind": kind,
            "choices": choices,
            "nullable": type(None) in _members(hint),
            "required": required,
            "default": default.value if isinstance(default, enum.Enum) else default,
            "annotation": _annotation(parameter.annotation),
            "shape": _shape(hint) if kind == "json" else "any",
            "help": reported.get(parameter.name, ""),
        }


def _hints(make: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(make)
    except Exception:  # people's annotations may name what is not there
        return {}


def _annotation(annotation: Any) -> str:
    if annotation is Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _kind(hint: Any, default: Any) -> tuple[str, list[Any]]:
    """The notation of a value, and its choices if it has any.

    `json` is a JSON value, `any` that or plain text.
    """
    members = [one for one in _members(hint) if one is not type(None)]
    if len(members) == 1:
        (hint,) = members
        if typing.get_origin(hint) is Literal:
            return "choice", [_plain(one) for one in typing.get_args(hint) if one is not None]
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return "choice", [_plain(one) for one in hint]
        if hint in _KINDS:
            return _KINDS[hint], []
        if hint in (Any, object):
            return "any", []
    elif not members:
        return _KINDS.get(type(default), "any"), []
    elif set(members) == {int, float}:
        return "float", []
    return "json", []


def _shape(hint: Any) -> Shape:
    """The types of a JSON value; `any` where they are not plain."""
    if hint in _KINDS or hint is type(None):
        return _KINDS.get(hint, "null")
    members = _members(hint)
    if len(members) > 1:
        return ["either", *map(_shape, members)]
    origin, of = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is Literal:
        return ["among", *map(_plain, of)]
    if origin is tuple and of and of[-1] is not ...:
        return ["row", *map(_shape, of)]
    if origin in _TABLES or typing.is_typeddict(origin):
        return ["table", _shape(of[1]) if of else "any"]
    if origin in _LISTS:
        return ["list", _shape(of[0]) if of else "any"]
    return "any"


def _members(hint: Any) -> tuple[Any, ...]:
    """The types of a union; none for no type."""
    if hint is None:
        return ()
    if typing.get_origin(hint) in (Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)


def _plain(choice: Any) -> Any:
    return choice.value if isinstance(choice, enum.Enum) else choice


def main() -> None:
    """Prints a description as JSON, and its code's output on stderr: `ENV FOLDER [--no-alias]`."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        env_id, folder, *more = sys.argv[1:]
        described = describe_environment(env_id, Path(folder), no_alias="--no-alias" in more)
        out.write(json_line(described) + "\n")


if __name__ == "__main__":
    main()
