"""Values that satisfy a JSON schema, for tool calls to functions that the policy does not know."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from tui_eval.demo.policy.dialogue import Dice

_MOST = 200
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def text_for(schema: dict[str, Any], dice: Dice, words: Sequence[str]) -> str:
    """A text that a schema of type `string` allows, as far as format and pattern are common."""
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


_DEEPEST = 6
_MOST_ITEMS = 50
_OBJECT = ("properties", "required", "additionalProperties")
_ARRAY = ("items", "prefixItems", "minItems", "uniqueItems")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def make_value(schema: dict[str, Any], dice: Dice, words: Sequence[str]) -> Any:
    """A value that `schema` allows; keywords that are rare in tools are not looked at.

    Args:
        schema: A JSON schema whose `$ref`s point into its own `$defs` or `definitions`.
        words: Words of a question, that texts and numbers are taken from where that is allowed.
    """
    return _Maker(schema, dice, words).make(schema, 0)


class _Maker:
    def __init__(self, root: dict[str, Any], dice: Dice, words: Sequence[str]) -> None:
        self._root = root
        self._dice = dice
        self._words = words
        self._numbers = [float(one) for one in words if re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", one)]

    def make(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict):
            return self._dice.pick(self._words) if schema is True and self._words else None
        schema = self._resolve(schema)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._dice.pick(self._mentioned(schema["enum"]) or schema["enum"])
        if "default" in schema and self._dice.chance(0.4):
            return schema["default"]
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list) and schema[key]:
                return self._one_of(schema, schema[key], depth)
        return self._of_type(schema, depth)

    def _mentioned(self, options: list[Any]) -> list[Any]:
        """At two of three calls the options that the question has a word of."""
        words = {word.casefold() for word in self._words} if self._dice.chance(0.67) else set()
        return [one for one in options if str(one).casefold() in words]

    def _resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema itself, with what it points to and what it is made of."""
        for _ in range(_DEEPEST):
            if not isinstance(schema.get("$ref"), str):
                break
            target: Any = self._root
            for part in schema["$ref"].lstrip("#/").split("/"):
                target = target.get(part, {}) if isinstance(target, dict) else {}
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**(target if isinstance(target, dict) else {}), **rest}
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            schema = _both(schema, self._resolve(part) if isinstance(part, dict) else {})
        return schema

    def _one_of(self, schema: dict[str, Any], branches: list[Any], depth: int) -> Any:
        """A value of one branch; null, and what is nested deep, only where nothing else is."""
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        real = [one for one in branches if isinstance(one, dict) and one.get("type") != "null"]
        flat = [one for one in real if one.get("type") not in ("object", "array", None)]
        if depth >= _DEEPEST and len(flat) < len(branches):
            return self.make(flat[0], depth + 1) if flat else None
        if not real or (len(real) < len(branches) and self._dice.chance(0.2)):
            return self.make(self._dice.pick(branches), depth + 1)
        return self.make(_both(rest, self._resolve(self._dice.pick(real))), depth + 1)

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type", _implied(schema))
        if isinstance(kind, list):
            kind = self._dice.pick([one for one in kind if one != "null"] or ["null"])
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return self._number(schema, whole=kind == "integer")
        if kind == "boolean":
            return self._dice.chance(0.5)
        return None if kind == "null" else text_for(schema, self._dice, self._words)

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = schema.get("required", () if depth else list(properties))
        chosen = [
            name
            for name in [*properties, *(name for name in required if name not in properties)]
            if name in required or (depth < _DEEPEST and self._dice.chance(0.4))
        ]
        return {name: self.make(properties.get(name, True), depth + 1) for name in chosen}

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        fixed = schema.get("prefixItems")
        made = [self.make(one, depth + 1) for one in fixed] if isinstance(fixed, list) else []
        least = int(schema.get("minItems", 0))
        most = max(int(schema.get("maxItems", least + 3)), least)
        count = self._dice.random.randint(min(max(least, 1), most), min(most, least + 3))
        count = least if depth >= _DEEPEST else count
        items = schema.get("items", True)
        for _ in range(4 * min(count, _MOST_ITEMS)):
            if len(made) >= count or items is False:
                break
            one = self.make(items, depth + 1)
            if not schema.get("uniqueItems") or one not in made:
                made.append(one)
        return made

    def _number(self, schema: dict[str, Any], whole: bool) -> float:
        """A number of the question, where one is allowed, or any other."""
        least, most = _bounds(schema, whole)
        step = schema.get("multipleOf") or (1 if whole else None)
        fit = [one for one in self._numbers if least <= one <= most and not (step and one % step)]
        if fit and self._dice.chance(0.75):
            return self._dice.pick([int(one) if whole else one for one in fit])
        low, high = _drawn_range(least, most)
        if step:
            first, last = math.ceil(low / step), math.floor(high / step)
            return self._dice.random.randint(first, max(first, last)) * step
        middle = (low + high) / 2
        return round(self._dice.random.uniform(low, high), 2) if high - low > 0.1 else middle


def _implied(schema: dict[str, Any]) -> str:
    """The type that a schema without one means."""
    for kind, keys in (("object", _OBJECT), ("array", _ARRAY), ("number", _NUMBER)):
        if any(key in schema for key in keys):
            return kind
    return "string"


def _bounds(schema: dict[str, Any], whole: bool) -> tuple[float, float]:
    """The least and the greatest number that is allowed."""
    nudge = 1 if whole else 1e-3
    low, high = (_bound(schema, name) for name in ("minimum", "maximum"))
    above, below = (_bound(schema, name) for name in ("exclusiveMinimum", "exclusiveMaximum"))
    if above is not None:
        above = math.floor(above) + 1 if whole else above + nudge
    if below is not None:
        below = math.ceil(below) - 1 if whole else below - nudge
    lows = [one for one in (low, above) if one is not None]
    highs = [one for one in (high, below) if one is not None]
    return max(lows, default=-math.inf), min(highs, default=math.inf)


def _bound(schema: dict[str, Any], name: str) -> float | None:
    value = schema.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _drawn_range(least: float, most: float) -> tuple[float, float]:
    """The part of what is allowed in which numbers are drawn: small ones, where all are."""
    low = least
    if least == -math.inf:
        low = 1 if most > 1 else most - 10
    return low, max(low, most if most < math.inf else low + 10)


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Two schemas that both hold."""
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    merged.pop("allOf", None)
    return merged
