"""Packages that others wrote: installed once, each in an environment of its own, and run."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "others"
_INSTALL_S = 480.0
_START_S = 180.0
_SCRIPT_S = 240.0
_FIRST_PORT, _LAST_PORT = 20_000, 32_000
"""Below those that connections take, so that a port stays free while its server is down."""
ENVIRON = {
    key: value
    for key, value in os.environ.items()
    if not key.endswith("_API_KEY") and key != "PYTHONPATH"
}
"""As it is before the fixtures change it: what is installed comes from where certificates count."""


@dataclass(frozen=True)
class Package:
    """Packages that are installed together from the registry of Python packages.

    Args:
        name: Of its environment.
        requirements: With their versions.
    """

    name: str
    requirements: tuple[str, ...]

    def installed(self) -> Path:
        """The `bin` of its environment; skips the test where it cannot be installed."""
        folder = CACHE / self.name
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / f"{self.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = folder / "installed"
            if not done.exists() or done.read_text() != self._wanted:
                shutil.rmtree(folder, ignore_errors=True)
                for command in self._commands(folder):
                    self._install(command)
                done.write_text(self._wanted)
        return folder / self._programs

    @property
    def _programs(self) -> str:
        return "bin"

    @property
    def _wanted(self) -> str:
        return "\n".join((*self.requirements, sys.version))

    def _commands(self, folder: Path) -> list[list[str]]:
        python = str(folder / "bin" / "python")
        uv = shutil.which("uv")
        if uv:
            make = [uv, "venv", "--quiet", "--python", sys.executable, str(folder)]
            return [
                make,
                [uv, "pip", "install", "--quiet", "--python", python, *self.requirements],
            ]
        make = [sys.executable, "-m", "venv", str(folder)]
        return [make, [python, "-m", "pip", "install", "--quiet", *self.requirements]]

    def _install(self, command: list[str]) -> None:
        try:
            done = subprocess.run(
                command, env=ENVIRON, capture_output=True, text=True, timeout=_INSTALL_S
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"installing {self.name} took longer than {_INSTALL_S:.0f} s")
        if done.returncode:
            pytest.skip(f"{self.name} does not install here: {done.stderr.strip()[-400:]}")


class NodePackage(Package):
    """The same from npm's registry, as far as there is an npm."""

    @property
    def _programs(self) -> str:
        return "node_modules/.bin"

    def _commands(self, folder: Path) -> list[list[str]]:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("there is no npm")
        folder.mkdir(parents=True)
        quiet = ["--silent", "--no-audit", "--no-fund"]
        return [[npm, "install", "--prefix", str(folder), *quiet, *self.requirements]]


def with_tui_eval(name: str, *requirements: str, extras: str = "") -> Package:
    """An environment that has this program beside what others wrote."""
    return Package(name, ("--editable", f"{ROOT}[{extras}]", *requirements))


_BOTH = (
    "textarena==0.7.4",
    "reasoning-gym==0.1.25",
    "nltk",
    "mcp<2",
    "datasets",
    "pillow",
    "math-verify",
)
VERIFIERS = Package("verifiers", ("verifiers==0.1.11", *_BOTH))
OURS = with_tui_eval("ours", *_BOTH, extras="hub,mcp")
"""The library and this program, each beside what the environments of others need."""


def script_output(package: Package, script: str, given: Any, folder: Path) -> Any:
    """The JSON that a script beside this file prints, run by the Python of an environment.

    Args:
        given: JSON that it reads from its standard input.
        folder: Where it runs.
    """
    done = subprocess.run(
        [package.installed() / "python", Path(__file__).with_name(script)],
        input=json.dumps(given),
        cwd=folder,
        env={
            **ENVIRON,
            "PYTHONHASHSEED": "0",  # some draw from sets
            "TUI_EVAL_STATE_DIR": os.environ["TUI_EVAL_STATE_DIR"],
        },
        capture_output=True,
        text=True,
        timeout=_SCRIPT_S,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@dataclass
class Server:
    """A server in a process of its own, on a port that stays its own when it is started again.

    Args:
        command: What runs; `{port}` stands for the port.
        alive: Path that answers 200 once it is up; where it is empty, any answer will do.
        log: Where its output goes.
        env: Beside the environment that it inherits.
    """

    command: Sequence[str]
    alive: str
    log: Path
    env: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=lambda: free_port())
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it and waits until it answers."""
        command = [word.replace("{port}", str(self.port)) for word in self.command]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self.log.parent,
                env={**ENVIRON, **self.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + _START_S
        while not self._is_up():
            ended = self._process.poll() is not None
            assert not ended and time.monotonic() < deadline, self._last_words()
            time.sleep(0.05)

    def kill(self) -> None:
        """Ends it in the middle of whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _is_up(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + self.alive, timeout=5) as answer:
                return answer.status == 200
        except urllib.error.HTTPError:
            return not self.alive
        except OSError:
            return False

    def _last_words(self) -> str:
        return f"{self.command[0]} did not start: {self.log.read_text()[-2000:]}"


def free_port() -> int:
    """A port that nobody listens at."""
    while True:
        port = random.randrange(_FIRST_PORT, _LAST_PORT)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
