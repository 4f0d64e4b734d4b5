"""Modules, classes, functions and variables have the field's names: some words do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tui_eval

ROOT = Path(tui_eval.__file__).parent

IN_STEAD = {
    "anew": "`again`, `re-`",
    "asked": "requested, or what it is: `request`, `wanted_limit`",
    "asks": "`requests`",
    "complain": "`warn`",
    "dead": "`crashed`, `ended`",
    "desk": "`backend`",
    "facts": "what they are: `info`, `fields`, `metadata`",
    "goes": "`continues`, `resumes`, `moves`",
    "going": "`continuing`, `resuming`",
    "hear": "`receive`",
    "heard": "`received`",
    "hearing": "`receiving`",
    "hears": "`receives`",
    "house": "`base`, or leave it out",
    "laid": "`has_layout`, `layout`",
    "lookout": "`watcher`",
    "mutter": "`print_stderr`",
    "obey": "`handle`",
    "placing": "`positions`",
    "said": "what it is: `output`, `answer`, `message`",
    "says": "what it is: `has_text`, `is_explained`",
    "seam": "`transport`",
    "standing": "`status`",
    "story": "`trajectory`, `replay`",
    "survey": "`preflight`",
    "tell": "`publish`, `notify`, `show`",
    "telling": "`publishing`, `showing`",
    "tells": "`publishes`, `shows`",
    "told": "what it is: `lines`, `reported`, `events`",
    "touched": "`changed`",
    "unasked": "`unrequested`, `automatic`",
    "untold": "`unreported`, `unknown`",
    "varying": "`differing`, `differences`",
    "watched": "`subscribed`",
}
"""Words of no identifier, and what to write instead."""

PHRASES = {
    "at_a_time": "`max_concurrent`",
    "go_on": "`continue_`, `resume`",
    "last_words": "`emergency_close`",
    "may_pass": "`is_retryable`",
    "take_up": "`resume`, `add`",
    "takes_up": "`resumes`, `adds`",
}
"""Phrases of no identifier, in snake case, and what to write instead."""

MODULES = {
    "attending": "`job`",
    "choosing": "`endpoint_resolution`",
    "choosing_again": "`resumed_endpoints`",
    "composing": "`plan_builder`",
    "own_runs": "`resume_match`",
    "passing": "`retryable`",
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


def in_stead(name: str) -> list[str]:
    """Better words for those of an identifier that the field does not use."""
    parts = words(name)
    whole = f"_{'_'.join(parts)}_"
    phrases = [PHRASES[phrase] for phrase in PHRASES if f"_{phrase}_" in whole]
    return [IN_STEAD[word] for word in parts if word in IN_STEAD] + phrases


def found() -> dict[str, list[str]]:
    """Every such identifier, where it is first, and what to write instead."""
    first: dict[str, str] = {}
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT)
        folders = where.parent.parts
        for name in (path.stem, *folders, *identifiers(ast.parse(path.read_text()))):
            first.setdefault(name, where.as_posix())
    return {f"{name} in {where}": in_stead(name) for name, where in first.items() if in_stead(name)}


def test_no_identifier_has_a_word_that_the_field_does_not_use() -> None:
    new = {where: better for where, better in found().items() if where.split()[0] not in PUBLIC}
    assert new == {}


def test_a_word_is_found_in_every_spelling_of_a_name() -> None:
    for name in ("goes_on", "GoesOn", "HOW_IT_GOES", "_untold", "go_on_in", "MAX_AT_A_TIME"):
        assert in_stead(name), name
    for name in ("max_concurrent", "resume", "undergoes", "ago_on", "reassigned"):
        assert in_stead(name) == [], name


def test_no_module_has_such_a_name() -> None:
    names = {path.relative_to(ROOT).as_posix(): path.stem for path in ROOT.rglob("*.py")}
    names |= {f"{path.relative_to(ROOT)}/": path.name for path in ROOT.rglob("*") if path.is_dir()}
    assert {where: MODULES[name] for where, name in names.items() if name in MODULES} == {}
