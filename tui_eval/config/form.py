"""Texts in the fields of a form, and the settings that they give."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from tui_eval.config.fields import ARGUMENT, Field, argument_field, option_fields, text_of, value_of
from tui_eval.config.options import OPTIONS, SAMPLING, Option, Setting, Settings, merged
from tui_eval.config.values import list_text

NOT_SHOWN = ("endpoint_id",)
"""Fields that are in a form only where a file uses them."""

REQUIRED = "it is required"


class _Left(NamedTuple):
    """Texts in the arguments of an environment when another one was named."""

    texts: Mapping[str, str]
    fields: dict[str, Field]
    description: Mapping[str, Any] | None


class Form:
    """Texts of fields, by their names; what is empty is not set.

    Args:
        values: Values that are set already, by the names of the options.
        inherited: Settings of a file for all of its evaluations.
        names_environment: Whether an environment must be named.
    """

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        inherited: Mapping[str, Any] | None = None,
        *,
        names_environment: bool = True,
    ) -> None:
        self._names_environment = names_environment
        self.inherited = dict(inherited or {})
        self.description: Mapping[str, Any] | None = None
        self._options = {field.name: field for field in option_fields()}
        self._arguments: dict[str, Field] = {}
        self._left: dict[str, _Left] = {}
        self.texts: dict[str, str] = {}
        for name, value in (values or {}).items():
            if name in self._options:
                self.texts[name] = text_of(self._options[name], value)
        self._before = dict(self.texts)

    def copy(self) -> Form:
        """The same as it is now."""
        other = copy.copy(self)
        other.texts = dict(self.texts)
        return other

    @property
    def env_id(self) -> str:
        """The environment that is named; empty where none is."""
        return self.texts.get("env_id") or str(self.inherited.get("env_id") or "")

    def fields(self) -> list[Field]:
        """Every field in its order: the environment, its arguments, everything else."""
        found: list[Field] = []
        for field in self._options.values():
            if field.name == "env_args":
                found += self._arguments.values()
                takes_others = self.description is None or self.description["takes_others"]
                if self._arguments and not self.texts.get("env_args") and not takes_others:
                    continue
            if field.name not in NOT_SHOWN or field.name in {**self.inherited, **self.texts}:
                found.append(field)
        return found

    def field(self, name: str) -> Field:
        """A field by its name."""
        return self._arguments.get(name) or self._options[name]

    def text(self, name: str) -> str:
        """Text of a field."""
        return self.texts.get(name, "")

    def put(self, name: str, text: str) -> None:
        """Writes into a field; another environment has other arguments, and each keeps its own."""
        other = name == "env_id" and text != self.text("env_id")
        if other:
            self._leave_arguments()
        if text:
            self.texts[name] = text
        else:
            self.texts.pop(name, None)
        if other and (left := self._left.get(self.env_id)):
            self.texts |= left.texts
            self._arguments, self.description = left.fields, left.description

    def switch(self, name: str) -> None:
        """Turns a flag over; where that is what holds anyway, it is not set."""
        field = self.field(name)
        on = not self.effective(name)
        text = "true" if on else "false"
        holds, _ = self.default(name)
        self.put(name, "" if bool(holds) == on and self._before.get(name) != text else text)
        if field.required and not self.text(name):
            self.put(name, text)

    def default(self, name: str) -> tuple[Any, str]:
        """Default of a field, and its source; empty for built in."""
        field = self.field(name)
        if name.startswith(ARGUMENT):
            args = self._base_arguments()
            if field.label in args:
                return args[field.label], "default"
            return field.default, field.source
        if self.inherited.get(name) is not None:
            return self.inherited[name], "the top of the file"
        brought = (self.description or {}).get("defaults", {}).get(name)
        return (brought["value"], brought["source"]) if brought else (field.default, field.source)

    def sampled(self, name: str) -> Any:
        """Value of a sampling parameter in `sampling_args`; None where it has none."""
        if name not in SAMPLING:
            return None
        setting = self.settings().get("sampling_args")
        brought = {} if self.inherited.get(name) is not None else self.default("sampling_args")[0]
        return ((setting.value if setting else brought) or {}).get(name)

    def effective(self, name: str) -> Any:
        """The value that holds; the default where what is in the field cannot be."""
        try:
            return value_of(self.field(name), self.texts[name])
        except (KeyError, ValueError):
            return self.default(name)[0]

    def describe(self, description: Mapping[str, Any] | None) -> None:
        """Takes in what `--describe` reports the environment: arguments become fields."""
        args = self.arguments() if self.description is None else {}
        self.description = description
        if description is None:
            return
        fields = [argument_field(one) for one in description["parameters"]]
        self._arguments = {field.name: field for field in fields}
        if not args:
            return
        for field in fields:
            if field.label in args:
                self.put(field.name, text_of(field, args.pop(field.label)))
                self._before.setdefault(field.name, self.text(field.name))
        self.put("env_args", json.dumps(args, ensure_ascii=False) if args else "")

    def _leave_arguments(self) -> None:
        names = [name for name in (*self._arguments, "env_args") if name in self.texts]
        texts = {name: self.texts.pop(name) for name in names}
        self._left[self.env_id] = _Left(texts, self._arguments, self.description)
        self._arguments = {}
        self.description = None

    def _base_arguments(self) -> dict[str, Any]:
        """The arguments that hold below those that are set here: a table replaces a table."""
        if any(name in self.texts for name in (*self._arguments, "env_args")):
            return {}
        brought = (self.description or {}).get("defaults", {}).get("env_args")
        found = self.inherited.get("env_args") or (brought["value"] if brought else {})
        return dict(found or {})

    def arguments(self) -> dict[str, Any]:
        """The arguments of the environment that are set and can be."""
        args: dict[str, Any] = {}
        for name in ("env_args", *self._arguments):
            try:
                value = value_of(self.field(name), self.texts[name])
            except (KeyError, ValueError):
                continue
            args |= value if name == "env_args" else {self.field(name).label: value}
        return args

    def values(self) -> dict[str, Any]:
        """Values of the options that are set and can be, in the order of their table."""
        found: dict[str, Any] = {}
        for option in OPTIONS:
            if option.name == "env_args":
                if args := self.arguments():
                    found["env_args"] = args
            elif option.name in self.texts:
                try:
                    found[option.name] = value_of(self.field(option.name), self.texts[option.name])
                except ValueError:
                    continue
        return found

    def faults(self) -> dict[str, str]:
        """Faults in the text of each field, as far as the field alone can say."""
        found: dict[str, str] = {}
        for field in self.fields():
            text = self.text(field.name)
            if not text:
                if field.required and self._is_missing(field):
                    found[field.name] = REQUIRED
                continue
            try:
                value_of(field, text)
            except ValueError as error:
                found[field.name] = str(error)
        return found

    def has_vain_text(self) -> bool:
        """Whether a text was typed that is no value, so that no file can hold it."""
        return any(self.text(name) != self._before.get(name, "") for name in self.faults())

    def _is_missing(self, field: Field) -> bool:
        if field.name == "env_id":
            return self._names_environment and not self.env_id and "resume" not in self.texts
        return field.label not in {**self._base_arguments(), **self.arguments()}

    def settings(self) -> Settings:
        """Settings of this form and of what it inherits, as one."""
        layers = [
            {name: Setting(value, "form") for name, value in layer.items()}
            for layer in (self.inherited, self.values())
        ]
        return merged(layers)

    def raw(self) -> dict[str, Any]:
        """The texts of a command line that gives the same; what holds anyway is left out."""
        raw: dict[str, Any] = {}
        sets: list[str] = []
        settings = self.settings()
        for option in OPTIONS:
            setting = settings.get(option.name)
            if setting is None or option.name == "env_id" or self._holds_anyway(option, setting):
                continue
            text = typed_text(option, setting.value)
            if not option.flags or text is False:
                sets.append(f"{option.name}={str(text).lower() if text is False else text}")
            else:
                raw[option.name] = text
        return {**raw, "sets": sets} if sets else raw

    def _holds_anyway(self, option: Option, setting: Setting) -> bool:
        brought = (self.description or {}).get("defaults", {}).get(option.name)
        default = False if option.kind == "flag" else option.default
        held = brought["value"] if brought else default
        return type(held) is type(setting.value) and bool(held == setting.value)


def typed_text(option: Option, value: Any) -> Any:
    """Typed form of a value: text, True or False for a flag, a list for what is repeated."""
    if option.kind == "flag":
        return value
    if option.kind == "json":
        return json.dumps(value, ensure_ascii=False)
    if option.kind == "list":
        return list_text(option, value)
    if option.kind == "headers":
        return [f"{name}: {one}" for name, one in value.items()]
    return str(int(value) if option.kind == "float" and value == int(value) else value)
