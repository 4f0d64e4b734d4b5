"""TOML files with the lines at which their keys stand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from tui_eval.errors import Fault

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys from the top down; in an array of tables the number of the table, from 0."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*("(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]'
    r"|[^\[\]{}\n\"'#]+",
    re.DOTALL,
)


class TomlFile(msgspec.Struct, frozen=True):
    """Content of a TOML file, with lines.

    Args:
        lines: The line of every key and table, from 1.
    """

    path: Path
    tables: dict[str, Any]
    lines: dict[KeyPath, int]

    def at(self, *keys: str | int) -> str:
        """`file:line` of a key, or of the nearest table around it."""
        for most in range(len(keys), 0, -1):
            line = self.lines.get(keys[:most])
            if line is not None:
                return f"{self.path}:{line}"
        return f"{self.path}"


def read_toml(
    path: Path, what: str, text: str | None = None
) -> tuple[TomlFile | None, list[Fault]]:
    """Reads a TOML file.

    Args:
        what: Name of the file in the fault: `the registry`.
        text: Stands in place of what the file holds.
    """
    try:
        text = path.read_text("utf-8-sig") if text is None else text
    except OSError as error:
        return None, [Fault(str(path), f"{what} cannot be read: {error.strerror}")]
    except UnicodeDecodeError as error:
        return None, [Fault(str(path), f"this is no TOML: {error}")]
    except ValueError as error:  # a NUL in its name
        return None, [Fault(str(path), f"{what} cannot be read: {error}")]
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        named = re.search(r"at line (\d+)", str(error))
        line = int(named.group(1)) if named else text.count("\n") + 1
        return None, [Fault(f"{path}:{line}", f"this is no TOML: {error}")]
    except RecursionError:
        return None, [Fault(str(path), "this is no TOML that can be read: nested too deep")]
    return TomlFile(path, tables, lines_of(text)), []


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of every key and table of a valid TOML document.

    Keys inside of inline tables are not distinguished; the table's own line stands for them.
    """
    found: dict[KeyPath, int] = {}
    arrays: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, brackets, keys in _statements(text):
        if brackets == 0:
            _note(found, (*table, *keys), line)
            continue
        table = ()
        for number, key in enumerate(keys, 1):
            table = (*table, key)
            if brackets == 2 and number == len(keys):
                arrays[table] = arrays.get(table, -1) + 1
                found.setdefault(table, line)
            if table in arrays:
                table = (*table, arrays[table])
        _note(found, table, line)
    return found


def _note(found: dict[KeyPath, int], keys: KeyPath, line: int) -> None:
    for most in range(1, len(keys) + 1):
        found.setdefault(keys[:most], line)


def _statements(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """(line, brackets of a header or 0, key in parts) of every header and every `key = value`."""
    at, line, counted = 0, 1, 0
    while True:
        if blank := _BLANK.match(text, at):
            at = blank.end()
        if at >= len(text):
            return
        line += text.count("\n", counted, at)
        counted = at
        brackets = 2 if text.startswith("[[", at) else int(text[at] == "[")
        at += brackets
        keys: list[str] = []
        while match := _KEY.match(text, at):
            keys.append(_plain_key(match.group(1)))
            at = match.end()
            if not match.group(2):
                break
        yield line, brackets, keys
        at = _after_value(text, at + brackets)


def _after_value(text: str, at: int) -> int:
    """End of the line on which a value ends."""
    depth = 0
    while match := _PIECE.match(text, at):
        at = match.end()
        piece = match.group()
        if piece == "\n" and depth <= 0:
            return at
        depth += (piece in ("[", "{")) - (piece in ("]", "}"))
    return len(text)


def _plain_key(key: str) -> str:
    if key[0] == "'":
        return key[1:-1]
    if key[0] != '"':
        return key
    (name,) = tomllib.loads(f"{key} = 0") if "\\" in key else (key[1:-1],)
    return str(name)
