"""Variables for the run and for people's code: `.env` in the working directory, and keys."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tui_eval.errors import Notice, warning
from tui_eval.own_folders import home_folder

PRIME_KEY_VAR = "PRIME_API_KEY"


def load_env_file(path: Path = Path(".env")) -> list[Notice]:
    """Sets the variables of a file in this process's environment; those that are set stay.

    Returns:
        Warnings about what was left out; never a value.
    """
    from dotenv.main import resolve_variables
    from dotenv.parser import parse_stream

    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8-sig") as stream:
            bindings = list(parse_stream(stream))
    except (OSError, UnicodeDecodeError) as error:
        return [warning(f"{path} was not read: {type(error).__name__}")]
    left_out = [one.original.line for one in bindings if one.error]
    lines = {one.key: one.original.line for one in bindings if one.key is not None}
    given = [(one.key, one.value) for one in bindings if one.key is not None]
    for name, value in resolve_variables(given, override=False).items():
        try:
            if value is not None:
                os.environ.setdefault(name, value)
        except ValueError:  # a NUL
            left_out.append(lines[name])
    what = "this line is no NAME=VALUE and was left out"
    return [warning(f"{path}:{line}: {what}") for line in sorted(left_out)]


def has_key(name: str) -> bool:
    """Whether a variable is set, or Prime's own file has the key that it stands for."""
    if os.environ.get(name):
        return True
    if name != PRIME_KEY_VAR:
        return False
    try:
        settings = json.loads((home_folder() / ".prime" / "config.json").read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(settings, dict) and bool(settings.get("api_key"))
