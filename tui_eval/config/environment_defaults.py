"""Defaults from the pyproject.toml of an environment, without importing it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_eval.config.options import FILE_KEYS, Setting, Settings
from tui_eval.config.settings import table_settings
from tui_eval.config.toml_files import TomlFile, read_toml
from tui_eval.environments.discovery import (
    FoundEnvironment,
    find_environment,
    module_name_of,
    project_of,
)
from tui_eval.errors import Fault, RefusedError
from tui_eval.processes import is_own_interpreter

OWN = ("tool", "tui-eval", "eval")
VENV = ".venv"
VERIFIERS = ("tool", "verifiers", "eval")

_OF_VERIFIERS = ("num_examples", "rollouts_per_example")
_KNOWN = {key: option for key, option in FILE_KEYS.items() if option.of_environment}


def environment_defaults(env_id: str, environments_dir: Path) -> tuple[Settings, list[Fault]]:
    """The settings that an environment brings along, and everything that is wrong with them.

    Its table `[tool.tui-eval.eval]` may hold any setting that does not say where something is
    sent or written; `[tool.verifiers.eval]` holds how many examples and rollouts. The first wins.
    `[tool.tui-eval]` may name the `python` that it runs in, which is otherwise that of a `.venv`
    beside it. An environment that cannot be found brings nothing.
    """
    try:
        found = find_environment(env_id, environments_dir)
    except RefusedError:
        return {}, []
    path = pyproject_of(found)
    beside = _beside(found, path)
    if path is None:
        return beside, []
    file, faults = read_toml(_shown(path), f"the settings of {env_id}")
    if file is None:
        return beside, faults
    weaker, weaker_faults = _of_verifiers(file)
    python, python_faults = _python(file)
    stronger, stronger_faults = _own(file)
    settings = {**weaker, **beside, **python, **stronger}
    return settings, [*weaker_faults, *python_faults, *stronger_faults]


def _beside(found: FoundEnvironment, pyproject: Path | None) -> Settings:
    """The interpreter of the virtual environment beside an environment, where there is one."""
    if found.origin != "local" or found.path is None:
        return {}
    folders = [found.path.parent] if pyproject is None else [pyproject.parent, found.path.parent]
    for folder in folders:
        python = folder / VENV / "bin" / "python"
        if os.path.lexists(python) and not is_own_interpreter(python):
            return {"python": Setting(str(_shown(python)), str(_shown(folder / VENV)))}
    return {}


def own_folder(found: FoundEnvironment) -> Path:
    """The folder of the virtual environment that would be an environment's own, from here."""
    assert found.path is not None, "a project was found around it"
    pyproject = pyproject_of(found)
    return _shown((found.path if pyproject is None else pyproject).parent / VENV)


def _python(file: TomlFile) -> tuple[Settings, list[Fault]]:
    """The interpreter that the project of an environment names; its path is from there."""
    table, faults = _table(file, OWN[:2])
    if faults or "python" not in table:
        return {}, []  # the table is looked at again
    settings, faults = table_settings(file, OWN[:2], {"python": table["python"]})
    return _from_there(settings, file), faults


def _from_there(settings: Settings, file: TomlFile) -> Settings:
    """Settings of a file whose path of an interpreter begins where the file is."""
    python = settings.get("python")
    if python is None or not python.value:
        return settings
    if os.sep not in python.value and not os.path.lexists(file.path.parent / python.value):
        return settings  # a name on the PATH
    path = file.path.parent / Path(python.value).expanduser()
    return {**settings, "python": Setting(str(path), python.source)}


def own_version(env_id: str, environments_dir: Path) -> str | None:
    """The version that an environment's pyproject.toml says; None where none says one."""
    try:
        path = pyproject_of(find_environment(env_id, environments_dir))
    except RefusedError:
        return None
    version = project_of(path.parent).get("version") if path is not None else None
    return version if isinstance(version, str) else None


def _of_verifiers(file: TomlFile) -> tuple[Settings, list[Fault]]:
    table, faults = _table(file, VERIFIERS)
    table = {key: table[key] for key in _OF_VERIFIERS if key in table}
    settings, wrong = table_settings(file, VERIFIERS, table)
    return settings, faults + wrong


def _own(file: TomlFile) -> tuple[Settings, list[Fault]]:
    table, faults = _table(file, OWN)
    not_theirs = FILE_KEYS.keys() - _KNOWN.keys()
    theirs = {key: value for key, value in table.items() if key not in not_theirs}
    settings, wrong = table_settings(file, OWN, theirs, _KNOWN)
    for key in table.keys() - theirs.keys():
        what = f"an environment cannot set {key}"
        hint = "Who runs it says where things are sent and kept"
        faults.append(Fault(file.at(*OWN, key), what, hint))
    return _from_there(settings, file), faults + wrong


def _table(file: TomlFile, keys: tuple[str, ...]) -> tuple[dict[str, Any], list[Fault]]:
    table: Any = file.tables
    for number, key in enumerate(keys, 1):
        table = table.get(key, {})
        if not isinstance(table, dict):
            name = ".".join(keys[:number])
            return {}, [Fault(file.at(*keys[:number]), f"{name} is {table!r}, no table")]
    return table, []


def pyproject_of(found: FoundEnvironment) -> Path | None:
    """The pyproject.toml that belongs to an environment, and not to what stands around it."""
    name = found.module_name.rsplit(".", 1)[-1]
    for path, is_its_own in _places(found, name):
        if path.is_file() and (is_its_own or _project_name(path) == name.lower()):
            return path
    return None


def _places(found: FoundEnvironment, name: str) -> Iterator[tuple[Path, bool]]:
    """Paths to look at, and whether the folder is the environment's by its name alone."""
    if found.path is None:
        return
    folder = found.path.parent
    yield folder / "pyproject.toml", module_name_of(folder.name) == name
    around = folder.parent if folder.name != "src" else folder
    for outer in (around, around.parent):
        yield outer / "pyproject.toml", module_name_of(outer.name) == name


def _project_name(path: Path) -> str:
    name = project_of(path.parent).get("name")
    return module_name_of(name).lower() if isinstance(name, str) else ""


def _shown(path: Path) -> Path:
    """The path from here, where that is shorter."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
