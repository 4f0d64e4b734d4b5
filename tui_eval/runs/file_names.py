"""Names of files and folders that file systems take, made from names of any length."""

from __future__ import annotations

import contextlib
import hashlib
import re
import unicodedata
from pathlib import Path

LONGEST = 200
"""Bytes of a name at most. File systems take 255, of which what stands around a name needs some."""

HASH = 8
_NO_NAME = re.compile(r"[^\w.-]+")


def plain_name(name: str) -> str:
    """A name without blanks and signs that mean something to a shell or a file system."""
    return _NO_NAME.sub("-", name)


def cut_name(name: str, most: int = LONGEST) -> str:
    """A name as it is; one that is too long is cut, with a hash of all of it at its end.

    Args:
        most: Bytes of UTF-8 at most.
    """
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= most:
        return name
    return f"{data[: most - HASH - 1].decode('utf-8', 'ignore')}-{_hash(name)}"


def distinct_name(name: str, folder: Path) -> str:
    """A name as it is; where it is that of another entry on some file system, with a hash.

    macOS takes names for the same that differ in case or in how letters with accents are put
    together.

    Args:
        folder: Where its entry is or will be.
    """
    entries: list[str] = []
    with contextlib.suppress(OSError):
        entries = [one.name for one in folder.iterdir()]
    if name in entries or all(folded(name) != folded(one) for one in entries):
        return name
    return f"{cut_name(name, LONGEST - HASH - 1)}-{_hash(name)}"


def folded(name: str) -> str:
    """What is the same for all names that some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:HASH]
