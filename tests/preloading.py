"""The process that has the program loaded, and becomes what `preloaded` asks it for."""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from preloaded import PARAMETERS, Start, execute, may_differ, receive_start, send_start

LOADED = (
    "argparse",
    "tui_eval.cli",
    "tui_eval.config.user_settings",
    "tui_eval.engine.process",
    "tui_eval.engine.suite.suite",
    "tui_eval.worker.logging.inherited_context",
    "tui_eval.clients.endpoint",
    "tui_eval.clients.openai_chat",
    "tui_eval.parsers.xml_parser",
    "tui_eval.demo",
    "tui_eval.feeds",
    "tui_eval.tui",
    "tui_eval.runs.notes",
    "tui_eval.stats.shape",
    "aiohttp.web",
    "dotenv.main",
    "httpx2",
    "numpy",
    "pygments.lexers",
    "textual.drivers.linux_driver",
    "textual.layouts.factory",
    "tomlkit",
)
WHOLE = ("tui_eval.cli", "tui_eval.demo", "tui_eval.feeds", "tui_eval.tui")
"""Of these everything in them, too."""
STARTS = {"tui_eval": "tui_eval.engine", "tui_eval.engine": "tui_eval.demo.endpoint"}
"""The module that each starts as another process: the first of these is there in advance."""

_HIGH = 200
"""Descriptors from here on are ours, and those of the program are below."""

_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""What is sent to a group of processes does not reach those that are not begun."""


class _Waiting:
    """A process that becomes the first of `module` which this one starts."""

    def __init__(self, pid: int, to: socket.socket, module: str) -> None:
        self._pid = pid
        self._to: socket.socket | None = to
        self._begins = [sys.executable, "-m", module]
        atexit.register(self._end)
        subprocess.Popen._execute_child = (  # type: ignore[attr-defined]
            lambda popen, *given: self._execute(popen, *given)
        )

    def _execute(self, popen: Any, *given: Any) -> None:
        """In place of `Popen._execute_child`."""
        words = PARAMETERS.bind(popen, *given).arguments["args"]
        if self._to is None or list(words[:3]) != self._begins:
            execute(popen, *given)
            return
        with self._to as waiting:
            self._to = None
            send_start(waiting, popen, given)
            if not waiting.recv(1):
                raise RuntimeError(f"{self._begins[-1]} could not begin")
        popen.pid = self._pid
        popen._child_created = True

    def _end(self) -> None:
        if self._to is not None:
            self._to.close()
            os.waitpid(self._pid, 0)


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
    if start.new_session:
        os.setsid()
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


def _await_start(by: socket.socket) -> tuple[Start, list[int]]:
    """Waits, as what is not begun, until it is to begin; ends when nobody can ask for it."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, _HIGH)
    received = receive_start(by)
    if received is None:
        os._exit(0)
    return received


def _begin(start: Start, fds: list[int]) -> str:
    """Becomes what is asked for, with what it will start waiting; returns the module to run."""
    asking = None
    while module := STARTS.get(start.words[0]):
        to, by = (_high(one) for one in socket.socketpair(type=socket.SOCK_SEQPACKET))
        pid = os.fork()
        if pid:
            by.close()
            _Waiting(pid, to, module)
            break
        to.close()
        if asking is not None:
            asking.close()
        asking = by
        start, fds = _await_start(by)
    _become(start, fds)
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asking is not None:
        with asking:
            asking.send(b"1")
    return start.words[0]


def _serve(control: socket.socket) -> str:
    """Forks for each run that is asked for; returns in what was forked."""
    running: dict[int, tuple[int, socket.socket]] = {}
    events = select.poll()
    events.register(control, select.POLLIN)
    while True:
        for fd, _ in events.poll():
            if fd in running:
                pid, reply = running.pop(fd)
                events.unregister(fd)
                os.close(fd)
                with reply:
                    _send_number(reply, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                continue
            received = receive_start(control)
            if received is None:
                for pid, _ in running.values():
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            start, fds = received
            pid = os.fork()
            if not pid:
                for one in (control, *(reply for _, reply in running.values())):
                    one.close()
                return _begin(start, fds)
            for one in fds[:-1]:
                os.close(one)
            reply = socket.socket(fileno=fds[-1])
            _send_number(reply, pid)
            pidfd = os.pidfd_open(pid)
            running[pidfd] = pid, reply
            events.register(pidfd, select.POLLIN)


def _send_number(whom: socket.socket, number: int) -> None:
    with suppress(OSError):  # who asked may be gone
        whom.send(str(number).encode())


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
    module = _serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        leaving.code = 0
    except SystemExit as error:
        leaving.code = error.code
        raise
