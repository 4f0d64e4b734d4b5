"""Any value of people's code as something that JSON carries, and where that took a replacement."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from tui_eval import cuts
from tui_eval.fold.saved_values import whole_text

DEEPEST = 60
LONGEST_REPR = 200


def plain(value: Any) -> Any:
    """JSON value in place of one that JSON does not know; a TypeError for nothing."""
    from pydantic import BaseModel  # here: reading a run takes no pydantic

    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Path, date)):
        return str(value)
    if isinstance(value, BaseException):
        return repr(value)
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if callable(getattr(value, "tolist", None)):  # numpy's arrays and scalars
        found = value.tolist()
        if isinstance(found, (list, int, float, str, bytes, date)):
            return found
    raise TypeError(f"{type(value).__name__} is not JSON")


class Cleaner:
    """Makes values that JSON carries; `replaced` lists the places where something had to go."""

    def __init__(self) -> None:
        self.replaced: list[str] = []
        self._open: set[int] = set()

    def clean(self, value: Any, place: str = "", depth: int = 0) -> Any:
        """The same value with what JSON cannot carry replaced by a text that says what it was."""
        if value is None or type(value) in (bool, float):
            return value
        if isinstance(value, str):
            return self._text(value, place)
        if depth >= DEEPEST or id(value) in self._open:
            return self._replace(value, place)
        self._open.add(id(value))
        try:
            return self._inner(value, place, depth)
        except Exception:
            return self._replace(value, place)
        finally:
            self._open.discard(id(value))

    def _inner(self, value: Any, place: str, depth: int) -> Any:
        if isinstance(value, Mapping):
            found = {}
            for key, item in value.items():
                name = self._text(str(key), place)
                found[name] = self.clean(item, f"{place}.{name}".lstrip("."), depth + 1)
            return found
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.clean(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]
        try:
            return msgspec.json.decode(msgspec.json.encode(value))
        except Exception:
            return self.clean(plain(value), place, depth + 1)

    def _text(self, text: str, place: str) -> str:
        whole = whole_text(text)
        if whole != text:
            self.replaced.append(place)
        return whole

    def _replace(self, value: Any, place: str) -> str:
        self.replaced.append(place)
        return f"<{type(value).__name__} is not JSON: {_short_repr(value)}>"


def encode_whatever(value: Any) -> bytes:
    """The JSON of a value; what JSON cannot carry is replaced by a text that says what it was."""
    try:
        return msgspec.json.encode(value, enc_hook=plain)
    except Exception:  # people's objects may raise anything when they are looked at
        return msgspec.json.encode(Cleaner().clean(value))


def encode_model(value: Any) -> msgspec.Raw:
    """The JSON of a pydantic object without what is None, or of any other value, to be embedded."""
    try:
        return msgspec.Raw(value.__pydantic_serializer__.to_json(value, exclude_none=True))
    except Exception:  # it is another value, or holds what JSON cannot carry
        return msgspec.Raw(encode_whatever(value))


def _short_repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"its repr raised {type(error).__name__}"
    return whole_text(cuts.head(text, LONGEST_REPR))
