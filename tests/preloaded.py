"""Runs of the program that begin with everything loaded, which is most of what a short run takes.

One process for each worker has imported what the program, its screen, its engine and its workers
import (`preloading`). It forks before anything has happened in it, into what is to be started; and
whatever that starts of the same kind begins so, too. They are processes as any other, with the
parents, sessions, descriptors, signals, exit codes, arguments and variables that they have without
it, but their modules are there already, and one process more waits beside each that may start
others. So what a test says of starting, memory, descriptors or of what processes there are, it says
of a `plain` program.
"""

from __future__ import annotations

import inspect
import json
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

MAY_DIFFER = {
    *("XDG_RUNTIME_DIR", "NO_PROXY", "no_proxy", "HOLD_AT", "TZ", "EDITOR", "PAGER", "VISUAL"),
    *("TERM", "COLUMNS", "LINES", "COLORTERM", "COLORFGBG", "STY", "TMUX"),
    *("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"),
    *("OPENAI_BASE_URL", "OPENAI_API_BASE", "LOOPBACK_JUDGE"),
}
CERTIFICATES = {"SSL_CERT_FILE", "SSL_CERT_DIR"}
MAY_DIFFER_PREFIXES = ("TUI_EVAL_", "PYTEST_", "PYGAME_", "HF_")


def may_differ(name: str) -> bool:
    """Whether nothing reads a variable while modules are loaded: loading fails where it does."""
    is_key = name.endswith("_KEY") and not name.startswith("TEXTUAL_")
    return is_key or name in MAY_DIFFER or name.startswith(MAY_DIFFER_PREFIXES)


MODULES = ("tui_eval.engine", "tui_eval.worker", "tui_eval.demo.endpoint")
"""Modules of the program that it starts itself."""
CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
"""The number of a system call."""

_PYTHON = sys.executable
_LARGEST = 1 << 18

execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]
PARAMETERS = inspect.signature(execute)
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


class Start(NamedTuple):
    """A process to be: a module with its arguments, and what it begins with."""

    words: list[str]
    cwd: str
    env: dict[str, str]
    numbers: list[int]
    """Of its descriptors; those that come after them are not the program's."""
    new_session: bool


class PreloadedProgram(subprocess.Popen[Any]):
    """`python -m tui_eval`, forked from a process that has loaded it."""

    def _execute_child(self, *given: Any) -> None:
        sys.audit("subprocess.Popen", sys.executable, self.args, None, None)  # as of any other
        _start(_preloading(), self, given)


def preload(server: Callable[[], socket.socket], may: Callable[[Mapping[str, Any]], bool]) -> None:
    """Has what this process starts of the program's modules begin with everything loaded.

    Args:
        server: To what forks them, as children of this process.
        may: Whether one may; by the arguments of `Popen._execute_child`.
    """

    def start(popen: Any, *given: Any) -> None:
        to = PARAMETERS.bind(popen, *given).arguments
        words = list(to["args"]) if isinstance(to["args"], list | tuple) else []
        if words[:2] == [_PYTHON, "-m"] and words[2] in MODULES and may(to):
            sys.audit("subprocess.Popen", sys.executable, to["args"], None, None)
            _start(server(), popen, given)
        else:
            execute(popen, *given)

    subprocess.Popen._execute_child = start  # type: ignore[attr-defined]


def preload_here(is_plain: Callable[[], bool]) -> None:
    """The same for engines, endpoints and workers that the tests' own process starts."""
    preload(_preloading, lambda to: not is_plain() and may_be_preloaded(to["env"] or os.environ))


def _start(server: socket.socket, popen: Any, given: tuple[Any, ...]) -> None:
    """In place of `Popen._execute_child`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            _send_start(server, popen, given, theirs.fileno())
        if not (said := ours.recv(_LARGEST)):
            raise RuntimeError(f"{popen.args} could not begin: see stderr")
        popen.pid = int(said)
    popen._child_created = True


_starting = threading.Lock()
_started: dict[int, socket.socket] = {}
ENVIRONMENT = dict(os.environ)
"""Variables for loading modules, whatever a test has set when the first run begins."""


def may_be_preloaded(env: Mapping[str, str]) -> bool:
    """Whether a program with these variables is as one whose modules were loaded with ours.

    What is to read no certificates calls nobody: those that were read are of no use to it.
    """
    if CLONE is None:
        return False
    differing = {name for name, _ in ENVIRONMENT.items() ^ env.items()}
    unread = {name for name in CERTIFICATES if env.get(name) == os.devnull}
    return all(may_differ(name) for name in differing - unread)


def _preloading() -> socket.socket:
    """To the process that has everything loaded; it ends when this one does, in whatever way."""
    with _starting:
        if os.getpid() not in _started:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                subprocess.Popen(
                    [
                        *(sys.executable, Path(__file__).with_name("preloading.py")),
                        *(str(theirs.fileno()), ROOM),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    env={**ENVIRONMENT, "OPENBLAS_NUM_THREADS": "1", "_ROOM": ROOM},
                )
            _started[os.getpid()] = ours
        return _started[os.getpid()]


ROOM = " " * (1 << 14)
"""Where the arguments and the variables of a process can stand that become others."""


def _send_start(whom: socket.socket, popen: Any, given: tuple[Any, ...], *more: int) -> None:
    """Has another process become what `popen` is to start."""
    to = PARAMETERS.bind(popen, *given).arguments
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


def receive_start(by: socket.socket) -> tuple[Start, list[int]] | None:
    """The process to start for the other side, with its descriptors; None at its end."""
    message, fds, _, _ = socket.recv_fds(by, _LARGEST, 32)
    return (Start(*json.loads(message)), fds) if message else None
