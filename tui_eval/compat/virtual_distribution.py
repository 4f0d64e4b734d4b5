"""A distribution named verifiers, for code that reads its version."""

from __future__ import annotations

from importlib.metadata import Distribution
from os import PathLike
from pathlib import Path

import tui_eval


class VerifiersDistribution(Distribution):
    """The metadata of verifiers for `importlib.metadata`: its name, and our version."""

    def read_text(self, filename: str) -> str | None:
        """The text of METADATA; None for any other file."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: verifiers\nVersion: {tui_eval.__version__}\n"

    def locate_file(self, path: str | PathLike[str]) -> Path:
        """The path of a file of the distribution: beside our package."""
        return Path(tui_eval.__file__).parents[1] / path
