"""Writing files that people name: whole or not at all, and into what is no regular file.

A regular file is replaced by a new one once that is whole. A device or a pipe is no file that could
be replaced: renaming over it would take it away from everybody else. It is written into.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LONGEST = 200
"""Bytes of a name at most. File systems take 255, of which what stands around a name needs some."""

HASH = 8


_NO_NAME = re.compile(r"[^\w.-]+")


def plain_name(name: str) -> str:
    """A name without blanks and signs that mean something to a shell or a file system."""
    return _NO_NAME.sub("-", name)


def cut_name(name: str, most: int = LONGEST) -> str:
    """A name of so many bytes of UTF-8 at most: a longer one is cut, with its hash at the end."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= most:
        return name
    return f"{data[: most - HASH - 1].decode('utf-8', 'ignore')}-{_hash(name)}"


def distinct_name(name: str, folder: Path) -> str:
    """A name as it is; where some file system takes it for that of another entry, with a hash.

    macOS does so for names that differ in case or in how letters with accents are put together.
    """
    entries: list[str] = []
    with contextlib.suppress(OSError):
        entries = [one.name for one in folder.iterdir()]
    if name in entries or all(folded(name) != folded(one) for one in entries):
        return name
    return f"{cut_name(name, LONGEST - HASH - 1)}-{_hash(name)}"


def folded(name: str) -> str:
    """Key that is the same for all names that some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:HASH]


_OF_THE_SYSTEM = ("/dev", "/proc")
"""Folders of names that stand for something else: `/dev/stdout` for what stdout leads to."""


_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""Full flush of macOS, where `fsync` leaves the data in the drive's own cache."""
_CANNOT_FLUSH = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Errors of a file system that has no such call for regular files, as some of servers."""


def sync_to_disk(fd: int) -> None:
    """Flushes what is written to a file to the disk, so that it survives power loss.

    A file system without such a call flushes by itself.
    """
    if _FULL_SYNC is not None:
        with contextlib.suppress(OSError):  # file systems of servers and USB sticks have none of it
            fcntl.fcntl(fd, _FULL_SYNC)
            return
    try:
        getattr(os, "fdatasync", os.fsync)(fd)
    except OSError as error:
        if error.errno not in _CANNOT_FLUSH or not stat.S_ISREG(os.fstat(fd).st_mode):
            raise


def is_replaceable(path: Path) -> bool:
    """Whether a path is a regular file or nothing yet, so that a new file may take its place."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return True
    folder = path.parent.resolve()
    return stat.S_ISREG(mode) and not any(folder.is_relative_to(one) for one in _OF_THE_SYSTEM)


def temporary_path(path: Path, pid: int) -> Path:
    """Path at which a process writes a file until it is whole; beside the target of a link."""
    path = path.resolve()
    return path.with_name(f".{cut_name(path.name)}.{pid}.new")


def keep_mode(new: Path, old: Path) -> None:
    """Gives a file that is to replace another one its mode: somebody may have shared that.

    A file that replaces none is for its user alone: conversations are in it.
    """
    new.chmod(old.stat().st_mode & 0o777 if old.exists() else 0o600)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write: it is at its path when the block ends, and not before.

    What was there is replaced, and what may be done with it stays; of a link, what it points to. A
    device or a pipe is written into at once.
    """
    if not is_replaceable(path):
        with open(path, "wb") as file:
            yield file
        return
    temporary = temporary_path(path, os.getpid())
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            sync_to_disk(file.fileno())
        target = path.resolve()
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
