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
            faults.append(_not_literal(path, key or value, "this alias is no text"))
            continue
        for entry in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            here: KeyPath = ("endpoint", len(tables))
            settings, wrong = _settings(path, entry, alias)
            tables.append({"endpoint_id": alias, **{n: said for n, (said, _) in settings.items()}})
            lines[here] = entry.lineno
            lines |= {(*here, name): line for name, (_, line) in settings.items()}
            faults += wrong
    return TomlFile(path, {"endpoint": tables}, lines), faults


def _settings(
    path: Path, entry: ast.expr, alias: str
) -> tuple[dict[str, tuple[Any, int]], list[Fault]]:
    """The values of one endpoint with their lines, by name."""
    if not isinstance(entry, ast.Dict):
        return {}, [_not_literal(path, entry, f"the entry of {alias!r} is no dict")]
    found, faults = {}, []
    for key, value in zip(entry.keys, entry.values, strict=True):
        name, said = _literal(key), _literal(value)
        if isinstance(name, str) and said is not None:
            found[name] = said, value.lineno
            continue
        which = name if isinstance(name, str) else "a key"
        faults.append(_not_literal(path, value, f"{which} of {alias!r} is no text"))
    return found, faults


def _not_literal(path: Path, node: ast.expr, what: str) -> Fault:
    return Fault(f"{path}:{node.lineno}", f"{what} as it stands", _HINT)


def _literal(node: ast.expr | None) -> Any:
    """The value of a literal; None for everything else."""
    try:
        return None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
