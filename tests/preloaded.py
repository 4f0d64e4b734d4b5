"""Runs of the program that begin with everything loaded, which is most of what a short run takes.

One process for each worker has imported what the program and its engine import. For a run it forks
before anything has happened in it: into the program, from there into the engine that the program
will start, and from there into the embedded endpoint. They are processes as any other, with the
parents, sessions, descriptors, signals and exit codes that they have without it; but their modules
are there already, and `/proc` says of them what the first began with. So what a test says of
starting, memory, descriptors or of what processes there are, it says of a `plain` program.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import inspect
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

LOADED = (
    "argparse",
    "tui_eval.cli.main",
    "tui_eval.cli.run",
    "tui_eval.cli.console",
    "tui_eval.cli.report",
    "tui_eval.cli.suite_console",
    "tui_eval.cli.screen",
    "tui_eval.cli.shutdown",
    "tui_eval.config.user_settings",
    "tui_eval.engine.process",
    "tui_eval.engine.suite.suite",
    "tui_eval.worker.logging.inherited_context",
    "tui_eval.clients.endpoint",
    "tui_eval.clients.openai_chat",
    "tui_eval.parsers.xml_parser",
    "tui_eval.demo.environments.reverse_text",
    "aiohttp.web",
    "dotenv.main",
    "httpx2",
    "tomlkit",
)
STARTS = {"tui_eval": "tui_eval.engine", "tui_eval.engine": "tui_eval.demo.endpoint"}
"""The module that each starts as another process: the first of these is there in advance."""

MAY_DIFFER = (
    "TUI_EVAL_",
    "PYTEST_",
    "XDG_RUNTIME_DIR",
    "NO_PROXY",
    "no_proxy",
    "COLUMNS",
    "PYGAME_",
)
"""How variables begin that nothing reads while modules are loaded."""

_LARGEST = 1 << 18
_HIGH = 200
"""Descriptors from here on are ours, and those of the program are below."""

_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""What is sent to a group of processes does not reach those that are not begun."""

_execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_PARAMETERS = inspect.signature(_execute)


class Start(NamedTuple):
    """A process to be: a module with its arguments, and what it begins with."""

    words: list[str]
    cwd: str
    env: dict[str, str]
    numbers: list[int]
    """Of its descriptors; those that come after them are not the program's."""
    new_session: bool


class PreloadedProgram(subprocess.Popen[str]):
    """`python -m tui_eval`, forked from a process that has loaded it."""

    def _execute_child(self, *given: Any) -> None:
        sys.audit("subprocess.Popen", sys.executable, self.args, None, None)  # as of any other
        self._ended, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            _send_start(_preloading(), self, given, theirs.fileno())
        self.pid = _receive_number(self._ended)
        self._child_created = True

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            ended = select.poll()
            ended.register(self._ended, select.POLLIN)
            if not ended.poll(None if timeout is None else max(timeout, 0.0) * 1000):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self.returncode = _receive_number(self._ended, socket.MSG_PEEK)
        return self.returncode

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._wait(0)
        return self.returncode


_starting = threading.Lock()
_started: dict[int, socket.socket] = {}
ENVIRONMENT = dict(os.environ)
"""What modules are loaded with, whatever a test has set when the first run begins."""


def may_be_preloaded(env: Mapping[str, str]) -> bool:
    """Whether a program with these variables is as one whose modules were loaded with ours."""
    if not hasattr(os, "pidfd_open"):
        return False
    differing = {key for key, _ in ENVIRONMENT.items() ^ env.items()}
    return all(key.startswith(MAY_DIFFER) or key.endswith("_KEY") for key in differing)


def _preloading() -> socket.socket:
    """To the process that has everything loaded; it ends when this one does, in whatever way."""
    with _starting:
        if os.getpid() not in _started:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                subprocess.Popen(
                    [sys.executable, __file__, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    env={**ENVIRONMENT, "OPENBLAS_NUM_THREADS": "1"},
                )
            _started[os.getpid()] = ours
        return _started[os.getpid()]


def _receive_number(by: socket.socket, flags: int = 0) -> int:
    if not (said := by.recv(_LARGEST, flags)):
        raise RuntimeError("the process that had the program loaded has ended: see its stderr")
    return int(said)


def _send_start(whom: socket.socket, popen: Any, given: tuple[Any, ...], *more: int) -> None:
    """Has another process become what `popen` is to start."""
    to = _PARAMETERS.bind(popen, *given).arguments
    ends = [to[name] for name in ("p2cread", "c2pwrite", "errwrite")]
    numbers = [0, 1, 2, *to["pass_fds"]]
    fds = [number if fd == -1 else fd for number, fd in enumerate(ends)] + numbers[3:]
    env = os.environ if to["env"] is None else to["env"]
    cwd = os.fspath(to["cwd"] or os.getcwd())
    start = Start(
        [os.fspath(word) for word in to["args"][2:]],
        cwd,
        dict(env),
        numbers,
        to["start_new_session"],
    )
    socket.send_fds(whom, [json.dumps(start).encode()], [*fds, *more])
    popen._close_pipe_fds(*(to[name] for name in _PIPES))


def _receive_start(by: socket.socket) -> tuple[Start, list[int]] | None:
    """What the other side is to be started, with the descriptors for it; None at its end."""
    message, fds, _, _ = socket.recv_fds(by, _LARGEST, 32)
    return (Start(*json.loads(message)), fds) if message else None


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
        words = _PARAMETERS.bind(popen, *given).arguments["args"]
        if self._to is None or list(words[:3]) != self._begins:
            _execute(popen, *given)
            return
        with self._to as waiting:
            self._to = None
            _send_start(waiting, popen, given)
            if not waiting.recv(1):
                raise RuntimeError(f"{self._begins[-1]} could not begin")
        popen.pid = self._pid
        popen._child_created = True

    def _end(self) -> None:
        if self._to is not None:
            self._to.close()
            os.waitpid(self._pid, 0)


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
    os.chdir(start.cwd)
    sys.argv[1:] = start.words[1:]
    sys.path[0] = os.getcwd()
    if start.new_session:
        os.setsid()


def _await_start(by: socket.socket) -> tuple[Start, list[int]]:
    """Waits, as what is not begun, until it is to begin; ends when nobody can ask for it."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, _HIGH)
    received = _receive_start(by)
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
            received = _receive_start(control)
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
    with contextlib.suppress(OSError):  # who asked may be gone
        whom.send(str(number).encode())


def _load() -> None:
    for name in LOADED:
        importlib.import_module(name)
    tasks = os.listdir("/proc/self/task")
    assert len(tasks) == 1, "a module that is loaded starts a thread: it would be missing in a fork"
    gc.collect()
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _load()
    runpy.run_module(
        _serve(socket.socket(fileno=int(sys.argv[1]))), run_name="__main__", alter_sys=True
    )
