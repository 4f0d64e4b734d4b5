"""Facts of an installed verifiers: modules, names, parameters and members; a script.

Run by an interpreter that has the package: `python walk_verifiers.py verifiers_0_1_11.json`.
It writes no docstring, no source and no longer text, only what a caller can rely on.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = "verifiers"
LONGEST = 40
"""Characters of a default value that is written as it is."""


def walk(root: str) -> dict[str, dict[str, Any]]:
    """The facts of every module that can be imported, by its name."""
    return {name: _members_of(module, root) for name, module in _modules(root)}


def _modules(root: str) -> Iterator[tuple[str, ModuleType]]:
    """Every file and folder of the package: also folders that say by no file that they are one."""
    (place,) = map(Path, importlib.import_module(root).__path__)
    files = [file.relative_to(place).with_suffix("").parts for file in place.rglob("*.py")]
    folders = {parts[:depth] for parts in files for depth in range(len(parts))}
    for parts in sorted({*files, *folders}):
        if any(part.startswith("_") for part in parts):
            continue
        name = ".".join((root, *parts))
        try:
            yield name, importlib.import_module(name)
        except (Exception, SystemExit):
            continue


def _members_of(module: ModuleType, root: str) -> dict[str, Any]:
    members: dict[str, Any] = {}
    exported = vars(module).get("__all__", ())
    own = {*_assigned(module), *exported}
    for name in sorted({*vars(module), *exported}):
        if name.startswith("_"):
            continue
        try:
            value = getattr(module, name)
        except (AttributeError, ImportError):
            members[name] = "absent"
            continue
        home = getattr(value, "__module__", None) or ""
        if isinstance(value, ModuleType):
            continue
        if inspect.isclass(value) or inspect.isroutine(value):
            if home == module.__name__:
                members[name] = describe(value)
            elif home.partition(".")[0] == root:
                members[name] = f"={home}"
        elif name in own:
            members[name] = f"value {type(value).__name__}"
    return members


def _assigned(module: ModuleType) -> set[str]:
    """Names that the module's own source gives a value, rather than an import."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (ImportError, OSError, TypeError, SyntaxError):
        return set()
    stored = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def describe(value: Any) -> Any:
    """A function's parameters as text; a class's as a table with its own members."""
    if not inspect.isclass(value):
        return parameters_of(value)
    if hasattr(value, "__total__"):
        return {"keys": " ".join(sorted(value.__annotations__))}
    methods = {
        name: parameters_of(function)
        for name, member in sorted(vars(value).items())
        if not name.startswith("_") and (function := function_of(member)) is not None
    }
    attributes = attributes_of(value) | {name for name in vars(value) if name[0] != "_"}
    kept = " ".join(sorted(attributes - set(methods)))
    return {"(": parameters_of(value), **({".": kept} if kept else {}), **methods}


def function_of(member: Any) -> Any:
    """The function behind a member of a class; None where there is none."""
    inner = getattr(member, "__func__", member)
    return inner if inspect.isroutine(inner) else None


def attributes_of(kind: type) -> set[str]:
    """Public attributes that a class's own methods give to `self`, and that it declares."""
    declared = {} if issubclass(kind, dict) else inspect.get_annotations(kind)
    names = {name for name in declared if name[0] != "_"}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
            if of_self and not node.attr.startswith("_"):
                names.add(node.attr)
    return names


def parameters_of(value: Any) -> str:
    """Parameters as Python writes them, without annotations; "?" where they are not known."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "?"
    kept = [
        one.replace(annotation=one.empty, default=_Default(one.default))
        if _has_default(one)
        else one.replace(annotation=one.empty)
        for one in signature.parameters.values()
    ]
    return str(signature.replace(parameters=kept, return_annotation=signature.empty))


def _has_default(one: inspect.Parameter) -> bool:
    return one.default is not one.empty


class _Default:
    """A default value whose repr is Python: itself where that is short and plain, else `...`."""

    def __init__(self, value: Any) -> None:
        self._text = repr(value)
        try:
            ast.literal_eval(self._text)
        except (ValueError, SyntaxError):
            self._text = "..."
        if len(self._text) > LONGEST:
            self._text = "..."

    def __repr__(self) -> str:
        return self._text


if __name__ == "__main__":
    members = {"version": importlib.metadata.version(ROOT), "modules": walk(ROOT)}
    lines = [
        f"{json.dumps(name)}: {json.dumps(module, separators=(',', ':'))}"
        for name, module in sorted(members["modules"].items())
    ]
    text = f'{{"version": "{members["version"]}", "modules": {{\n' + ",\n".join(lines) + "\n}}\n"
    json.loads(text)
    Path(sys.argv[1]).write_text(text)
