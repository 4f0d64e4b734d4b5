"""Folders that are this user's alone, on machines with and without a home, and paths with `~`.

A container's user often has no passwd entry, and a job of a cluster no `XDG_RUNTIME_DIR`; on a
machine of several users anybody may have made a folder of the expected name in `/tmp` before. So
a folder is used only once it is seen to belong to this user and to be closed to all others.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

NOWHERE = Path(os.devnull)
"""The home where there is none: nothing is found below, and nothing can be written."""


def home_folder() -> Path:
    """The user's home; this user's temporary folder where no variable and no entry names one."""
    home = typed_path("~")
    if home.is_absolute():
        return home
    try:
        return temporary_folder()
    except OSError:
        return NOWHERE


def typed_path(text: str) -> Path:
    """A path that somebody typed: `~` is a home folder, where there is such a one."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  that of pathlib raises where there is none


def shown_path(path: Path) -> str:
    """A path with `~` for the home folder."""
    text, home = str(path), str(typed_path("~"))
    return "~" + text[len(home) :] if text == home or text.startswith(home + os.sep) else text


def temporary_folder() -> Path:
    """A private folder in `/tmp`, or where `TMPDIR` says if that cannot be written.

    `/tmp` comes first: processes of one user find each other there whatever their `TMPDIR` is.

    Raises:
        OSError: There is none; the text names the variable to set.
    """
    why: list[str] = []
    for named in dict.fromkeys(("/tmp", os.environ.get("TMPDIR", ""))):
        folder = Path(named, f"tui-eval-{os.getuid()}")
        if folder.is_absolute():
            try:
                return private_folder(folder)
            except OSError as error:
                why.append(f"{folder}: {error.strerror}" if error.strerror else str(error))
    hint = "set TMPDIR or XDG_RUNTIME_DIR to a folder that you can write to"
    raise OSError(f"there is no folder for temporary files ({'; '.join(why)}): {hint}")


def private_folder(folder: Path) -> Path:
    """Makes a folder that only this user can look into, or makes sure that it is one.

    Raises:
        OSError: It cannot be made or written, or belongs to somebody else.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
        raise PermissionError(f"{folder} belongs to somebody else, or is a link")
    if status.st_mode & 0o077:
        folder.chmod(0o700)
    by_rights = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK, effective_ids=by_rights):
        raise PermissionError(f"{folder} cannot be written")
    return folder
