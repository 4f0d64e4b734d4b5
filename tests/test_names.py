"""Modules, classes, functions and variables have the field's names: some words do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tui_eval

ROOT = Path(tui_eval.__file__).parent

IN_STEAD = {
    "asked": "requested, or what it is: `request`, `wanted_limit`",
    "complain": "`warn`",
    "desk": "`backend`",
    "hear": "`receive`",
    "heard": "`received`",
    "hears": "`receives`",
    "house": "`base`, or leave it out",
    "lookout": "`watcher`",
    "mutter": "`print_stderr`",
    "obey": "`handle`",
    "seam": "`transport`",
    "standing": "`status`",
    "story": "`trajectory`, `replay`",
    "survey": "`preflight`",
    "tell": "`publish`, `notify`, `show`",
    "telling": "`publishing`, `showing`",
    "tells": "`publishes`, `shows`",
    "told": "what it is: `lines`, `reported`, `events`",
    "touched": "`changed`",
    "watched": "`subscribed`",
}
"""Words of no identifier, and what to write instead."""

MODULES = {
    "attending": "`job`",
    "choosing": "`endpoint_resolution`",
    "choosing_again": "`resumed_endpoints`",
    "composing": "`plan_builder`",
    "dead": "`crash_recovery`",
    "facts": "`run_info`",
    "going_on": "`resume`",
    "last_words": "`emergency_close`",
    "own_runs": "`resume_match`",
    "passing": "`retryable`",
    "placing": "`row_positions`",
    "varying": "`differences`",
}
"""Names of no module, besides."""

PUBLIC = frozenset[str]()
"""Names that authors or other programs write, which stay."""


def words(name: str) -> list[str]:
    """The parts of an identifier in snake or camel case, in lower case."""
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]


def identifiers(tree: ast.AST) -> Iterator[str]:
    """All names that a file gives to something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def found() -> dict[str, str]:
    """Every identifier with such a word, and where it is first."""
    places: dict[str, str] = {}
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        for name in (path.stem, *identifiers(ast.parse(path.read_text()))):
            if not IN_STEAD.keys().isdisjoint(words(name)):
                places.setdefault(name, where)
    return places


def test_no_identifier_has_a_word_that_the_field_does_not_use() -> None:
    new = {
        f"{name} in {where}": [IN_STEAD[word] for word in words(name) if word in IN_STEAD]
        for name, where in found().items()
        if name not in PUBLIC
    }
    assert new == {}


def test_no_module_has_such_a_name() -> None:
    names = {path.relative_to(ROOT).as_posix(): path.stem for path in ROOT.rglob("*.py")}
    names |= {f"{path.relative_to(ROOT)}/": path.name for path in ROOT.rglob("*") if path.is_dir()}
    assert {where: MODULES[name] for where, name in names.items() if name in MODULES} == {}
