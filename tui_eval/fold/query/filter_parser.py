"""The language of filters: `reward<0.5 and turns>8 and tool:search and not error:timeout`.

A filter is words, regular expressions between slashes, and fields with an operator and a value,
joined by `and` (which can be left out), `or`, `not` or `!`, and parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.fold.query.fields import (
    CHOICE,
    FIELDS,
    METRIC,
    NUMBERS,
    OF_TEXT,
    OPERATORS,
    OTHER_NAMES,
    TRUTH,
    kind_of,
    number_from,
)
from tui_eval.fold.query.nodes import All, Compare, Either, Node, Not, Pattern, Word
from tui_eval.fold.query.patterns import pattern_fault

DEEPEST = 40
LONGEST = 10_000
_SPACES = re.compile(r"\s*")
_WORD = re.compile(r'(?:(?!!=)[^\s()"<>=:])*')
_VALUE = re.compile(r'[^\s()"]*')
_QUOTED = re.compile(r'"((?:\\.|[^"])*)("?)', re.DOTALL)
_PATTERN = re.compile(r"/((?:\\.|[^/])*)(/?)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NO_VALUE = object()


class FilterError(RefusedError):
    """A filter that makes no sense: every fault, and the column of each, from 1."""

    def __init__(self, places: Iterable[tuple[int, str, str]]) -> None:
        found = sorted(dict.fromkeys(places))
        self.columns = [column for column, _, _ in found]
        super().__init__(Fault(f"filter, character {at}", what, hint) for at, what, hint in found)


def parse_filter(text: str, metrics: Iterable[str] = ()) -> Node | None:
    """Parses a filter; None where it is empty, which everything matches.

    Names of the run's metrics are fields as well. Every fault is in one `FilterError`.
    """
    if len(text) > LONGEST:  # where it is cut, all that is open there would be a fault, too
        raise FilterError([(LONGEST + 1, f"a filter has at most {LONGEST:,} characters", "")])
    parser = _Parser(text, frozenset(metrics))
    node = parser.parse()
    if parser.faults:
        raise FilterError(parser.faults)
    return node


class _Parser:
    """Reads on after a fault, to find them all."""

    def __init__(self, text: str, metrics: frozenset[str]) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.gave_up = False
        self.metrics = metrics
        self.faults: list[tuple[int, str, str]] = []

    def fault(self, at: int, what: str, hint: str = "") -> None:
        self.faults.append((at + 1, what, hint))

    def parse(self) -> Node | None:
        found: list[Node] = []
        while self.skip():
            if self.peek(")"):
                self.fault(self.at, "there is no ( that this ) closes")
                self.at += 1
                continue
            node = self.either()
            if node is not None:
                found.append(node)
        return _joined(All, found)

    def skip(self) -> bool:
        """Skips to the next sign; False at the end."""
        self.at = self.end_of(_SPACES, self.at)
        return self.at < len(self.text)

    def end_of(self, what: re.Pattern[str], at: int) -> int:
        match = what.match(self.text, at)
        return at if match is None else match.end()

    def peek(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def keyword(self, word: str) -> bool:
        """Takes a keyword if it is next; one with an operator behind it is a field."""
        end = self.at + len(word)
        if self.text[self.at : end].casefold() != word or self.end_of(_WORD, self.at) != end:
            return False
        if self.operator_at(end):
            return False
        self.at = end
        return True

    def either(self) -> Node | None:
        before = len(self.faults)
        parts = [self.all()]
        while self.skip():
            at = self.at
            if not self.keyword("or"):
                break
            parts.append(self.all())
            if None in parts[-2:] and len(self.faults) == before:
                self.fault(at, "`or` stands between two conditions", 'Write "or" for the word')
        return _joined(Either, [part for part in parts if part is not None])

    def all(self) -> Node | None:
        parts: list[Node] = []
        begun = False
        while self.skip() and not self.peek(")"):
            at = self.at
            if self.next_is_or():
                break
            if self.keyword("and"):
                beside = begun and self.skip() and not self.peek(")") and not self.next_is_or()
                if not beside:
                    hint = 'Write "and" for the word'
                    self.fault(at, "`and` stands between two conditions", hint)
                continue
            begun = True
            part = self.unary()
            if part is not None:
                parts.append(part)
        return _joined(All, parts)

    def next_is_or(self) -> bool:
        at, found = self.at, self.keyword("or")
        self.at = at
        return found

    def unary(self) -> Node | None:
        start, negations = self.at, 0
        while self.skip():
            if self.peek("!") and not self.peek("!="):
                self.at += 1
            elif not self.keyword("not"):
                break
            negations += 1
        if negations and (not self.skip() or self.peek(")") or self.next_is_or()):
            self.fault(start, "`not` stands before a condition", 'Write "not" for the word')
            return None
        if negations > DEEPEST:
            self.fault(start, f"this is negated more than {DEEPEST} times")
            return None
        node = self.group() if self.peek("(") else self.term()
        for _ in range(negations if node is not None else 0):
            node = Not(node)  # type: ignore[arg-type]
        return node

    def group(self) -> Node | None:
        start = self.at
        self.at += 1
        if self.depth >= DEEPEST:
            self.fault(start, f"parentheses are nested more than {DEEPEST} deep")
            self.at, self.gave_up = len(self.text), True
            return None
        self.depth += 1
        before = len(self.faults)
        node = self.either()
        self.depth -= 1
        if self.skip():  # what ended it is a )
            self.at += 1
            if node is None and len(self.faults) == before:
                self.fault(start, "there is nothing between ( and )")
        elif not self.gave_up:
            self.fault(start, "this ( is not closed")
        return node

    def term(self) -> Node | None:
        start = self.at
        if self.peek("/"):
            return self.pattern()
        if self.peek('"'):
            name = self.quoted()
        else:
            end = self.end_of(_WORD, start)
            name, self.at = self.text[start:end], end
        operator = self.operator_at(self.at)
        if not operator:
            if not name:
                self.fault(start, "these quotes hold no text")
                return None
            return Word(name)
        if not name:
            self.fault(start, f"there is no field before {operator}", 'Put "quotes" around text')
        return self.compare(start, name, operator)

    def operator_at(self, at: int) -> str:
        """The operator that is there, behind spaces unless it is a colon."""
        behind = self.end_of(_SPACES, at)
        for operator in OPERATORS:
            if self.text.startswith(operator, at if operator == ":" else behind):
                return operator
        return ""

    def compare(self, start: int, name: str, operator: str) -> Node | None:
        self.skip()
        self.at += len(operator)
        if operator != ":":
            self.skip()
        at = self.at
        value, is_quoted = self.value()
        field = self.field(start, name) if name else None
        if value is _NO_VALUE:
            self.fault(at, f"there is no value behind {name}{operator}")
            return None
        if field is None:
            return None
        if kind_of(field) != NUMBERS and operator not in OF_TEXT:
            number = number_from(field, value) if isinstance(value, str) else None
            if field != "example" or number is None:
                what = f"{field} is {kind_of(field)}: it takes {' '.join(OF_TEXT)}, not {operator}"
                self.fault(start, what)
                return None
        checked = self.checked(at, field, value, is_quoted)
        return None if checked is _NO_VALUE else Compare(field, operator, checked)  # type: ignore[arg-type]

    def field(self, start: int, name: str) -> str | None:
        if name.startswith(METRIC) and name[len(METRIC) :] in self.metrics:
            return name
        lowered = name.casefold()
        lowered = OTHER_NAMES.get(lowered, lowered)
        if lowered in FIELDS and name not in self.metrics - FIELDS.keys():
            return lowered
        if name in self.metrics:
            return name
        names = [*FIELDS, *sorted(self.metrics)]
        hint = nearest(name, names) or 'Put "quotes" around it to search for the text'
        self.fault(start, f"there is no field {name}", hint)
        return None

    def value(self) -> tuple[object, bool]:
        """The value that comes next, and whether it stood in quotes."""
        if self.peek('"'):
            return self.quoted(), True
        if self.peek("/"):
            found = self.pattern()
            return ("" if found is None else found), True
        start, self.at = self.at, self.end_of(_VALUE, self.at)
        text = self.text[start : self.at]
        if not text:
            return _NO_VALUE, False
        return (None if text.casefold() == "none" else text), False

    def checked(self, at: int, field: str, value: object, is_quoted: bool) -> object:
        """The value as its field has it."""
        kind = kind_of(field)
        if value is None or (kind not in (NUMBERS, CHOICE)):
            return value
        if isinstance(value, Pattern):
            self.fault(at, f"{field} is {kind}, which a regular expression cannot match")
            return _NO_VALUE
        text = str(value)
        if kind == CHOICE:
            choices = FIELDS[field].choices
            if text.casefold() in choices:
                return TRUTH.get(text.casefold(), text.casefold())
            hint = nearest(text, choices) or f"It is one of {', '.join(choices)}"
            self.fault(at, f"{field} is never {text}", hint)
            return _NO_VALUE
        number = number_from(field, text)
        if number is None:
            self.fault(at, f"{field} is compared with a number, not with {text or 'nothing'}")
            return _NO_VALUE
        return number

    def enclosed(self, what: re.Pattern[str]) -> tuple[int, str, bool]:
        """Where a text begins between two signs, the text, and whether the second one is there."""
        start, match = self.at, what.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return start, match[1], bool(match[2])

    def quoted(self) -> str:
        start, text, is_closed = self.enclosed(_QUOTED)
        if not is_closed:
            self.fault(start, 'this " is not closed')
        return _ESCAPED.sub(r"\1", text)

    def pattern(self) -> Pattern | None:
        start, text, is_closed = self.enclosed(_PATTERN)
        if not is_closed:
            hint = 'Put "quotes" around text that begins with /'
            self.fault(start, "this regular expression has no / at its end", hint)
            return None
        source = _ESCAPED.sub(lambda match: "/" if match[1] == "/" else match[0], text)
        if fault := pattern_fault(source):
            self.fault(start, f"this is no regular expression: {fault}")
            return None
        return Pattern(source)


def _joined(kind: type[All] | type[Either], parts: list[Node]) -> Node | None:
    return parts[0] if len(parts) == 1 else kind(tuple(parts)) if parts else None
