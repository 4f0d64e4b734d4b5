"""Settings of people, in `~/.config/tui-eval/config.toml`: read, and written."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.errors import Fault, nearest
from tui_eval.fold.query.fields import FIELDS, METRIC
from tui_eval.own_folders import home_folder

if TYPE_CHECKING:
    from tui_eval.config.toml_files import TomlFile


THEMES = ("dark", "light", "terminal")
MOTIONS = ("full", "reduced")
COLUMNS = ("bar", "group", "turns", "calls", "tokens", "input", "output", "attempt", "time",
           "finish", "class", "model", "stop", "tool", "failed_tool", "question",
           "answer")  # fmt: skip
"""Columns of the list of rollouts that can be shown or left out, besides `metrics.NAME`."""
SORTABLE = tuple(name for name in FIELDS if name != "text")


class UserSettings(NamedTuple):
    """Settings of a file, with defaults for the rest.

    Args:
        theme: One of `THEMES`; empty for what suits the terminal.
        motion: One of `MOTIONS`.
        keys: Keys as they were written, by the ids of their commands.
        columns: Columns of the list of rollouts, in their order; None for the usual ones.
        sort: The field that the list is sorted by; empty for the order of the run.
        descending: Whether it is sorted from the greatest down: `sort = "-reward"`.
        grouped: Whether the rollouts of an example stay together.
    """

    theme: str = ""
    motion: str = "full"
    keys: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    columns: tuple[str, ...] | None = None
    sort: str = ""
    descending: bool = False
    grouped: bool = True


def user_file() -> Path:
    """Path of the settings: `TUI_EVAL_CONFIG` names another file."""
    if named := os.environ.get("TUI_EVAL_CONFIG"):
        return Path(named)
    home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    folder = home if home.is_absolute() else home_folder() / ".config"
    return folder / "tui-eval" / "config.toml"


def read_user_settings(path: Path) -> tuple[UserSettings, TomlFile | None, list[Fault]]:
    """The settings of a file, and all that is wrong with them; what is wrong stays as is usual.

    Keys are only looked at as far as they are text: which commands there are the screen knows. A
    file that does not exist sets nothing.
    """
    if not os.path.lexists(path):
        return UserSettings(), None, []
    from tui_eval.config.toml_files import read_toml  # which nobody needs without such a file

    file, faults = read_toml(path, "the settings")
    if file is None:
        return UserSettings(), None, faults
    reading = _Reading(file, faults)
    return reading.settings(), file, faults


def place_of_key(file: TomlFile | None, command: str) -> str:
    """Place of the keys of a command: as `list.sort` or as `"list.sort"`."""
    if file is None:
        return f"keys.{command}"
    parts = ("keys", *command.split("."))
    return file.at(*parts) if parts in file.lines else file.at("keys", command)


class _Reading:
    """Takes the values out of a file, and notes what is wrong."""

    def __init__(self, file: TomlFile, faults: list[Fault]) -> None:
        self._file = file
        self._faults = faults

    def settings(self) -> UserSettings:
        """All of it."""
        tables = self._file.tables
        self._known((), tables, ("theme", "motion", "keys", "rollouts"))
        rollouts = self._table("rollouts")
        self._known(("rollouts",), rollouts, ("columns", "sort", "grouped"))
        sort = self._value(("rollouts", "sort"), "", self._sort)
        return UserSettings(
            theme=self._value(("theme",), "", lambda value: self._one_of(value, THEMES)),
            motion=self._value(("motion",), "full", lambda value: self._one_of(value, MOTIONS)),
            keys=self._keys(),
            columns=self._value(("rollouts", "columns"), None, self._columns),
            sort=sort.removeprefix("-"),
            descending=sort.startswith("-"),
            grouped=self._value(("rollouts", "grouped"), True, self._truth),
        )

    def _fault(self, keys: tuple[str, ...], what: str, hint: str = "") -> None:
        self._faults.append(Fault(self._file.at(*keys), f"{'.'.join(keys)}: {what}", hint))

    def _known(
        self, above: tuple[str, ...], table: Mapping[str, Any], known: tuple[str, ...]
    ) -> None:
        for key in table:
            if key not in known:
                hint = nearest(key, known) or f"There are: {', '.join(known)}"
                self._fault((*above, key), "there is no such setting", hint)

    def _table(self, name: str) -> Mapping[str, Any]:
        found = self._file.tables.get(name, {})
        if isinstance(found, dict):
            return found
        self._fault((name,), f"{found!r} is no table", f"Write [{name}]")
        return {}

    def _value(self, keys: tuple[str, ...], usual: Any, check: Callable[[Any], Any]) -> Any:
        """Value at a key, or the default where there is nothing or a wrong value."""
        table: Any = self._file.tables
        for key in keys[:-1]:
            table = table.get(key)
        if not isinstance(table, dict) or keys[-1] not in table:
            return usual
        try:
            return check(table[keys[-1]])
        except _WrongError as error:
            self._fault(keys, error.what, error.hint)
            return usual

    def _keys(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        self._collect(("keys",), self._table("keys"), found)
        return found

    def _collect(
        self, above: tuple[str, ...], table: Mapping[str, Any], found: dict[str, tuple[str, ...]]
    ) -> None:
        for name, value in table.items():
            path = (*above, name)
            if isinstance(value, dict):
                self._collect(path, value, found)
                continue
            keys = value if isinstance(value, list) else [value]
            if keys and all(isinstance(key, str) for key in keys):
                found[".".join(path[1:])] = tuple(keys)
            else:
                self._fault(path, f"{value!r} is no key", 'Write "x" or ["x", "ctrl+x"]')

    @staticmethod
    def _one_of(value: Any, choices: tuple[str, ...]) -> str:
        if value in choices and isinstance(value, str):
            return value
        close = nearest(value, choices) if isinstance(value, str) else ""
        raise _WrongError(f"{value!r} is none of {', '.join(choices)}", close)

    @staticmethod
    def _truth(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        raise _WrongError(f"{value!r} is neither true nor false")

    @staticmethod
    def _columns(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise _WrongError(f"{value!r} is no list of names", 'Write ["time", "turns"]')
        wrong = [name for name in value if name not in COLUMNS and not _is_metric(name)]
        if wrong:
            what = f"there is no column {' nor '.join(map(repr, wrong))}"
            raise _WrongError(what, nearest(wrong[0], COLUMNS) or f"There are: {_names(COLUMNS)}")
        return tuple(dict.fromkeys(value))

    @staticmethod
    def _sort(value: Any) -> str:
        if not isinstance(value, str):
            raise _WrongError(f"{value!r} is no name of a field", 'Write "reward" or "-reward"')
        name = value.removeprefix("-")
        if name in SORTABLE or _is_metric(name) or not value:
            return value
        hint = nearest(name, SORTABLE) or f"There are: {_names(SORTABLE)}"
        raise _WrongError(f"there is no field {name!r} to sort by", hint)


class _WrongError(Exception):
    """A value that a setting cannot have."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.hint = what, hint


