"""Ablations: one evaluation for every combination of the values that are swept."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tui_eval.config.options import FILE_KEYS, Option
from tui_eval.config.settings import SAMPLING, Setting, Settings, table_settings
from tui_eval.config.toml_files import TomlFile
from tui_eval.config.values import check_toml
from tui_eval.errors import Fault, nearest

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
        number: Of the `[[ablation]]` table, from 0.
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
    return [_combined(fixed, top, axes, values) for values in _combinations(axes)], []


def _combinations(axes: list[Axis]) -> Iterator[tuple[Any, ...]]:
    return itertools.product(*(values for _, _, values, _ in axes))


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
            whole = check_toml(option, {inside: value} if inside else value)
            checked.append(whole[inside] if inside else whole)
        except ValueError as error:
            faults.append(Fault(where, f"{name}: {error}"))
    return (option.name, inside, checked, where), faults


def _clashes(fixed: Settings, axes: list[Axis]) -> list[Fault]:
    """What is fixed and swept, or swept twice."""
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
