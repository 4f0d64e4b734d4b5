"""Reading engine.log piece by piece, while it grows."""

from __future__ import annotations

import os
from pathlib import Path


def read_log(path: Path, at: int, most: int) -> tuple[bytes, int]:
    """At most so many bytes from a place on, and the size of all; nothing where it is not there."""
    try:
        with path.open("rb") as file:
            file.seek(at)
            return file.read(most), os.fstat(file.fileno()).st_size
    except OSError:
        return b"", 0
