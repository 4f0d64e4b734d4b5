"""Inks of the parts of a text: JSON, Markdown and code, only as far as it is shown."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

Token: TypeAlias = tuple[int, int, str]
"""Start and end in the text, and an ink."""

LONGEST_CODE = 20_000
"""The most characters of a piece of code that are highlighted."""
LONGEST_LINE = 2_000
"""The longest line of Markdown that is highlighted."""

CODE = {
    "bash": "BashLexer", "c": "CLexer", "cpp": "CppLexer", "css": "CssLexer", "diff": "DiffLexer",
    "go": "GoLexer", "html": "HtmlLexer", "java": "JavaLexer", "javascript": "JavascriptLexer",
    "python": "PythonLexer", "rust": "RustLexer", "sql": "SqlLexer", "toml": "TOMLLexer",
    "typescript": "TypeScriptLexer", "xml": "XmlLexer", "yaml": "YamlLexer",
}  # fmt: skip
"""Languages that are highlighted, and their lexers; models write the names, so no others are."""
_OTHER_NAMES = {
    "c++": "cpp", "js": "javascript", "jsonc": "json", "py": "python", "python3": "python",
    "sh": "bash", "shell": "bash", "ts": "typescript", "yml": "yaml", "zsh": "bash",
}  # fmt: skip

_JSON = re.compile(
    r'(?P<key>"(?:[^"\\\n]|\\.)*"(?=\s{0,9}:)|^\w+(?= =(?:\s|$)))'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*"?)'
    r"|(?P<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)"
    r"|(?P<word>\b(?:true|false|null)\b)",
    re.MULTILINE,
)
_JSON_INKS = {"key": "name", "string": "string", "number": "number", "word": "keyword"}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([\w+#-]*)")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)]) ")
_SPANS = re.compile(r"(?P<code>`[^`\n]+`)|(?P<bold>\*\*[^*\n]+\*\*)")


def tokens(text: str, language: str) -> Iterator[Token]:
    """The parts of a text in their order, with their inks.

    Parts with an empty ink only mark the progress: a caller without time left can stop there.
    """
    language = _OTHER_NAMES.get(language, language)
    return _markdown(text) if language == "markdown" else _code(text, 0, len(text), language)


def _markdown(text: str) -> Iterator[Token]:
    at, end = 0, len(text)
    while at < end:
        stop = text.find("\n", at)
        stop = end if stop < 0 else stop
        yield at, at, ""
        fence = _FENCE.match(text, at, min(stop, at + LONGEST_LINE))
        if fence:
            closing = re.compile(rf"^ {{0,3}}{fence[1]}", re.MULTILINE).search(text, stop)
            inner_end = closing.start() if closing else end
            yield at, stop, "comment"
            name = fence[2].lower()
            name = _OTHER_NAMES.get(name, name)
            yield from _code(text, min(stop + 1, end), inner_end, name)
            if not closing:
                return
            stop = text.find("\n", closing.start())
            stop = end if stop < 0 else stop
            yield closing.start(), stop, "comment"
        elif stop - at <= LONGEST_LINE:
            yield from _markdown_line(text, at, stop)
        at = stop + 1


def _markdown_line(text: str, start: int, end: int) -> Iterator[Token]:
    if _HEADING.match(text, start, end):
        yield start, end, "strong"
        return
    if bullet := _BULLET.match(text, start, end):
        yield start, bullet.end(), "name"
        start = bullet.end()
    for match in _SPANS.finditer(text, start, end):
        yield match.start(), match.end(), "code" if match.lastgroup == "code" else "strong"


def _code(text: str, start: int, end: int, language: str) -> Iterator[Token]:
    if language == "json":
        for match in _JSON.finditer(text, start, end):
            yield match.start(), match.end(), _JSON_INKS[match.lastgroup or "string"]
    if language not in CODE:
        return
    code = text[start : min(end, start + LONGEST_CODE)]
    for at, kind, value in _lexer(language).get_tokens_unprocessed(code):
        yield start + at, start + at + len(value), _ink_of(kind)


def _lexer(language: str) -> Lexer:
    import pygments.lexers

    lexer: Lexer = getattr(pygments.lexers, CODE[language])()
    return lexer


_KINDS = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Tag", "name"),
    ("Token.Name.Attribute", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Generic.Inserted", "good"),
    ("Token.Generic.Deleted", "fault"),
    ("Token.Generic.Heading", "strong"),
)


@cache
def _ink_of(kind: _TokenType) -> str:
    name = str(kind)
    return next((ink for start, ink in _KINDS if name.startswith(start)), "")


class Inked:
    """The tokens of one text, found only as far as requested."""

    def __init__(self, text: str, language: str) -> None:
        self._coming: Iterator[Token] | None = tokens(text, language)
        self._found: list[Token] = []
        self._looked_to = -1

    def reaches(self, place: int, in_time: Callable[[], bool]) -> bool:
        """Whether all tokens before a place were found, or could be in time."""
        while self._coming is not None and self._looked_to < place:
            if not in_time():
                return False
            token = next(self._coming, None)
            if token is None:
                self._coming = None
                continue
            self._looked_to = token[0]
            if token[2]:
                self._found.append(token)
        return True

    def between(self, start: int, end: int) -> Iterator[Token]:
        """The tokens that lie in this range at least in part."""
        first = bisect_right(self._found, start, key=lambda token: token[1])
        for token in islice(self._found, first, None):
            if token[0] >= end:
                return
            yield token


def load() -> None:
    """Loads the modules for highlighting, off the loop, as that takes longer than a frame."""
    for language in ("python", *CODE):
        _lexer(language)
