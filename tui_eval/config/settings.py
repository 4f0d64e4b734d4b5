"""Settings: built in, of a table of a file, of `--set`; and those in which evaluations differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tui_eval.config.options import (
    FILE_KEYS,
    OPTIONS,
    RIVALS,
    SAMPLING,
    Option,
    Setting,
    Settings,
)
from tui_eval.config.secret_values import masked
from tui_eval.config.toml_files import TomlFile
from tui_eval.config.values import check_value, parse_set
from tui_eval.errors import Fault, nearest

BUILT_IN = "built-in"


def place_of(sources: Mapping[str, str], name: str, flag: str) -> str:
    """Place at which a fault of a setting is reported: its line, or its flag without a file."""
    source = sources.get(name, "")
    return f"{source}, {name}" if ":" in source else flag


_BUILT_IN_SETTINGS: Settings = {
    option.name: Setting(False if option.kind == "flag" else option.default, BUILT_IN)
    for option in OPTIONS
}


def built_in_settings() -> Settings:
    """Defaults of all settings."""
    return dict(_BUILT_IN_SETTINGS)


def table_settings(
    file: TomlFile,
    keys: Sequence[str | int],
    table: Mapping[str, Any],
    known: Mapping[str, Option] = FILE_KEYS,
    others: Iterable[str] = (),
) -> tuple[Settings, list[Fault]]:
    """The settings of one table of a file, and everything that is wrong with them.

    Args:
        keys: Place of the table in the file.
        known: The keys that settings may have here.
        others: Keys that may be in the table beside settings; they are left alone.
    """
    found: Settings = {}
    faults: list[Fault] = []
    spelt: dict[str, str] = {}
    for key, value in table.items():
        where = file.at(*keys, key)
        if key in others:
            continue
        option = known.get(key)
        if option is None:
            hint = nearest(key, [*known, *others])
            faults.append(Fault(where, f"unknown key {key!r}", hint))
            continue
        if option.name in spelt:
            what = f"{spelt[option.name]} and {key} are the same setting; keep one"
            faults.append(Fault(where, what))
            continue
        spelt[option.name] = key
        try:
            found[option.name] = Setting(check_value(option, value), where)
        except ValueError as error:
            faults.append(Fault(where, f"{key}: {error}"))
    if "model" in found and "endpoint_id" in found:
        where, what = found["endpoint_id"].source, "model and endpoint_id both name the model"
        faults.append(Fault(where, what, "Keep one"))
    return found, faults


def sampling_args(settings: Settings) -> dict[str, Any]:
    """The parameters of every model call that merged settings amount to."""
    named = {
        name: settings[name].value
        for name in SAMPLING
        if name in settings and settings[name].value is not None
    }
    whole = settings.get("sampling_args")
    return {**named, **((whole.value if whole else None) or {})}


def apply_sets(settings: Settings, sets: Iterable[tuple[list[str], str]]) -> list[Fault]:
    """Lays what `--set` says over merged settings, in its order; returns what is wrong with it."""
    faults: list[Fault] = []
    for path, text in sets:
        name, below = path[0], path[1:]
        option = FILE_KEYS.get(name)
        if option is None:
            faults.append(Fault("--set", f"unknown key {name!r}", nearest(name, FILE_KEYS)))
            continue
        try:
            value = parse_set(option, below, text)
        except ValueError as error:
            faults.append(Fault(f"--set {'.'.join(path)}", str(error)))
            continue
        held = settings.get(option.name)
        if below:
            value = _with(held.value if held else None, below, value)
        _replace(settings, option.name, value)
    return faults


def _replace(settings: Settings, name: str, value: Any) -> None:
    settings[name] = Setting(value, "--set")
    if name in RIVALS:
        settings.pop(RIVALS[name], None)
    whole = settings.get("sampling_args")
    if name in SAMPLING and whole and whole.value:
        rest = {key: item for key, item in whole.value.items() if key != name}
        settings["sampling_args"] = Setting(rest, whole.source)
    elif name == "sampling_args":
        for single in SAMPLING:
            if single in (value or {}):
                settings.pop(single, None)


def _with(table: Any, path: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy of a table with a value at a path."""
    changed: dict[str, Any] = dict(table) if isinstance(table, dict) else {}
    first, rest = path[0], path[1:]
    changed[first] = _with(changed.get(first), rest, value) if rest else value
    return changed


_TABLES = ("env_args", "extra_env_kwargs")
_SHOWN_OTHERWISE = {"env_id", "name", "model", "endpoint_id", *SAMPLING, "sampling_args", "headers"}

_APART = _SHOWN_OTHERWISE | {one.name for one in OPTIONS if one.describes != "evaluation"}


def differing_settings(evaluations: Sequence[Settings]) -> list[dict[str, str]]:
    """The settings in which not all evaluations agree, as text, of each.

    Keys of tables are distinguished: `env_args.difficulty`. What an evaluation does not set is left
    out of its own. Secrets are hidden.
    """
    flat = [dict(_flat(settings)) for settings in evaluations]
    names = dict.fromkeys(name for one in flat for name in one)
    differing = [name for name in names if len({_identity(one, name) for one in flat}) > 1]
    return [{name: _shown(name, one[name]) for name in differing if name in one} for one in flat]


def _flat(settings: Settings) -> Iterator[tuple[str, Any]]:
    yield "model", str(settings["endpoint_id"].value or settings["model"].value)
    for name, value in sampling_args(settings).items():
        yield name, value
    for name, setting in settings.items():
        if name in _TABLES:
            for key, value in (setting.value or {}).items():
                yield f"{name}.{key}", value
        elif name not in _APART and setting.value is not None:
            yield name, setting.value


def _identity(settings: Mapping[str, Any], name: str) -> object:
    """Key that is equal where two settings are; None where it is not set."""
    if name not in settings:
        return None
    value = settings[name]
    return (type(value), value) if isinstance(value, (str, int, float)) else _text(value)


def _shown(name: str, value: Any) -> str:
    """The text of a setting, or of a key inside of one, without secrets."""
    key = name.rpartition(".")[2]
    return _text(masked({key: value})[key])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
