"""Takes away what Macs lack: put at the start of every Python process of a program.

Nothing of ours is patched: the system's modules have less, as they do there.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import resource
import select
import signal
import socket
import time
from typing import Any

LACKING = {
    os: (
        *("fdatasync", "pipe2", "memfd_create", "pidfd_open", "eventfd", "splice", "unshare"),
        *("posix_fadvise", "posix_fallocate", "copy_file_range", "getrandom", "getresuid"),
        *("sched_getaffinity", "sched_setaffinity", "sched_setscheduler", "sched_getscheduler"),
        *("getxattr", "setxattr", "listxattr", "removexattr", "O_PATH", "O_TMPFILE", "O_DIRECT"),
        *("O_LARGEFILE", "O_NOATIME", "timerfd_create", "setns"),
    ),
    select: ("epoll",),
    signal: ("sigtimedwait", "sigwaitinfo", "pidfd_send_signal", "SIGPOLL", "SIGPWR", "SIGRTMIN"),
    socket: (
        *("SO_PEERCRED", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "TCP_KEEPIDLE", "TCP_USER_TIMEOUT"),
        *("TCP_QUICKACK", "TCP_CORK", "SO_BINDTODEVICE", "SO_DOMAIN", "SO_PROTOCOL"),
    ),
    resource: ("prlimit", "RUSAGE_THREAD"),
    time: ("CLOCK_BOOTTIME", "CLOCK_TAI"),
}
MOST_OF_SOCKET_PATH = 104


def _refuses_proc(function: Any) -> Any:
    def without(path: Any, *args: Any, **options: Any) -> Any:
        named = not isinstance(path, int) and os.fspath(path)
        if named and os.fsdecode(named).startswith("/proc"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return function(path, *args, **options)

    return without


class _Socket(socket.socket):
    def bind(self, address: Any) -> None:
        _check(self, address)
        super().bind(address)

    def connect(self, address: Any) -> None:
        _check(self, address)
        super().connect(address)


def _check(sock: socket.socket, address: Any) -> None:
    if sock.family == socket.AF_UNIX and len(os.fsencode(address)) >= MOST_OF_SOCKET_PATH:
        raise OSError("AF_UNIX path too long")


class _Poll:
    """Knows no terminal, of which every question is answered at once by POLLNVAL.

    Of others it tells what it is asked for and nothing else, not even their end; where there is
    something to read and it is asked for the end, it comes back with nothing.
    """

    def __init__(self) -> None:
        self._poll = _poll()
        self._requested: dict[int, int] = {}

    def register(
        self, fd: Any, events: int = select.POLLIN | select.POLLPRI | select.POLLOUT
    ) -> None:
        number = fd if isinstance(fd, int) else fd.fileno()
        self._requested[number] = events
        if events and not os.isatty(number):
            reads = events & (select.POLLIN | select.POLLPRI | select.POLLHUP)
            self._poll.register(number, events | (select.POLLIN if reads else 0))

    def unregister(self, fd: int) -> None:
        if self._requested.pop(fd) and not os.isatty(fd):
            self._poll.unregister(fd)

    def modify(self, fd: int, events: int) -> None:
        self.unregister(fd)
        self.register(fd, events)

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        found = [(fd, select.POLLNVAL) for fd in self._requested if os.isatty(fd)]
        for fd, reported in self._poll.poll(0 if found else timeout):
            received = reported & (self._requested[fd] | select.POLLHUP | select.POLLERR)
            found += [(fd, received)] if received else []
        return found


def take_away() -> None:
    """Does so in this process."""
    for module, names in LACKING.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    builtins.open = io.open = _refuses_proc(io.open)
    for name in ("open", "stat", "lstat", "listdir", "scandir", "readlink"):
        setattr(os, name, _refuses_proc(getattr(os, name)))
    fcntl.F_FULLFSYNC = 51  # as on a file system that has none of it
    select.poll = _Poll  # type: ignore[assignment, misc]
    socket.socket = _Socket  # type: ignore[misc]


_poll = select.poll
take_away()
