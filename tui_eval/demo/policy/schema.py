"""Values that satisfy a JSON schema, for tool calls to functions that the policy does not know."""

from __future__ import annotations

import math
from typing import Any

from tui_eval.demo.policy.dialogue import Dice

_DEEPEST = 6


def make_value(schema: dict[str, Any], dice: Dice, hint: str) -> Any:
    """A value that `schema` allows; unknown keywords are not looked at.

    Args:
        schema: A JSON schema whose `$ref`s point into its own `$defs` or `definitions`.
        hint: What a string without further rules says.
    """
    return _Maker(schema, dice, hint).make(schema, 0)


class _Maker:
    def __init__(self, root: dict[str, Any], dice: Dice, hint: str) -> None:
        self._root = root
        self._dice = dice
        self._hint = hint

    def make(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return None
        schema = self._resolve(schema)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._dice.pick(schema["enum"])
        if "default" in schema and self._dice.chance(0.5):
            return schema["default"]
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(schema.get(key), list) and schema[key]:
                return self.make(schema[key][0], depth + 1)
        return self._of_type(schema, depth)

    def _resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        for _ in range(_DEEPEST):
            if not isinstance(schema.get("$ref"), str):
                break
            target: Any = self._root
            for part in schema["$ref"].lstrip("#/").split("/"):
                target = target.get(part, {}) if isinstance(target, dict) else {}
            schema = target if isinstance(target, dict) else {}
        return schema

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        if kind == "object":
            properties = schema.get("properties") or {}
            required = schema.get("required", list(properties))
            return {
                name: self.make(properties.get(name, {}), depth + 1)
                for name in [*properties, *(name for name in required if name not in properties)]
                if name in required or self._dice.chance(0.5)
            }
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return self._number(schema, whole=kind == "integer")
        if kind == "boolean":
            return self._dice.chance(0.5)
        return None if kind == "null" else self._string(schema)

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        if isinstance(schema.get("prefixItems"), list):
            return [self.make(item, depth + 1) for item in schema["prefixItems"]]
        count = max(1, int(schema.get("minItems", 1)))
        return [self.make(schema.get("items", {}), depth + 1) for _ in range(min(count, 50))]

    def _number(self, schema: dict[str, Any], whole: bool) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if low is None:
            low = 1 if high is None else high - 10
        if high is None:
            high = low + 10
        middle = (low + high) / 2
        if "multipleOf" in schema:
            middle = math.ceil(low / schema["multipleOf"]) * schema["multipleOf"]
        if whole:
            return math.floor(middle) if "exclusiveMaximum" in schema else math.ceil(middle)
        return float(middle)

    def _string(self, schema: dict[str, Any]) -> str:
        text = self._hint.ljust(int(schema.get("minLength", 0)), ".")
        return text[: int(schema.get("maxLength", 200))]
