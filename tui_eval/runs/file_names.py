"""Names of files and folders that file systems take, made from names of any length."""

from __future__ import annotations

import hashlib

LONGEST = 200
"""Bytes of a name at most. File systems take 255, of which what stands around a name needs some."""

HASH = 8


def cut_name(name: str, most: int = LONGEST) -> str:
    """A name as it is; one that is too long is cut, with a hash of all of it at its end.

    Args:
        most: Bytes of UTF-8 at most.
    """
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= most:
        return name
    whole = hashlib.sha256(data).hexdigest()[:HASH]
    return f"{data[: most - HASH - 1].decode('utf-8', 'ignore')}-{whole}"
