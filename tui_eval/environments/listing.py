"""Lists environments without importing one."""

from __future__ import annotations

import ast
import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tui_eval.environments.discovery import (
    Origin,
    find_environment,
    known_environments,
    module_name_of,
    project_of,
)
from tui_eval.errors import RefusedError

NEEDED = ("verifiers", "tui-eval")
"""A distribution that needs one of these may be an environment."""

MOST_BYTES = 1 << 20
"""A longer module is not read for its summary."""

_PROJECT = re.compile(r"[A-Za-z0-9._-]+")


class ListedEnvironment(msgspec.Struct, frozen=True):
    """One environment that could be run.

    Args:
        path: Its file; empty where only importing would say.
        summary: First line of its docstring, else of its project's description; empty where it
            has none.
    """

    env_id: str
    origin: Origin
    path: str
    summary: str


def list_environments(environments_dir: Path = Path("environments")) -> list[ListedEnvironment]:
    """Local, bundled and installed environments and those of entry points, sorted by their id."""
    names = {*known_environments(environments_dir), *_installed()}
    found = []
    for env_id in sorted(names):
        try:
            one = find_environment(env_id, environments_dir)
        except RefusedError:
            continue
        text = _text(one.path)
        if one.origin != "installed" or f"def {one.function}" in text:
            path = "" if one.path is None else str(one.path)
            summary = _summary(text) or _description(one.path, environments_dir.absolute())
            found.append(ListedEnvironment(env_id, one.origin, path, summary))
    return found


def _installed() -> Iterator[str]:
    """Names of distributions that need what environments are written for."""
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"] or ""
        needs = {
            match.group().lower()
            for one in distribution.requires or ()
            if "extra ==" not in one and (match := _PROJECT.match(one))
        }
        if needs & set(NEEDED) and module_name_of(name).isidentifier():
            yield module_name_of(name).replace("_", "-")


def _text(path: Path | None) -> str:
    try:
        if path is None or path.stat().st_size > MOST_BYTES:
            return ""
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""


def _summary(text: str) -> str:
    try:
        docstring = ast.get_docstring(ast.parse(text)) or ""
    except (SyntaxError, ValueError, RecursionError):
        return ""
    return docstring.partition("\n")[0].strip()


def _description(path: Path | None, environments_dir: Path) -> str:
    """The description in the `pyproject.toml` of an environment's folder; else empty."""
    if path is None or environments_dir not in path.parents:
        return ""
    for folder in path.relative_to(environments_dir).parents[:-1]:
        project = project_of(environments_dir / folder)
        if "description" in project:
            return str(project["description"]).partition("\n")[0].strip()
    return ""