def _is_metric(name: str) -> bool:
    return name.startswith(METRIC) and len(name) > len(METRIC)


def _names(names: tuple[str, ...]) -> str:
    return f"{', '.join(names)}, {METRIC}NAME"


def save_settings(path: Path, changes: Mapping[tuple[str, ...], Any]) -> None:
    """Changes settings in a file: comments, order and what others wrote meanwhile stay.

    Args:
        path: Made where it does not exist; where it is a link, what it points to is changed.
        changes: Values by their keys from the top down; None takes one away.

    Raises:
        OSError: The file cannot be written.
        ValueError: It is no TOML, or has a value where a table belongs.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone_in(path.parent):
        before = path.read_text("utf-8-sig") if path.exists() else ""
        try:
            document = tomlkit.parse(before)
            for keys, value in changes.items():
                _put(document, keys, value)
            after = tomlkit.dumps(document)
        except TOMLKitError as error:
            raise ValueError(f"{path} is no TOML: {error}") from None
        if after != before:
            replace_text(path, after)


def replace_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all; what may be done with it stays.

    Args:
        path: Where it is a link, what it points to is written; a device or a pipe is written into.

    Raises:
        OSError: It cannot be written.
        ValueError: The text cannot be encoded.
    """
    from tui_eval.runs.file_writing import new_file

    data = text.encode()
    with new_file(path) as file:
        file.write(data)


def _put(document: Any, keys: tuple[str, ...], value: Any) -> None:
    import tomlkit

    table = document
    for key in keys[:-1]:
        if key not in table:
            if value is None:
                return
            table[key] = tomlkit.table()
        table = table[key]
        if not isinstance(table, dict):
            raise ValueError(f"{key} is no table")
    if value is not None:
        table[keys[-1]] = list(value) if isinstance(value, tuple) else value
    elif keys[-1] in table:
        del table[keys[-1]]


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Holds the folder, so that no other program changes the file between reading and writing."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # NFS locks no folder, others nothing
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
