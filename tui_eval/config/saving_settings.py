"""Writes people's own files: single settings, and the rest as it is; or all of a file."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def save_settings(path: Path, changes: Mapping[tuple[str, ...], Any]) -> None:
    """Changes settings in a file: comments, order and what others wrote meanwhile stay.

    Args:
        path: Made where it does not exist; where it is a link, what it points to is changed.
        changes: Values by their keys from the top down; None takes one away.

    Raises:
        OSError: The file cannot be written.
        ValueError: What it holds is no TOML, or has a value where a table belongs.
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
