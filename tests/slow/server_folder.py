"""A folder for an MCP server, and what names it in its config, calls and results."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


def in_folder(part: Any, folder: Path) -> Any:
    """The same with the folder's path for `{folder}`."""
    if isinstance(part, str):
        return part.replace("{folder}", str(folder))
    if isinstance(part, list | tuple):
        return [in_folder(one, folder) for one in part]
    if isinstance(part, dict):
        return {name: in_folder(one, folder) for name, one in part.items()}
    return part


def new_folder(name: str) -> Path:
    """A folder with a repository and a file in it."""
    folder = Path(name).absolute()
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    (folder / "note.txt").write_text("a note\n")
    return folder


def without(folder: Path, found: list[Any]) -> list[Any]:
    """The same with `{folder}` for the folder's path and name."""
    text = json.dumps(found).replace(str(folder), "{folder}").replace(folder.name, "{folder}")
    cleaned: list[Any] = json.loads(text)
    return cleaned
