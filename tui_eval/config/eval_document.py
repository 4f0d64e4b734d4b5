"""A TOML file of evaluations that is edited: comments, order and everything else survive."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any, TypeAlias

import tomlkit
from tomlkit.items import AoT, Table

from tui_eval.config.options import FILE_KEYS
from tui_eval.config.values import check_value

Place: TypeAlias = int | None
"""Number of an `[[eval]]` table, from 0; None for the top of the file."""

_TABLES = ("eval", "ablation")


class EvalDocument:
    """The text of a file, table by table.

    Raises:
        ValueError: It is no TOML.
    """

    def __init__(self, text: str) -> None:
        try:
            self._toml = tomlkit.parse(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"this is no TOML: {_fault_of(text) or error}") from None

    @property
    def text(self) -> str:
        """The file as it is now."""
        return tomlkit.dumps(self._toml)

    @property
    def places(self) -> list[Place]:
        """Its tables that can be edited, the top first."""
        return [None, *range(len(self._evaluations))]

    @property
    def has_several(self) -> bool:
        """Whether it amounts to more than one evaluation, sweeps, or what no form can show."""
        inline = "eval" in self._toml and not isinstance(self._toml["eval"], AoT)
        return len(self._evaluations) > 1 or inline or "ablation" in self._toml

    @property
    def _evaluations(self) -> list[Any]:
        found = self._toml.get("eval", [])
        return [one for one in found if isinstance(one, Table)] if isinstance(found, AoT) else []

    def _table(self, place: Place) -> MutableMapping[str, Any]:
        return self._toml if place is None else self._evaluations[place]

    def title(self, place: Place) -> str:
        """Name of a table for people."""
        if place is None:
            return "top of the file"
        table = self._evaluations[place]
        named = table.get("name") or table.get("env_id") or table.get("id") or ""
        number = f"evaluation {place + 1} of {len(self._evaluations)}"
        return f"{number} · {named}" if named else number

    def values(self, place: Place, *, wrong_too: bool = True) -> dict[str, Any]:
        """Values of a table, by the names of the options; also invalid ones, as they are there."""
        found: dict[str, Any] = {}
        for key, item in self._plain(place).items():
            option = FILE_KEYS.get(key)
            if option is None or (place is None and key in _TABLES):
                continue
            try:
                found[option.name] = check_value(option, item)
            except ValueError:
                if wrong_too:
                    found[option.name] = item
        return found

    def _plain(self, place: Place) -> dict[str, Any]:
        table: Any = self._table(place)
        plain: dict[str, Any] = table.unwrap()
        return plain

    def write(
        self, place: Place, values: Mapping[str, Any], left_alone: Collection[str] = ()
    ) -> None:
        """Makes a table say this, and changes only what says something else.

        Args:
            values: By the names of the options; what is missing is taken out.
            left_alone: Options that stay as they are there.

        Raises:
            ValueError: TOML cannot say it.
        """
        table, before = self._table(place), self.values(place)
        keys = {FILE_KEYS[key].name: key for key in self._plain(place) if key in FILE_KEYS}
        for name in before.keys() - values.keys() - set(left_alone):
            del table[keys[name]]
        for name, value in values.items():
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if name in left_alone or (name in before and _same(before[name], value)):
                continue
            _refuse_null(name, value)
            key = keys.get(name, name)
            held = table.get(key)
            if isinstance(value, dict) and isinstance(held, MutableMapping):
                _change(held, value)
            elif isinstance(value, dict) and place is not None:
                table[key] = _sub_table(value)
            else:
                table[key] = value


def _change(held: MutableMapping[str, Any], value: Mapping[str, Any]) -> None:
    """Changes a table key by key, so that what stays keeps its place and its comment."""
    for key in [key for key in held if key not in value]:
        del held[key]
    for key, item in value.items():
        inner = held.get(key)
        if isinstance(item, dict) and isinstance(inner, MutableMapping):
            _change(inner, item)
        elif key not in held or not _same(_plain_of(inner), item):
            held[key] = item


def _sub_table(value: Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    for key, item in value.items():
        table[key] = _inline(item)
    return table


def _inline(value: Any) -> Any:
    """Tables inside of a value stay on its line."""
    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    for key, item in value.items():
        table[key] = _inline(item)
    return table


def _plain_of(item: Any) -> Any:
    return item.unwrap() if hasattr(item, "unwrap") else item


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same in TOML, where 1 is not 1.0 and not true."""
    if type(one) is float and type(other) is int:
        return one == other
    return json.dumps(one, default=str) == json.dumps(other, default=str)


def _refuse_null(name: str, value: Any) -> None:
    if value is None:
        raise ValueError(f"{name} is null, which TOML cannot say")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_null(f"{name}.{key}", item)
    elif isinstance(value, list):
        for item in value:
            _refuse_null(name, item)


def _fault_of(text: str) -> str:
    """Message of the parser that has the plainer ones; empty where it finds nothing."""
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""
