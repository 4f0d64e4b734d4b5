"""Values of options: from the text of a command line and from TOML, checked in one way."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tui_eval.config.options import (
    ALL_CORES,
    BY_NAME,
    MAY_BE_EMPTY,
    NEWEST,
    NO_BUDGET,
    NUMBERS_TOO,
    OF_ONE_COMMAND,
    PATHS,
    Option,
)
from tui_eval.errors import Fault
from tui_eval.pasted import unwrapped

MOST_DIGITS = 20
"""Digits of a whole number of 64 bits, a sign included."""

MOST_LEVELS = 100
"""Levels of nested JSON; pydantic reads 200, and what carries a value is around it."""

LONGEST = 255
"""Bytes of a file's name at most, on nearly every file system."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def parse_values(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Typed values of what was typed as text, and everything that is wrong with it.

    Args:
        raw: Option names to text (True for flags, lists of text for what may be repeated), or to
            values; what was not typed is absent or None.

    Returns:
        Values of the options that were typed and are right, and the faults of the others.
    """
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, text in raw.items():
        option = BY_NAME.get(name)
        if option is None or text is None:
            continue
        if option.kind == "sets" and not isinstance(text, str):
            for one in text:  # one that is wrong must not hide the others
                try:
                    values.setdefault(name, []).append(_assignment(one))
                except ValueError as error:
                    faults.append(Fault(option.shown, str(error)))
            continue
        try:
            values[name] = (parse_text if isinstance(text, str) else check_value)(option, text)
        except ValueError as error:
            faults.append(Fault(option.shown, str(error)))
    return values, faults


def parse_text(option: Option, text: Any) -> Any:
    """The value of an option that was typed; the `ValueError` says why it cannot be."""
    if option.name in OF_ONE_COMMAND and text == NO_BUDGET:
        return None
    if option.name == "num_workers" and text == ALL_CORES:
        return -1
    if option.kind == "json":
        return _json_object(text)
    if option.kind == "list":
        return _listed(option, text)
    if option.kind in ("int", "float"):
        return _in_range(option, _number(option, text), text)
    if option.kind == "headers":
        return header_table(text)
    if option.kind == "sets":
        return [_assignment(one) for one in ([text] if isinstance(text, str) else text)]
    if option.kind == "flag":
        return _truth(text)
    return _text(option, text)


def check_value(option: Option, value: Any) -> Any:
    """An option's value, of TOML or parsed already; `ValueError` where it cannot be.

    It may be of another type, or out of its range.
    """
    kind = option.kind
    if kind == "flag":
        return _expect(value, bool, "true or false")
    if option.name == "num_workers" and value in (ALL_CORES, -1):
        return -1
    if kind in ("int", "float"):
        types = (int,) if kind == "int" else (int, float)
        what = "a whole number" if kind == "int" else "a number"
        return _in_range(option, _finite(_expect(value, types, what), what), value)
    if kind == "json":
        return _plain(_checked_depth(_expect(value, dict, "a table")))
    if kind == "list":
        return _listed(option, value)
    if kind == "headers":
        return header_table(value)
    if kind == "optional_path" and isinstance(value, bool):
        return NEWEST if value else None
    return _text(option, _expect(value, str, "text"))


def header_table(given: Any) -> dict[str, str]:
    """Headers of a table, or of texts such as `Name: Value`; `ValueError` where one is none."""
    wrong: list[str] = []
    if not isinstance(given, Mapping):
        texts = _texts([given] if isinstance(given, str) else given)
        wrong = [f"{one!r} is no header" for one in texts if ":" not in one]
        pairs = [one.split(":", 1) for one in texts if ":" in one]
        given = {name.strip(): value.strip() for name, value in pairs}
    wrong += [
        f"{name!r} is no name of a header" for name in given if not _HEADER_NAME.fullmatch(name)
    ]
    if wrong:
        raise ValueError("; ".join([*wrong, "expected 'Name: Value'"]))
    for name, value in given.items():
        if not (isinstance(value, str) and value.isprintable() and value.isascii()):
            raise ValueError(f"the value of header {name} must be one line of ASCII text")
    return dict(given)


def parse_set(option: Option, path: Sequence[str], text: str) -> Any:
    """The value that `--set` gives to an option, or to a key inside of it.

    Args:
        path: Keys below the option's own; empty for the option as a whole.

    Raises:
        ValueError: It cannot be; says why.
    """
    if not path:
        if option.kind == "json" or text[:1] in ("[", "{"):
            return check_value(option, _json_or_text(text))
        return parse_text(option, text)
    if option.kind == "headers":
        if len(path) > 1:
            raise ValueError("a header has no keys below it")
        return header_table({path[0]: text})[path[0]]
    if option.kind != "json":
        raise ValueError(f"{option.name} has no keys below it")
    return _json_or_text(text)


def _assignment(text: str) -> tuple[list[str], str]:
    """(dotted key in parts, text) of `a.b=text`."""
    key, equals, value = text.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts):
        raise ValueError(f"{text!r} is no setting; expected KEY=VALUE")
    from tui_eval.config.secret_values import HIDDEN  # which only `--set` needs

    if value == HIDDEN:
        raise ValueError(f"{HIDDEN} stands for what is secret in {key}; type its value")
    return parts, value


def _text(option: Option, text: Any) -> str:
    if option.name == "api_base_url" and isinstance(text, str):
        text = unwrapped(text, "the URL of the endpoint")
    if text == "" and option.name not in MAY_BE_EMPTY:
        raise ValueError("this is empty")
    if option.name == "until":
        _check_until(text)
    if option.name == "worker_memory":
        parse_size(text)
    if option.choices and text not in option.choices:
        raise ValueError(f"{text!r} is not known. Known are {', '.join(option.choices)}")
    if option.name in PATHS and any(len(os.fsencode(one)) > LONGEST for one in text.split("/")):
        raise ValueError(f"{_short(text)}: a part of this path has more than {LONGEST} bytes")
    return str(text)


def _check_until(text: str) -> None:
    """Refuses what is no condition on an interval."""
    from tui_eval.fold.query.condition_parser import check_names, parse_condition
    from tui_eval.fold.query.conditions import ConditionError

    try:
        condition = parse_condition(text, "")
        check_names(condition, {one.name for one in condition.measures()}, counts=())
    except ConditionError as error:
        raise ValueError("; ".join(str(one).removeprefix(", ") for one in error.faults)) from None


def _truth(text: Any) -> bool:
    if text in (True, "true"):
        return True
    if text in (False, "false"):
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def list_text(option: Option, values: Sequence[Any]) -> str:
    """The text that stands for a list: with commas between, or as JSON where that says another."""
    names = list(map(str, values))
    text = ",".join(names)
    try:
        is_list = _listed(option, text) == names
    except ValueError:  # as JSON it is a list of something else
        is_list = False
    return text if is_list else json.dumps(names, ensure_ascii=False)


def _listed(option: Option, value: Any) -> list[str]:
    """The texts of a list, or of a text that holds them in JSON or with commas between."""
    if isinstance(value, str):
        held = _json_or_text(value) if value.lstrip().startswith("[") else value
        value = held if isinstance(held, list) else value.split(",")
    if option.name in NUMBERS_TOO:
        texts = _texts(value, "a list of texts or whole numbers", (str, int))
    else:
        texts = _texts(value)
    return [text.strip() for text in texts if text.strip()]


def _texts(value: Any, what: str = "a list of texts", types: Any = str) -> list[str]:
    given = _expect(value, (list, tuple), what)
    return [str(_expect(one, types, what)) for one in given]


def _expect(value: Any, types: Any, what: str) -> Any:
    if isinstance(value, bool) and types is not bool:
        raise ValueError(f"{str(value).lower()} is not {what}")
    if not isinstance(value, types):
        raise ValueError(f"{_short(value)} is not {what}")
    return value


def _short(value: Any, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _plain(value: Any, where: str = "") -> Any:
    """The same value, if JSON can carry it."""
    if isinstance(value, dict):
        return {key: _plain(item, f"{where}{key}.") for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, where) for item in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    name = f"{where.rstrip('.')}: " if where else ""
    if isinstance(value, int):
        return _integer(str(value))
    if isinstance(value, float):
        return _finite(value, f"{name}an ordinary number")
    raise ValueError(f"{name}a {type(value).__name__} cannot be passed on; write it as text")


def _json_or_text(text: str) -> Any:
    try:
        return _loads(text)
    except json.JSONDecodeError:
        return text
    except RecursionError:
        raise ValueError("this is nested too deep") from None


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = _loads(text)
        text.encode()
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{text!r} is not valid JSON at character {error.pos + 1} ({error.msg}). "
            """Example: '{"key": 1}'"""
        ) from None
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} holds half a character (a lone surrogate)") from None
    except RecursionError:
        raise ValueError("this is nested too deep; expected an object") from None
    if not isinstance(value, dict):
        kinds = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
        what = kinds.get(type(value), "a number")
        raise ValueError(f"{text!r} is {what}; expected an object such as '{{\"key\": 1}}'")
    return value


def _loads(text: str) -> Any:
    value = json.loads(text, parse_constant=_no_constant, parse_int=_integer, parse_float=_ordinary)
    return _checked_depth(value)


def _checked_depth(value: Any) -> Any:
    """The same value, if every reader on its way can carry it."""
    inside = [value]
    for _ in range(MOST_LEVELS):
        nested = [one for one in inside if isinstance(one, (dict, list))]
        inside = [item for one in nested for item in (one.values() if type(one) is dict else one)]
        if not inside:
            return value
    raise ValueError(f"this is nested too deep; {MOST_LEVELS} levels are the most")


def _ordinary(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{digits} is too large for a number")
    return number


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS or not -(2**63) <= int(digits) < 2**64:
        raise ValueError(f"{digits} is too large; whole numbers have 64 bits")
    return int(digits)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON; expected an object of ordinary numbers and text")


def _number(option: Option, text: Any) -> float:
    kind = "a whole number" if option.kind == "int" else "a number"
    try:
        number = int(text) if option.kind == "int" else float(text)
    except (TypeError, ValueError):
        raise ValueError(f"{text!r} is not {kind}") from None
    return _finite(number, kind)


def _finite(number: float, kind: str) -> float:
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError(f"'{number}' is not {kind}")
    return number


def _in_range(option: Option, number: float, text: Any) -> float:
    instead = f". {option.instead}" if option.instead else ""
    if isinstance(number, int):
        _integer(str(number))
    if option.above is not None and number <= option.above:
        raise ValueError(f"{text} is too small; expected more than {option.above:g}{instead}")
    if option.least is not None and number < option.least and number != option.also:
        also = f", or {option.also:g} {option.also_means}" if option.also is not None else ""
        raise ValueError(f"{text} is too small; expected {option.least:g} or more{also}{instead}")
    return number


def is_url(text: str) -> bool:
    """Whether a text is the URL of a web server."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes of a text, `MB` being 1000 kB, `MiB` 1024 KiB; `ValueError` where it says none."""
    match = _SIZE.fullmatch(text.strip())
    power = " KMGT".index((match[2] or " ").upper()) if match else 0
    size = int(float(match[1]) * (1024 if match[3] else 1000) ** power) if match else 0
    if not size:
        raise ValueError(f"{text!r} is no size; expected as in 512MB or 2GB")
    return size
