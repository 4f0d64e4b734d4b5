"""TOML files of evaluations: what is in them, table by table, and everything that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.config.ablations import expand_ablation
from tui_eval.config.settings import Setting, Settings, table_settings
from tui_eval.config.toml_files import TomlFile, read_toml
from tui_eval.errors import Fault

TABLES = ("eval", "ablation")


class EvalFile(msgspec.Struct, frozen=True):
    """What a file of evaluations says.

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
