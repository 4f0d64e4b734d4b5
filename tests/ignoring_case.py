"""A file system that ignores case and composition, as macOS has one: for names below a folder.

Put at the start of every Python process of a program. What is already there is meant by every name
that is the same but for those, as the system itself would do it; Python's own modules are left out.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import unicodedata
from typing import Any

BELOW = os.path.dirname(os.path.abspath(__file__)) + os.sep
ONE_PATH = ("stat", "lstat", "open", "mkdir", "listdir", "scandir", "unlink", "remove", "rmdir")
MORE = ("access", "chmod", "readlink", "truncate", "utime")
TWO_PATHS = ("rename", "replace", "link")

_listdir = os.listdir


def folded(name: str) -> str:
    """The same for all names of one file."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def as_it_is(path: Any) -> Any:
    """A path with the names of the entries that it means."""
    if isinstance(path, int):
        return path
    text = os.path.abspath(os.fsdecode(path))
    if not text.startswith(BELOW):
        return path
    found = BELOW.rstrip(os.sep)
    for name in text[len(BELOW) :].split(os.sep):
        try:
            same = (one for one in _listdir(found) if folded(one) == folded(name))
        except OSError:
            same = iter(())
        found = os.path.join(found, next(same, name))
    return found


def _meaning(function: Any, paths: int) -> Any:
    @functools.wraps(function)
    def meant(*args: Any, **options: Any) -> Any:
        if options.get("dir_fd") is None:
            args = (*map(as_it_is, args[:paths]), *args[paths:])
        return function(*args, **options)

    return meant


for names, count in ((ONE_PATH + MORE, 1), (TWO_PATHS, 2)):
    for one in names:
        setattr(os, one, _meaning(getattr(os, one), count))
builtins.open = io.open = _meaning(io.open, 1)
