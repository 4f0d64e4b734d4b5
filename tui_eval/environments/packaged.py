"""The module of a local environment whose folder has another name than its package."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MAKES = re.compile(rb"^\s*(?:async )?(?:def|from|import)\b.*\bload_environment\b", re.MULTILINE)
_LARGEST = 1 << 20


def packaged_module(folder: Path) -> Path | None:
    """The file of the module that a project's folder is packaged from; None where that is open.

    It is the module of the project's own name, or the only one with a `load_environment`.
    """
    name = project_name(folder)
    if name is None:
        return None
    modules = list(_modules(folder))
    named = [path for path in modules if _name_of(path) == name]
    making = named or [path for path in modules if _makes(path)]
    return making[0] if len(making) == 1 else None


def project_name(folder: Path) -> str | None:
    """The name in a folder's pyproject.toml, as a module's; None without one."""
    try:
        told: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    name = told.get("project", {}).get("name")
    return re.sub(r"[-_.]+", "_", name).lower() if isinstance(name, str) else None


def _modules(folder: Path) -> Iterator[Path]:
    for inner in (folder, folder / "src"):
        if inner.is_dir():
            yield from sorted(inner.glob("*.py"))
            yield from sorted(inner.glob("*/__init__.py"))


def _name_of(path: Path) -> str:
    return path.parent.name if path.name == "__init__.py" else path.stem


def _makes(path: Path) -> bool:
    try:
        if not _name_of(path).isidentifier() or path.stat().st_size > _LARGEST:
            return False
        return _MAKES.search(path.read_bytes()) is not None
    except OSError:
        return False
