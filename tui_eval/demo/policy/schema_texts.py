"""Texts for the parameters of a function: of the format that they name, else of the question."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from tui_eval.demo.policy.dialogue import Dice

_MOST = 200
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def text_for(schema: dict[str, Any], dice: Dice, words: Sequence[str]) -> str:
    """A text that a schema of type `string` allows, as far as format and pattern are common.

    Args:
        words: Of the question; one to three neighbours of them where nothing is said.
    """
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        return _matching(pattern, schema, dice, words)
    made = _formatted(str(schema.get("format", "")), dice)
    return _fitted(made or _neighbours(words, dice), schema)


def _neighbours(words: Sequence[str], dice: Dice) -> str:
    if not words:
        return "this"
    names = [word for word in words[1:] if word[0].isupper()]
    if names and dice.chance(0.4):
        return dice.pick(names)
    start = dice.random.randrange(len(words))
    return " ".join(words[start : start + dice.random.randint(1, 3)])


def _fitted(text: str, schema: dict[str, Any]) -> str:
    text = text.ljust(int(schema.get("minLength", 0)), ".")
    return text[: int(schema.get("maxLength", _MOST))]


def _formatted(name: str, dice: Dice) -> str:
    """A text of a format that JSON schema knows; empty for others."""
    day = f"{dice.random.randint(2024, 2027)}-{dice.random.randint(1, 12):02}"
    day += f"-{dice.random.randint(1, 28):02}"
    time = f"{dice.random.randint(0, 23):02}:{dice.random.randint(0, 59):02}:00"
    word = dice.pick(("apple", "river", "stone", "lamp"))
    texts = {
        "date": day,
        "time": f"{time}Z",
        "date-time": f"{day}T{time}Z",
        "duration": f"PT{dice.random.randint(1, 90)}M",
        "email": f"{word}@example.org",
        "hostname": f"{word}.example.org",
        "uri": f"https://example.org/{word}",
        "ipv4": f"192.0.2.{dice.random.randint(1, 254)}",
        "uuid": str(uuid.UUID(int=dice.random.getrandbits(128), version=4)),
    }
    texts["uri-reference"] = texts["url"] = texts["uri"]
    return texts.get(name, "")


def _matching(pattern: str, schema: dict[str, Any], dice: Dice, words: Sequence[str]) -> str:
    """The first of many guesses that a pattern matches; a word where none does."""
    try:
        wanted = re.compile(pattern)
    except (re.error, OverflowError):
        return _fitted(_neighbours(words, dice), schema)
    for guess in _guesses(dice, [*words, *re.findall(r"[A-Za-z0-9]+", pattern)]):
        if wanted.search(guess) and _fitted(guess, schema) == guess:
            return guess
    return _fitted(_neighbours(words, dice), schema)


def _guesses(dice: Dice, words: Sequence[str]) -> Iterator[str]:
    """Words of the question, then codes, numbers and names of growing length."""
    shuffled = list(words)
    dice.random.shuffle(shuffled)
    for word in shuffled:
        yield from (word, word.lower(), word.upper(), word.capitalize())
    yield from (_formatted(name, dice) for name in ("date", "email", "uri", "uuid", "time", "ipv4"))
    for length in range(1, 13):
        letters = "".join(dice.random.choices(_LETTERS, k=length))
        digits = "".join(dice.random.choices("123456789", k=length))
        yield from (letters, letters.upper(), letters.capitalize(), digits, f"0x{digits}")
        for joint in ("-", "_", "", ":", "/", "."):
            for count in (1, 2, 3, 4):
                number = "".join(dice.random.choices("123456789", k=count))
                yield f"{letters}{joint}{number}"
                yield f"{letters.upper()}{joint}{number}"
                yield f"{digits}{joint}{number}"
                yield f"#{letters}{joint}{number}"
