"""The folders of the cache: each is filled under another name, and removed once nobody uses it.

A process that is killed while it fills one leaves that behind. Its lock on the folder ends with it,
so that the next process to fill one sees that nobody is at it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

KEPT_S = 90 * 24 * 3600.0
"""Seconds that an unused folder is kept."""
FILLED_WITHIN_S = 3600.0
"""Seconds after which a new folder without a lock, or that nobody can lock, is abandoned."""
_NEW = ".new-"
_LOCK = "lock"


@contextlib.contextmanager
def new_folder(root: Path) -> Iterator[Path]:
    """A folder to fill below the cache's, removed in the end with what is left in it.

    Raises:
        OSError: It cannot be made.
    """
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=_NEW, ignore_cleanup_errors=True) as new:
        fd = os.open(Path(new, _LOCK), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            with contextlib.suppress(OSError):  # some file systems lock nothing
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield Path(new)
        finally:
            os.close(fd)


def mark_used(folder: Path) -> None:
    """Marks a folder as used, so that it is kept."""
    with contextlib.suppress(OSError):  # of somebody else
        os.utime(folder)


def clean(root: Path) -> None:
    """Removes unused and abandoned folders; those that it may not remove stay."""
    with contextlib.suppress(OSError):
        for folder in [*root.iterdir()]:
            with contextlib.suppress(OSError):
                if folder.name.startswith(_NEW):
                    if _is_left(folder):
                        shutil.rmtree(folder)
                elif _age(folder) > KEPT_S:
                    _remove(root, folder)


def _remove(root: Path, folder: Path) -> None:
    """Renames a folder, then removes it: half of one would pass for a complete one."""
    with new_folder(root) as new:
        folder.rename(new / "old")


def _is_left(folder: Path) -> bool:
    """Whether the process that filled a new folder is gone."""
    try:
        fd = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:
        return _age(folder) > FILLED_WITHIN_S
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return _age(folder) > FILLED_WITHIN_S
    else:
        return True
    finally:
        os.close(fd)


def _age(folder: Path) -> float:
    return time.time() - folder.stat().st_mtime
