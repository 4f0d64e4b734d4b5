"""The tree at the top of errors.py has every error of the program, and where each comes from."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path
from typing import NamedTuple

import tui_eval
from tui_eval import errors

ROOT = Path(tui_eval.__file__).parent
LINE = re.compile(r"^([│├└─ ]*)(\w*Error|GivenUp) +(?:(\w+(?: \w+ \d)?) {2,})?(\S.*)$")
STAND_INS = [ROOT / "clients" / "sdks.py", ROOT / "clients" / "stand_in_http.py"]
"""Exceptions of other packages, by the same names, where these are not installed."""
SOURCES = {path: path.read_text() for path in ROOT.rglob("*.py") if path not in STAND_INS}
BUILT_IN = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


class Entry(NamedTuple):
    """One line of the tree."""

    parent: str | None
    kind: str
    place: str


def printed() -> dict[str, Entry]:
    """The tree as it is printed."""
    found: dict[str, Entry] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = LINE.match(line)
        if match is None:
            continue
        depth = len(match[1]) // 4
        del above[depth:]
        found[match[2]] = Entry(above[-1] if above else None, match[3] or "", match[4])
        above.append(match[2])
    return found


def defined() -> dict[str, list[str]]:
    """Every class of exception in the code with the names of its bases."""
    classes = {
        node.name: [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        for text in SOURCES.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    }
    found: dict[str, list[str]] = {}
    while True:
        more = {
            name: bases
            for name, bases in classes.items()
            if name not in found and not (BUILT_IN | found.keys()).isdisjoint(bases)
        }
        if not more:
            return found
        found |= more


def parent_of(name: str, classes: dict[str, list[str]]) -> str | None:
    """The nearest ancestor of ours that is not private."""
    for base in classes[name]:
        if base in classes:
            return parent_of(base, classes) if base.startswith("_") else base
    return None


def test_every_error_is_in_the_tree_below_its_parent() -> None:
    classes = defined()
    public = {name: parent_of(name, classes) for name in classes if not name.startswith("_")}
    assert {name: entry.parent for name, entry in printed().items()} == public


def test_the_tree_says_what_failed_and_which_code_a_command_ends_with() -> None:
    for name, entry in printed().items():
        kind = getattr(errors, name, None)
        if kind is not None and issubclass(kind, errors.Error):
            assert entry.kind == kind.error_class, name
        elif kind is not None:
            assert entry.kind == f"exit code {kind.exit_code}", name


def test_an_error_comes_from_where_the_tree_says() -> None:
    for name, entry in printed().items():
        place = entry.place.partition(":")[0]
        if place.endswith(".py"):
            assert re.search(rf"\b{name}\b", SOURCES[ROOT / place]), f"{name}: {place}"
