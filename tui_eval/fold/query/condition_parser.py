"""Parser of conditions on the numbers of a run; it finds all faults at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from tui_eval.errors import nearest
from tui_eval.fold.query.conditions import (
    COUNTS,
    FUNCTIONS,
    OPERATORS,
    Comparison,
    Condition,
    ConditionError,
    Joined,
    Measure,
)
from tui_eval.fold.query.fields import number_from
from tui_eval.printable import one_line

DEEPEST = 40
LONGEST = 10_000
_TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"?|[<>=!]+|[()]|[^\s()"<>=!]+)', re.DOTALL)
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_EXAMPLE = "low(reward) < 0.7"


class _Token(NamedTuple):
    at: int
    text: str

    def is_word(self, *words: str) -> bool:
        return self.text.casefold() in words


def parse_condition(text: str, where: str = "condition") -> Condition:
    """Parses a condition.

    Args:
        where: The flag or key that holds it.

    Raises:
        ConditionError: With every fault that was found.
    """
    parser = _Parser(text)
    whole = parser.parse()
    if parser.faults or whole is None:
        raise ConditionError(where, parser.faults)
    return Condition(whole, where)


def check_names(
    condition: Condition, names: Collection[str], counts: Collection[str] = COUNTS
) -> None:
    """Refuses a condition on a name that is neither that of a mean nor of a count.

    Raises:
        ConditionError: With every such name.
    """
    wrong = []
    for one in condition.measures():
        known = names if one.function else counts
        if one.name in known:
            continue
        shown = one_line(one.name, 60)
        what, others = f"there is no {shown} here", f"There are {', '.join(map(_shown, names))}"
        if not one.function:
            what = f"{shown} has no interval"
            others = "Write one of a mean, as width(reward) < 0.1"
        hint = nearest(one.name, known) or others
        wrong.append((one.at, what, hint))
    if wrong:
        raise ConditionError(condition.where, wrong)


def _shown(name: str) -> str:
    return one_line(name, 60)


class _Parser:
    def __init__(self, text: str) -> None:
        self.faults: list[tuple[int, str, str]] = []
        self._end = len(text) + 1
        self._gave_up = False
        self._depth = 0
        self._tokens = [_Token(m.start(1) + 1, m[1]) for m in _TOKEN.finditer(text[:LONGEST])]
        self._next = 0
        if len(text) > LONGEST:
            self._fault(LONGEST, f"a condition has at most {LONGEST:,} characters")

    def parse(self) -> Comparison | Joined | None:
        whole = self._either()
        while (token := self._peek()) is not None:  # what ended it is a )
            self._fault(token.at, "there is no ( that this ) closes", "Take it out")
            self._next += 1
            if self._joined_by("and", "or") or self._peek() is not None:
                self._either()
        return whole

    def _fault(self, at: int, what: str, hint: str = "") -> None:
        if not self._gave_up:
            self.faults.append((at, what, hint))

    def _give_up(self) -> None:
        self._gave_up, self._next = True, len(self._tokens)

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self) -> _Token:
        """The next token; an empty one behind the last."""
        token = self._peek() or _Token(self._end, "")
        self._next += 1
        return token

    def _joined_by(self, *words: str) -> bool:
        token = self._peek()
        found = token is not None and token.is_word(*words)
        self._next += found
        return found

    def _either(self) -> Comparison | Joined | None:
        parts = [self._all()]
        while self._joined_by("or"):
            parts.append(self._all())
        return _join("or", parts)

    def _all(self) -> Comparison | Joined | None:
        parts = [self._term()]
        while self._joined_by("and"):
            parts.append(self._term())
        return _join("and", parts)

    def _term(self) -> Comparison | Joined | None:
        token = self._peek()
        if token is None or token.is_word("and", "or", ")"):
            at = token.at if token is not None else self._end
            self._fault(at, "there is no condition here", f"Write one such as {_EXAMPLE}")
            return None
        part = self._group() if token.text == "(" else self._comparison()
        following = self._peek()
        if following is not None and not following.is_word("and", "or", ")"):
            if part is not None:
                what = f"{_shown(following.text)} stands behind a whole condition"
                self._fault(following.at, what, "Write `and` or `or` between two of them")
            self._skip()
        return part

    def _skip(self) -> None:
        """Skips to the word that joins the next condition to this one."""
        depth = 0
        while (token := self._peek()) is not None:
            if depth <= 0 and token.is_word("and", "or", ")"):
                return
            depth += (token.text == "(") - (token.text == ")")
            self._next += 1

    def _group(self) -> Comparison | Joined | None:
        opened = self._take()
        if self._depth >= DEEPEST:
            self._fault(opened.at, f"parentheses are nested more than {DEEPEST} deep")
            self._give_up()
            return None
        self._depth += 1
        found = self._either()
        self._depth -= 1
        if self._take().text != ")":
            self._fault(opened.at, "this ( is not closed", "Write a ) behind the condition")
        return found

    def _comparison(self) -> Comparison | None:
        measure = self._measure()
        if measure is None:
            return None
        operator = self._take()
        if operator.text not in OPERATORS:
            self._next -= 1
            hint = f"It is one of {' '.join(OPERATORS)}"
            self._fault(operator.at, f"there is no comparison behind {measure}", hint)
            return None
        limit = self._take()
        number = number_from("", limit.text)
        if number is None:
            self._next -= 1
            got = f", not with {_shown(limit.text)}" if limit.text else ""
            hint = f"Write one behind {operator.text}"
            self._fault(limit.at, f"{measure} is compared with a number{got}", hint)
            return None
        return Comparison(measure, operator.text, number)

    def _measure(self) -> Measure | None:
        word, opened = self._take(), self._peek()
        function = word.text.casefold()
        is_called = opened is not None and opened.text == "("
        if not is_called and function in COUNTS:
            return Measure("", function, word.at)
        if not is_called or function not in FUNCTIONS:
            self._fault(word.at, *_no_measure(word.text, is_called))
            return None
        return self._name(function)

    def _name(self, function: str) -> Measure | None:
        opened, token = self._take(), self._take()
        whole = _QUOTED.fullmatch(token.text)
        name = _ESCAPED.sub(r"\1", whole[1]) if whole else token.text
        if token.text[:1] == '"' and not whole:
            self._fault(token.at, 'this " is not closed', 'Write a " behind the name')
            self._give_up()
        elif not name or token.text == ")":
            self._fault(opened.at, f"{function}() has no name in it", f"Write {function}(reward)")
            return None
        if self._take().text != ")":
            self._next -= 1
            hint = 'Write a ) behind the name, and "quotes" around one with spaces or signs'
            self._fault(opened.at, "this ( is not closed", hint)
            return None
        return Measure(function, name, token.at)


def _no_measure(text: str, is_called: bool) -> tuple[str, str]:
    """Reason why a text is no measure, and what to write."""
    name, word = _shown(text), text.casefold()
    if number_from("", text) is not None:
        return "a number stands behind the comparison", f"As in mean(reward) < {name}"
    if is_called and word in COUNTS:
        return f"{word} is a count, and of the whole run", f"Write {word} alone"
    if is_called:
        known = f"It is one of {', '.join(FUNCTIONS)}"
        return f"{name} is no function", nearest(word, FUNCTIONS) or known
    hint = nearest(word, COUNTS) or f"Write what of it is meant, as in low({name})"
    return f"{name} is none of the counts {', '.join(COUNTS)}", hint


def _join(word: str, parts: Iterable[Comparison | Joined | None]) -> Comparison | Joined | None:
    found = tuple(part for part in parts if part is not None)
    return Joined(word, found) if len(found) > 1 else found[0] if found else None
