"""The Python files below a folder, without virtual environments that stand in it."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path


def source_files(folder: Path, left_out: Collection[str]) -> list[Path]:
    """The Python files in a folder and below, sorted; hidden ones are left out.

    Args:
        left_out: Names of folders that have no source.
    """
    found: list[Path] = []
    for inner, below, names in os.walk(folder):
        here = Path(inner)
        below[:] = [
            name
            for name in below
            if name not in left_out and name[0] != "." and not is_virtual_environment(here / name)
        ]
        found += [here / name for name in names if name.endswith(".py") and name[0] != "."]
    return sorted(found)


def is_virtual_environment(folder: Path) -> bool:
    """Whether a folder is a virtual environment: what is in it was installed."""
    return (folder / "pyvenv.cfg").is_file()
