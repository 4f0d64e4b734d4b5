"""Open files of this process: its limit, and errors that come of running out of them.

Every connection is an open file. Systems begin with a low limit (256 on macOS, 1,024 on Linux) that
a process may raise itself. Where even that is too low, running out is no fault of a rollout: what
met it waits until others have closed theirs, and is tried again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Iterator

OUT_OF_FILES = frozenset((errno.EMFILE, errno.ENFILE))
MOST = 1 << 16
"""No process gets more: programs of others close every number up to the limit when they start."""
_OF_MACOS = 10_240
"""The limit that macOS grants where it calls its hard limit unlimited."""
RESERVED = 64
"""Files of an engine that are no rollout's: its log, results, sockets, modules that it loads."""
REASON = "too many files are open (see `ulimit -n`)"

_spare: list[int] = []


def raise_limit() -> None:
    """Raises the soft limit of open files to the hard one, at most to `MOST`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return
    most = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    for wanted in (most, min(most, _OF_MACOS)):
        if wanted <= soft:
            return
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return


def file_limit() -> int:
    """The number of files that this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else soft


def room_for_rollouts() -> int:
    """The number of rollouts that may be in flight where each has one connection."""
    limit = file_limit()
    return max(limit - RESERVED, limit // 4, 1)


def is_out_of_files(error: object) -> bool:
    """Whether an exception, or one that it came from, says that no more files can be opened.

    A name that cannot be looked up says so, too, where none can be opened at this moment: the
    system's resolver hides why.
    """
    from socket import gaierror  # loaded where there is an error only

    for link in _links(error):
        if isinstance(link, gaierror):
            if not _has_one_free():
                return True
        elif isinstance(link, OSError) and link.errno in OUT_OF_FILES:
            return True
    return False


def _links(error: object) -> Iterator[BaseException]:
    waiting, seen = [error], set()
    while waiting:
        link = waiting.pop()
        if not isinstance(link, BaseException) or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting += [link.__cause__, link.__context__, getattr(link, "os_error", None)]
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions


def _has_one_free() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    return True


def keep_spare() -> None:
    """Keeps one file in reserve for what must be written although no more can be opened."""
    if not _spare:
        with contextlib.suppress(OSError):
            _spare.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


def release_spare() -> None:
    """Releases the file in reserve."""
    if _spare:
        os.close(_spare.pop())


def open_surely(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Opens a file, in place of the spare one where there is no other.

    Raises:
        OSError: It cannot be opened.
    """
    try:
        return os.open(path, flags | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno not in OUT_OF_FILES or not _spare:
            raise
    release_spare()
    return os.open(path, flags | os.O_CLOEXEC, mode)
