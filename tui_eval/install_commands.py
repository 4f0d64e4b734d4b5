"""Commands with which people install packages: where the code runs that lacks them."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

_EXTRAS = {
    "gym": "gymnasium",
    "hub": "datasets",
    "math": "math-verify",
    "mcp": "mcp",
    "reasoning-gym": "reasoning-gym",
    "textarena": "textarena",
}
"""Packages of our extras. An interpreter of an environment's own gets these alone, and not us."""


def is_elsewhere() -> bool:
    """Whether this process runs in an environment's own interpreter, which has us by a link."""
    return Path(__file__).parent.is_symlink()


def install_command(packages: Iterable[str]) -> str:
    """Installs packages into the interpreter of this process."""
    return install_command_for(sys.executable, packages, has_pip=find_spec("pip") is not None)


def install_command_for(path: str, packages: Iterable[str], *, has_pip: bool) -> str:
    """Installs packages into an interpreter: with uv where that is, else with its own pip.

    Args:
        has_pip: Whether it has one; else the command makes it first.
    """
    if shutil.which("uv"):
        return shlex.join(["uv", "pip", "install", "--python", path, *packages])
    pip = shlex.join([path, "-m", "pip", "install", *packages])
    return pip if has_pip else f"{shlex.join([path, '-m', 'ensurepip'])} && {pip}"


def own_venv(folder: str, packages: Iterable[str]) -> str:
    """Makes a virtual environment and installs packages into it."""
    if shutil.which("uv"):
        made, python = ["uv", "venv", folder], folder
    else:
        made, python = [sys.executable, "-m", "venv", folder], f"{folder}/bin/python"
    return f"{shlex.join(made)} && {install_command_for(python, packages, has_pip=True)}"


def extra_command(extra: str) -> str:
    """Installs what an environment needs that one of our extras brings, by the extra's name."""
    return install_command([packages_of(extra) if is_elsewhere() else f"tui-eval[{extra}]"])


def packages_of(extra: str) -> str:
    """The package that an extra is for."""
    return _EXTRAS[extra]
