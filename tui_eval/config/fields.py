"""The fields of a form: one for each setting, and one for each argument of an environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from tui_eval.config.options import MAY_BE_EMPTY, NEWEST, OPTIONS, Kind, Option
from tui_eval.config.values import list_text, parse_text
from tui_eval.printable import one_line

FieldKind: TypeAlias = Kind | Literal["choice", "any"]

ARGUMENT = "env_args."
"""Begins the name of a field that is one argument of `load_environment`."""

HIDDEN = frozenset(
    ("disable_env_server", "debug", "tui", "abbreviated_summary", "json", "dry_run", "sets")
)
"""Settings that a form has no use for."""

ARGUMENTS = "Arguments of load_environment"
_MORE = "More about the environment"
_BESIDE = "Log, checks and heartbeat"
_GROUPS = {"env_id": "Environment", "endpoint_id": "Model", "env_args": ARGUMENTS} | dict.fromkeys(
    ("name", "extra_env_kwargs", "env_dir_path", "no_alias"), _MORE
)
"""Headings of settings that have others than in the help of the command."""

_ORDER = ("Environment", ARGUMENTS, "Model", "Scope", "Sampling", "Concurrency and limits",
          "Scoring", "Saving and resuming", _MORE, _BESIDE)  # fmt: skip
"""Headings as they are in a form: what is set most often comes first."""


class Field(msgspec.Struct, frozen=True):
    """One thing that can be set.

    Args:
        name: Name of its option, or `env_args.` and that of an argument.
        type: Type of its values, in a word.
        choices: The only texts allowed; empty for any.
        default: Value where nothing is set.
        source: Source of the default; empty where it is built in.
        required: Whether something must be set.
        nullable: Whether `null` may be set.
        shape: Shape of the JSON, of an argument that is written as JSON.
        option: Its option; None for an argument.
    """

    name: str
    kind: FieldKind
    help: str
    group: str
    type: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    source: str = ""
    required: bool = False
    nullable: bool = False
    shape: Shape = "any"
    option: Option | None = None

    @property
    def label(self) -> str:
        """Its name without what says that it is an argument."""
        return self.name.removeprefix(ARGUMENT)

    @property
    def in_files(self) -> bool:
        """Whether it may be in a TOML file."""
        return self.option is None or self.option.in_files


_TYPES = {
    "int": "whole number", "float": "number", "json": "JSON object", "list": "a,b",
    "optional_path": "newest, or a path", "headers": "Name: Value",
}  # fmt: skip


def option_field(option: Option) -> Field:
    """The field of a setting."""
    kind: FieldKind = "choice" if option.choices else option.kind
    default = False if option.kind == "flag" else option.default
    return Field(
        option.name,
        kind,
        option.help,
        _GROUPS.get(option.name) or {"This command": _BESIDE}.get(option.group, option.group),
        _TYPES.get(option.kind, ""),
        option.choices,
        default,
        option=option,
        required=option.name == "env_id",
    )


def argument_field(parameter: Mapping[str, Any]) -> Field:
    """The field of one parameter that `--describe` reports."""
    choices = tuple(_choice_text(choice) for choice in parameter["choices"])
    return Field(
        ARGUMENT + parameter["name"],
        parameter["kind"],
        parameter["help"] or "Argument of load_environment.",
        ARGUMENTS,
        parameter["annotation"],
        choices,
        parameter["default"],
        required=parameter["required"],
        nullable=parameter["nullable"],
        shape=parameter["shape"],
    )


def option_fields() -> list[Field]:
    """The fields of all settings, the environment first."""
    shown = (option for option in OPTIONS if option.name not in HIDDEN)
    fields = [option_field(option) for option in shown]
    return sorted(fields, key=lambda field: _ORDER.index(field.group))


def value_of(field: Field, text: str) -> Any:
    """Value of a text in a field; a text in double quotes is read as in JSON.

    Raises:
        ValueError: It cannot be; says why.
    """
    if field.nullable and text == "null":
        return None
    if field.option is not None:
        return _setting(field.option, text)
    if field.kind == "text":
        return _unquoted(text)
    if field.kind == "choice":
        return _chosen(field, text)
    if field.kind in ("json", "any"):
        return _from_json(field, text)
    kind: Any = field.kind
    return parse_text(Option(field.name, (), kind, ""), text)


def text_of(field: Field, value: Any) -> str:
    """The text that stands for a value in a field; empty for none."""
    if value is None:
        return "null" if field.nullable else ""
    if field.kind in ("json", "any") and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=str)
    if field.kind == "json":
        return json.dumps(value, ensure_ascii=False)
    if field.kind == "list" and isinstance(value, list) and field.option is not None:
        return list_text(field.option, value)
    if field.kind == "headers" and isinstance(value, Mapping):
        return " | ".join(f"{name}: {one}" for name, one in value.items())
    if field.kind == "choice":
        return _choice_text(value)
    if isinstance(value, float) and value.is_integer() and field.option is not None:
        value = int(value)
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value, field.kind) if isinstance(value, str) else str(value)


_ANY = Option("", (), "json", "")


def _setting(option: Option, text: str) -> Any:
    if option.kind == "headers":
        return parse_text(option, [one for one in text.split(" | ") if one.strip()])
    if option.kind in ("text", "optional_path") and not option.choices:
        text = _unquoted(text)
        if text == "" and option.name in MAY_BE_EMPTY:
            return text
        if option.kind == "optional_path" and text in ("true", NEWEST):
            return NEWEST
    return parse_text(option, text)


def _from_json(field: Field, text: str) -> Any:
    reported = field.type if field.shape == "any" else expected(field.shape)
    try:
        value = parse_text(_ANY, f'{{"":{text}}}')[""]
    except ValueError as error:
        if field.kind == "any":
            return _unquoted(text)
        raise ValueError(f"this is not valid JSON; expected {reported}") from error
    if not fits(value, field.shape):
        raise ValueError(f"{one_line(text, 60)} is not {reported}")
    return value


def _chosen(field: Field, text: str) -> Any:
    if text not in field.choices:
        raise ValueError(f"{text!r} is not known. Known are {', '.join(field.choices)}")
    return _unquoted(text) if text[:1] == '"' else _json_or_text(text)


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _choice_text(choice: Any) -> str:
    """A choice as it is written: text that could be taken for JSON is in quotes."""
    if not isinstance(choice, str):
        return json.dumps(choice, ensure_ascii=False)
    return choice if _json_or_text(choice) == choice else json.dumps(choice, ensure_ascii=False)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return value if isinstance(value, str) else text
    return text


def _quoted(text: str, kind: str) -> str:
    """Text as it is written in a field, which has one line and where nothing means unset."""
    plain = text and text == text.strip() and text.isprintable() and text[0] != '"'
    if plain and not (kind == "any" and _json_or_text(text) != text):
        return text
    return json.dumps(text, ensure_ascii=False)


Shape: TypeAlias = "str | list[Any]"
"""Shape of the JSON that an argument of an environment takes.

