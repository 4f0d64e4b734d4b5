"""The process that has the program loaded, and becomes what `preloaded` asks it for."""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

from preloaded import CLONE, Start, may_differ, preload, receive_start

LOADED = (
    "argparse",
    "tui_eval.cli",
    "tui_eval.config.user_settings",
    "tui_eval.engine.process",
    "tui_eval.engine.suite.suite",
    "tui_eval.worker",
    "tui_eval.clients.endpoint",
    "tui_eval.clients.openai_chat_completions",
    "tui_eval.parsers.xml_parser",
    "tui_eval.demo",
    "tui_eval.feeds",
    "tui_eval.tui",
    "tui_eval.runs.notes",
    "tui_eval.stats.quantiles",
    "aiohttp.web",
    "anyio._backends._asyncio",
    "dotenv.main",
    "encodings.idna",
    "httpcore2",
    "httpx2",
    "numpy",
    "openai.types",
    "pygments.lexers",
    "textual.drivers.linux_driver",
    "textual.layouts.factory",
    "tomlkit",
)
WHOLE = tuple(f"tui_eval.{name}" for name in ("cli", "demo", "feeds", "tui", "worker"))
"""Of these everything in them, too."""
STARTING = ("tui_eval", "tui_eval.engine")
"""Functions that start other processes of the program."""

_CLONE_PARENT, _PR_GET_TID_ADDRESS = 0x8000, 40
_HIGH = 200
"""Descriptors from here on are ours, and those of the program are below."""

_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""What is sent to a group of processes does not reach those that are not begun."""


class _Leaving:
    """Ends a process once all is done that Python does at its end but taking down every module.

    That would write to most of the memory which a fork shares with the others.
    """

    def __init__(self) -> None:
        self.code: object = self
        atexit.register(self._end)  # the first, so it is done last

    def _end(self) -> None:
        if self.code is None or isinstance(self.code, int):
            gc.collect()
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit((self.code or 0) & 0xFF)


def _high(one: socket.socket) -> socket.socket:
    with one:
        return socket.socket(fileno=fcntl.fcntl(one.fileno(), fcntl.F_DUPFD_CLOEXEC, _HIGH))


def _become(start: Start, fds: list[int]) -> None:
    """Takes over what a process begins with, but for the modules."""
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH) for fd in fds]
    os.closerange(0, _HIGH)
    for number, fd in zip(start.numbers, high, strict=False):
        os.dup2(fd, number)
    for fd in high:
        os.close(fd)
    os.environ.clear()
    os.environ.update(start.env)
    time.tzset()
    os.chdir(start.cwd)
    sys.argv[1:] = start.words[1:]
    sys.orig_argv[1:] = ["-m", *start.words]
    sys.path[0] = os.getcwd()
    _show([sys.executable, "-m", *start.words], [f"{key}={it}" for key, it in start.env.items()])


def _show(*shown: list[str]) -> None:
    """Has `/proc` say of this process what its arguments and its variables are."""
    with open("/proc/self/stat") as status, open("/proc/self/mem", "r+b", 0) as memory:
        places = [int(place) for place in status.read().rpartition(")")[2].split()[45:49]]
        for begin, end, strings in zip(places[::2], places[1::2], shown, strict=True):
            written = b"".join(os.fsencode(one) + b"\0" for one in strings)
            assert len(written) <= end - begin, "more arguments or variables than there is room for"
            memory.seek(begin)
            memory.write(written.ljust(end - begin, b"\0"))


def _fork_sibling() -> int:
    """Forks into a child of this process's parent, which may wait for it as for any of its own."""
    python, c = ctypes.pythonapi, ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    pid: int = c.syscall(CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid:
        python.PyOS_AfterFork_Parent()
        return pid
    thread_id = ctypes.POINTER(ctypes.c_int)()
    if c.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(thread_id)) == 0 and thread_id:
        thread_id.contents.value = os.getpid()  # as C's own `fork` notes it
    python.PyOS_AfterFork_Child()
    return 0


def _begin(start: Start, fds: list[int]) -> str:
    """Becomes the requested module, with what forks for it; returns the module to run."""
    reply = _high(socket.socket(fileno=fds.pop()))
    if start.new_session:
        os.setsid()
    if start.words[0] in STARTING:
        to, by = (_high(one) for one in socket.socketpair(type=socket.SOCK_SEQPACKET))
        pid = os.fork()
        if not pid:
            to.close()
            reply.close()
            os.closerange(0, _HIGH)
            for number in _ENDING:
                signal.signal(number, signal.SIG_IGN)
            return _serve(by)
        by.close()
        atexit.register(_end, to, pid)
        preload(lambda: to, lambda _: True)
    _become(start, fds)
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with reply:
        reply.send(str(os.getpid()).encode())
    return start.words[0]


def _end(server: socket.socket, pid: int) -> None:
    server.close()
    os.waitpid(pid, 0)


def _serve(control: socket.socket, ends_all: bool = False) -> str:
    """Forks for each requested process; returns in what was forked.

    Args:
        ends_all: What still runs is ended when nobody can ask any more.
    """
    running: set[int] = set()
    while received := receive_start(control):
        pid = _fork_sibling()
        if not pid:
            control.close()
            return _begin(*received)
        for fd in received[1]:
            os.close(fd)
        if ends_all:
            ended = select.select(running, [], [], 0)[0]
            for fd in ended:
                os.close(fd)
            running.difference_update(ended)
            with suppress(ProcessLookupError):
                running.add(os.pidfd_open(pid))
    for fd in running:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
    os._exit(0)


def _modules() -> Iterator[str]:
    yield from LOADED
    for name in WHOLE:
        package = importlib.import_module(name)
        yield from (one.name for one in pkgutil.walk_packages(package.__path__, f"{name}."))


def _load() -> None:
    read: set[str] = set()
    encode = os.environ.encodekey
    os.environ.encodekey = lambda key: read.add(key) or encode(key)  # type: ignore[func-returns-value]
    for name in _modules():
        if not name.endswith(".__main__"):
            importlib.import_module(name)
    os.environ.encodekey = encode
    wrong = [name for name in read if may_differ(name)]
    assert not wrong, f"read while modules are loaded, so they may not differ: {wrong}"
    tasks = os.listdir("/proc/self/task")
    assert len(tasks) == 1, "a module that is loaded starts a thread: it would be missing in a fork"
    gc.collect()
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    leaving = _Leaving()
    _load()
    module = _serve(socket.socket(fileno=int(sys.argv[1])), ends_all=True)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        leaving.code = 0
    except SystemExit as error:
        leaving.code = error.code
        raise
