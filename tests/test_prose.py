"""Docstrings, comments, messages and documents say it in the field's words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tui_eval

ROOT = Path(tui_eval.__file__).parent
REPOSITORY = ROOT.parent

IN_STEAD = {
    r"told|tells?|telling": "what it is: `reported`, `says`, `shows`",
    r"asked of": "`requested`, or what it is: arguments, settings",
    r"heard|hears?|hearing": "`received`, `receives`",
    r"go on|goes on|going on|gone on|went on": "`continue`, `resume`",
    r"(take|takes|taken|took) up(?! to)": "`resume`, `add`",
    r"anew": "`again`, `restart`",
    r"lays? out|laid out|laying out": "`layout`",
    r"standing|stories|story|desk|seam|lookout": "`status`, `trajectory`, `backend`, `transport`",
    r"the house|of this house|house style": "what it is",
    r"mutters?|complains?|obeys?|touched upon": "`print_stderr`, `warn`, `handle`",
    r"last words": "the last message, `emergency_close`",
    r"rollouts (are )?in flight at (it at )?most": "`max_concurrent`",
    r"the limit of rollouts in flight": "`max_concurrent`",
    r"(rollouts|evaluations|many run|[0-9]+) at a time": "`max_concurrent`, concurrent",
    r"(more|fewer|how many rollouts are) in flight(?! instead)": "`max_concurrent`",
}
"""Phrases of no text that a person reads, as expressions, and what to write instead."""

INVERTED = {
    r"How (many|much)\b": "`Number of`, or the unit: `Bytes of`",
    r"How long\b": "`Seconds that`",
    r"How often\b": "`Number of`",
    r"So (many|much|long|often)\b": "what is counted: `Number of`",
    r"From now on\b": "a verb: `Sets`, `Marks`",
    r"What\b": "a noun: `Arguments of`, `Differences of`",
    r"(That|Of|By)\b(?!-)": "the noun that it is of",
}
"""Beginnings of no docstring, and what to begin with."""

CONTENT = ROOT / "demo"
"""What the demo's users and models say is content, not a message of the program."""


def plain(text: str) -> str:
    """A text without line breaks, and without names and commands in backticks."""
    return " ".join(re.sub(r"`[^`]*`", "`", text).split())


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a module, each with its line; those of attributes and constants, too."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, str(node.value.value)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings, comments and messages of a module, each with its line."""
    yield 0, "\n".join(re.findall(r"#(.*)", path.read_text()))
    if path.is_relative_to(CONTENT):
        yield from docstrings(path)
        return
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def better(text: str, banned: dict[str, str]) -> list[str]:
    """What to write instead of the phrases that a text has."""
    text = plain(text)
    return [
        f"{found[0]!r}: {banned[phrase]}"
        for phrase in banned
        if (found := re.search(rf"\b(?:{phrase})\b", text, re.IGNORECASE))
    ]


MODULES = sorted(ROOT.rglob("*.py"))
DOCUMENTS = [
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted(REPOSITORY.glob("*.md")),
    *sorted((REPOSITORY / "configs").rglob("*.toml")),
]


def test_modules_have_no_phrase_that_the_field_does_not_use() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}": words
        for path in MODULES
        for line, text in prose(path)
        if (words := better(text, IN_STEAD))
    }
    assert found == {}


def test_documents_have_no_phrase_that_the_field_does_not_use() -> None:
    found = {path.name: better(path.read_text(), IN_STEAD) for path in DOCUMENTS}
    assert {name: words for name, words in found.items() if words} == {}


def test_a_docstring_begins_with_what_it_describes() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line} {text[:60]}": INVERTED[beginning]
        for path in MODULES
        for line, text in docstrings(path)
        for beginning in INVERTED
        if re.match(beginning, text.strip())
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    ["It goes\n on.", "Rollouts in flight at most.", "16 at a time", "as it was told", "laid out"],
)
def test_a_phrase_is_found(text: str) -> None:
    assert better(text, IN_STEAD)


@pytest.mark.parametrize(
    "text",
    [
        "rollouts in flight",
        "one at a time",
        "`told` is `reason`",
        "takes up to a second",
        "undergoes",
    ],
)
def test_words_in_their_place_are_not(text: str) -> None:
    assert better(text, IN_STEAD) == []
