"""TOML files of evaluations: what is in them, table by table, and everything that is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from tui_eval.config.options import FILE_KEYS, SAMPLING, Option, Setting, Settings
from tui_eval.config.settings import table_settings
from tui_eval.config.toml_files import TomlFile, read_toml
from tui_eval.config.values import check_value
from tui_eval.errors import Fault, nearest

TABLES = ("eval", "ablation")


class EvalFile(msgspec.Struct, frozen=True):
    """Content of a file of evaluations.

    Args:
        top: Settings that hold for all of them.
        own: The settings of each, in order: first the `[[eval]]` tables, then what the
            `[[ablation]]` tables amount to.
    """

    top: Settings
    own: list[Settings]


def read_eval_file(path: Path, text: str | None = None) -> tuple[EvalFile, list[Fault]]:
    """The evaluations of a file, and everything that is wrong with it.

    Args:
        text: Stands in place of what the file holds; it need not be there then.
    """
    file, faults = read_toml(path, "the file of evaluations", text)
    if file is None:
        return EvalFile({}, []), faults
    top, faults = table_settings(file, (), file.tables, others=TABLES)
    own: list[Settings] = []
    for number, table in _numbered(file, "eval", faults):
        settings, wrong = table_settings(file, ("eval", number), table)
        own.append(settings)
        faults += wrong + _without_environment(file.at("eval", number), settings, top)
    for number, table in _numbered(file, "ablation", faults):
        expanded, wrong = expand_ablation(file, number, table, top)
        own += expanded
        faults += wrong
        if expanded and not wrong:
            faults += _without_environment(file.at("ablation", number), expanded[0], top)
    if not file.tables.keys() & set(TABLES):
        own = [{}]
        faults += _without_environment(str(path), {}, top, "it has no [[eval]] table")
    elif not own and not faults:
        faults.append(Fault(str(path), "it has no evaluation", "Write an [[eval]] table"))
    for settings in (top, *own):
        _resolve_registry(file, settings)
    return EvalFile(top, own), faults


def _numbered(
    file: TomlFile, name: str, faults: list[Fault]
) -> list[tuple[int, Mapping[str, Any]]]:
    """The tables of an array with their numbers; what is no table is reported."""
    given = file.tables.get(name, [])
    if not isinstance(given, list):
        what = f"[{name}] is one table" if isinstance(given, dict) else f"{name} is no table"
        faults.append(Fault(file.at(name), what, f"Write [[{name}]]"))
        return []
    for one in given:
        if not isinstance(one, dict):
            faults.append(Fault(file.at(name), f"{one!r} is no table", f"Write [[{name}]]"))
    return [(number, one) for number, one in enumerate(given) if isinstance(one, dict)]


def _without_environment(
    where: str, settings: Settings, top: Settings, what: str = "env_id is missing"
) -> list[Fault]:
    if "env_id" in settings or "env_id" in top:
        return []
    return [Fault(where, what, 'Name the environment: env_id = "my-env"')]


def _resolve_registry(file: TomlFile, settings: Settings) -> None:
    """A relative `endpoints_path` is looked for beside the file first, then from here."""
    setting = settings.get("endpoints_path")
    if setting is not None:
        beside = file.path.parent / setting.value
        if beside.exists():
            settings["endpoints_path"] = Setting(str(beside), setting.source)


SWEEP = "sweep"

NOT_SWEPT = ("name", "resume", "verbose", "debug", "disable_env_server", "heartbeat_url",
             "heartbeat_status")  # fmt: skip

_SWEPT = {key: option for key, option in FILE_KEYS.items() if option.name not in NOT_SWEPT}

Axis: TypeAlias = tuple[str, str, list[Any], str]
"""(setting, key inside of it or nothing, values, where it stands)."""


def expand_ablation(
    file: TomlFile, number: int, table: Mapping[str, Any], top: Settings
) -> tuple[list[Settings], list[Fault]]:
    """The settings of every combination, and everything that is wrong with the table.

    What is swept first in the file varies slowest; what is inside of tables varies fastest.

    Args:
        number: Number of the `[[ablation]]` table, from 0.
        top: Settings of the whole file: a sweep inside of a table adds to theirs.
    """
    keys = ("ablation", number)
    fixed, faults = table_settings(file, keys, table, others=(SWEEP,))
    sweep = table.get(SWEEP)
    where = file.at(*keys, SWEEP)
    if not isinstance(sweep, dict) or not sweep:
        what = "there is nothing to sweep"
        return [], [*faults, Fault(where, what, "Write lists of values into [ablation.sweep]")]
    axes = []
    for key, value in sweep.items():
        found, wrong = _axes(file, (*keys, SWEEP, key), key, value)
        axes += found
        faults += wrong
    axes.sort(key=lambda axis: bool(axis[1]))
    faults += _clashes(fixed, axes)
    if faults:
        return [], faults
    combinations = itertools.product(*(values for _, _, values, _ in axes))
    return [_combined(fixed, top, axes, values) for values in combinations], []


def _combined(
    fixed: Settings, top: Settings, axes: list[Axis], values: tuple[Any, ...]
) -> Settings:
    settings = dict(fixed)
    for (name, inside, _, where), value in zip(axes, values, strict=True):
        if inside:
            held = settings.get(name) or top.get(name)
            value = {**(held.value if held else {}), inside: value}
        settings[name] = Setting(value, where)
    return settings


def _axes(
    file: TomlFile, keys: tuple[str | int, ...], key: str, value: Any
) -> tuple[list[Axis], list[Fault]]:
    where = file.at(*keys)
    option = _SWEPT.get(key)
    if option is None:
        what = f"{key} cannot be swept" if key in FILE_KEYS else f"unknown key {key!r}"
        return [], [Fault(where, what, nearest(key, _SWEPT))]
    if option.kind == "json" and isinstance(value, dict):
        found = [_axis(option, inside, values, file.at(*keys, inside))
                 for inside, values in value.items()]  # fmt: skip
    else:
        found = [_axis(option, "", value, where)]
    return [axis for axis, _ in found if axis], [fault for _, faults in found for fault in faults]


def _axis(option: Option, inside: str, values: Any, where: str) -> tuple[Axis | None, list[Fault]]:
    name = f"{option.name}.{inside}" if inside else option.name
    if not isinstance(values, list) or not values:
        hint = f"Write a list with one value at least: {name} = [...]"
        return None, [Fault(where, f"{name} is swept, but {values!r} is no list of values", hint)]
    checked, faults = [], []
    for value in values:
        try:
            whole = check_value(option, {inside: value} if inside else value)
            checked.append(whole[inside] if inside else whole)
        except ValueError as error:
            faults.append(Fault(where, f"{name}: {error}"))
    return (option.name, inside, checked, where), faults


def _clashes(fixed: Settings, axes: list[Axis]) -> list[Fault]:
    """Faults of settings that are fixed and swept, or swept twice."""
    faults = []
    seen: set[tuple[str, str]] = set()
    for name, inside, _, where in axes:
        shown = f"{name}.{inside}" if inside else name
        own = ("sampling_args", name) if name in SAMPLING else (name, inside)
        held = fixed.get(own[0])
        is_fixed = held is not None and (not own[1] or own[1] in held.value)
        if is_fixed or (not inside and name in fixed):
            faults.append(Fault(where, f"{shown} is fixed and swept", "Keep one"))
        elif own in seen or (inside and (name, "") in seen):
            faults.append(Fault(where, f"{shown} is swept twice", "Keep one"))
        seen.add(own)
    swept = {name: where for name, _, _, where in axes if name in ("model", "endpoint_id")}
    if swept and {"model", "endpoint_id"} <= swept.keys() | fixed.keys():
        where = next(iter(swept.values()))
        faults.append(Fault(where, "model and endpoint_id both name the model", "Keep one"))
    return faults
