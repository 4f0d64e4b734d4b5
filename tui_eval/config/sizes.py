"""Sizes as people write them: `512MB`, `1.5 GiB`."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B", re.IGNORECASE)


def parse_size(text: str) -> int:
    """The bytes that a text says: `MB` is 1000 kB, `MiB` 1024 KiB.

    Raises:
        ValueError: It says none, or nothing at all.
    """
    match = _SIZE.fullmatch(text.strip())
    power = " KMGT".index((match[2] or " ").upper()) if match else 0
    size = int(float(match[1]) * (1024 if match[3] else 1000) ** power) if match else 0
    if not size:
        raise ValueError(f"{text!r} is no size; expected as in 512MB or 2GB")
    return size
