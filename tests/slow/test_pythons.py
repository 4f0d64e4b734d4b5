"""The wheel on every Python that it says it runs on, in a folder that is not ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from terminal import Terminal
from third_party_packages import ROOT, Package

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSIONS = ["3.11", "3.12", "3.13", "3.14"]
DOWNLOADED_WITHIN_S = 180.0
PRINT_VERSION = "import sys; print('.'.join(map(str, sys.version_info[:2])))"


@dataclass(frozen=True)
class OnPython(Package):
    """An environment of another Python.

    Args:
        python: Its interpreter.
    """

    python: str = ""

    def add(self, wheel: Path) -> None:
        """Installs what changes from one call to the next."""
        *_, install = self._commands(self.installed().parent)
        self._install([*install[: -len(self.requirements)], "--no-deps", str(wheel)])

    def _commands(self, folder: Path) -> list[list[str]]:
        inside = str(folder / "bin" / "python")
        if uv := shutil.which("uv"):
            make = [uv, "venv", "--quiet", "--python", self.python, str(folder)]
            install = [uv, "pip", "install", "--quiet", "--python", inside, "--reinstall"]
        else:
            make = [self.python, "-m", "venv", str(folder)]
            install = [inside, "-m", "pip", "install", "--quiet", "--force-reinstall"]
        return [make, [*install, *self.requirements]]


def interpreter(version: str) -> str:
    """The path of a Python that is here, or comes from where `uv` gets it; else skips the test."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = [*map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python"))), f"python{version}"]
    for python in [sys.executable, *found]:
        if _version(python) == version:
            return python
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip(f"there is no Python {version} here, and no uv to get one")
    try:
        for words in (["install"], ["find"]):
            done = subprocess.run(
                [uv, "python", *words, version],
                capture_output=True,
                text=True,
                timeout=DOWNLOADED_WITHIN_S,
            )
            if done.returncode:
                why = " ".join(done.stderr.split())[:200]
                pytest.skip(f"there is no Python {version} here, and uv gets none: {why}")
    except subprocess.TimeoutExpired:
        pytest.skip(f"there is no Python {version} here, and uv gets none in time")
    return done.stdout.strip()


def _version(python: str) -> str:
    try:
        done = subprocess.run([python, "-c", PRINT_VERSION], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def test_every_version_that_the_package_names_is_tried() -> None:
    prefix = "Programming Language :: Python :: "
    named = {one.removeprefix(prefix) for one in PROJECT["classifiers"] if prefix in one}
    assert named and named <= set(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_runs_on(version: str, wheel: Path, tmp_path: Path) -> None:
    package = OnPython(
        f"python-{version}", tuple(PROJECT["dependencies"]), python=interpreter(version)
    )
    programs = package.installed()
    package.add(wheel)
    env = {
        **{key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")},
        **{"TUI_EVAL_STATE_DIR": str(tmp_path / "state"), "TUI_EVAL_DEMO_SPEED": "0"},
    }
    program = str(programs / "tui-eval")
    command = [program, "word-guess", "-m", "demo", "-n", "2", "-r", "2", "--json"]
    done = subprocess.run(
        [*command, "-s"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["rollouts"] == 4
    begin = f"import os, sys; os.execv({program!r}, [{program!r}, *sys.argv[1:]])"
    terminal = Terminal(tmp_path, env, "open", command=("-c", begin))
    try:
        terminal.wait_for("4/4")
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert b"Traceback" not in terminal.raw
