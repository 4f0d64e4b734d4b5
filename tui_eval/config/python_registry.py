"""A registry written in Python, `ENDPOINTS = {...}`, read without being run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from tui_eval.config.toml_files import KeyPath, TomlFile
from tui_eval.errors import Fault

NAME = "ENDPOINTS"
_HINT = "Write text and numbers there, or the entry as an [[endpoint]] table in endpoints.toml"


def read_python_registry(path: Path) -> tuple[TomlFile | None, list[Fault]]:
    """The entries of `ENDPOINTS` as the `[[endpoint]]` tables that say the same.

    `ENDPOINTS` is a dict of alias to a dict of settings, or to a list of these for replicas.

    Returns:
        The tables with their lines, or None, and everything that is wrong.
    """
    try:
        tree = ast.parse(path.read_text("utf-8-sig"), filename=str(path))
    except OSError as error:
        return None, [Fault(str(path), f"the registry cannot be read: {error.strerror}")]
    except SyntaxError as error:
        return None, [Fault(f"{path}:{error.lineno or 1}", f"this is no Python: {error.msg}")]
    except (ValueError, RecursionError) as error:
        return None, [Fault(str(path), f"this is no Python: {error}")]
    given = _assigned(tree)
    if not isinstance(given, ast.Dict):
        where = str(path) if given is None else f"{path}:{given.lineno}"
        what = (
            f"there is no {NAME} = {{...}}" if given is None else f"{NAME} is no dict as it stands"
        )
        return None, [Fault(where, what, f"The file is read, not run. {_HINT}")]
    return _entries(path, given)


def _assigned(tree: ast.Module) -> ast.expr | None:
    """What the name is set to, by the last statement that does."""
    found: ast.expr | None = None
    for node in tree.body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(name, ast.Name) and name.id == NAME for name in names):
                found = node.value
    return found


def _entries(path: Path, given: ast.Dict) -> tuple[TomlFile, list[Fault]]:
    tables: list[dict[str, Any]] = []
    lines: dict[KeyPath, int] = {("endpoint",): given.lineno}
    faults: list[Fault] = []
    for key, value in zip(given.keys, given.values, strict=True):
        alias = _literal(key)
        if not isinstance(alias, str):
            where = f"{path}:{(key or value).lineno}"
            faults.append(Fault(where, "this alias is no text as it stands", _HINT))
            continue
        for entry in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            place = len(tables)
            table: dict[str, Any] = {"endpoint_id": alias}
            lines[("endpoint", place)] = entry.lineno
            faults += _settings(path, entry, alias, table, lines, place)
            tables.append(table)
    return TomlFile(path, {"endpoint": tables}, lines), faults


def _settings(
    path: Path,
    entry: ast.expr,
    alias: str,
    table: dict[str, Any],
    lines: dict[KeyPath, int],
    place: int,
) -> list[Fault]:
    if not isinstance(entry, ast.Dict):
        what = f"the entry of {alias!r} is no dict as it stands"
        return [Fault(f"{path}:{entry.lineno}", what, _HINT)]
    faults = []
    for key, value in zip(entry.keys, entry.values, strict=True):
        name, said = _literal(key), _literal(value)
        if not isinstance(name, str) or said is None:
            what = (
                f"{name if isinstance(name, str) else 'a key'} of {alias!r} is no text as it stands"
            )
            faults.append(Fault(f"{path}:{value.lineno}", what, _HINT))
            continue
        lines[("endpoint", place, name)] = value.lineno
        table[name] = said
    return faults


def _literal(node: ast.expr | None) -> Any:
    """The value of a literal; None for everything else."""
    try:
        return None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