`text`, `int`, `float`, `flag`, `null` or `any`; or a list of a word and what it is of: `list` and
`table` of one shape, `row` of one each, `either` of several, `among` of values.
"""

_PLAIN: dict[str, tuple[Any, str, str, tuple[Any, ...]]] = {
    "text": (str, "a text", "texts", ("a", "b")),
    "int": (int, "a whole number", "whole numbers", (1, 2)),
    "float": ((int, float), "a number", "numbers", (0.5, 1)),
    "flag": (bool, "true or false", "true or false", (True, False)),
    "null": (type(None), "null", "null", (None,)),
    "any": (object, "anything", "anything", (1, "a")),
}
"""Types, what one and what several are called, and some to show."""


def fits(value: Any, shape: Shape) -> bool:
    """Whether a value of JSON has a shape."""
    if isinstance(shape, str):
        is_plain = shape in ("flag", "any") or not isinstance(value, bool)
        return is_plain and isinstance(value, _PLAIN[shape][0])
    kind, *of = shape
    match kind:
        case "among":
            return value in of
        case "either":
            return any(fits(value, one) for one in of)
        case "table":
            return isinstance(value, dict) and all(fits(one, of[0]) for one in value.values())
        case "row":
            return isinstance(value, list) and len(value) == len(of) and all(map(fits, value, of))
    return isinstance(value, list) and all(fits(one, of[0]) for one in value)


def expected(shape: Shape) -> str:
    """Words for the expected value, with an example of what to type."""
    return f"{_reported(shape)}, such as {json.dumps(_examples(shape)[0], ensure_ascii=False)}"


def _reported(shape: Shape, many: bool = False) -> str:
    if isinstance(shape, str):
        _, one, several, _ = _PLAIN[shape]
        return several if many else one
    kind, *of = shape
    if kind == "among":
        return " or ".join(json.dumps(one, ensure_ascii=False) for one in of)
    if kind == "either":
        return " or ".join(_reported(one, many) for one in of)
    name = "object" if kind == "table" else "list"
    one = f"{name}s" if many else f"an {name}" if kind == "table" else f"a {name}"
    if of == ["any"]:
        return one
    inner = " and ".join(map(_reported, of)) if kind == "row" else _reported(of[0], many=True)
    return f"{one} of {inner}"


def _examples(shape: Shape) -> list[Any]:
    if isinstance(shape, str):
        return list(_PLAIN[shape][3])
    kind, *of = shape
    if kind == "among":
        return of[:1]
    if kind == "either":
        return _examples(of[0])
    if kind == "table":
        return [{"key": _examples(of[0])[0]}]
    return [[_examples(one)[0] for one in of] if kind == "row" else _examples(of[0])]
