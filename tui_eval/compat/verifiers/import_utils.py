"""`verifiers.utils.import_utils`: TOML from an open file."""

from __future__ import annotations

import tomllib
from typing import Any, BinaryIO


def load_toml(file_obj: BinaryIO) -> dict[str, Any]:
    """The table of a TOML file that is open in binary mode."""
    return tomllib.load(file_obj)
