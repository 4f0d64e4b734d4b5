"""Commands with which people install packages: where the code runs that lacks them."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable
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
    if is_elsewhere():
        return install_command_for(sys.executable, packages)
    return shlex.join(["pip", "install", *packages])


def install_command_for(path: str, packages: Iterable[str]) -> str:
    """Installs packages into an interpreter: with uv where that is, since it may have no pip."""
    words = ["uv", "pip", "install", "--python", path]
    if not shutil.which("uv"):
        words = [path, "-m", "pip", "install"]
    return shlex.join([*words, *packages])


def extra_command(extra: str) -> str:
    """Installs what an environment needs that one of our extras brings, by the extra's name."""
    return install_command([packages_of(extra) if is_elsewhere() else f"tui-eval[{extra}]"])


def packages_of(extra: str) -> str:
    """The package that an extra is for."""
    return _EXTRAS[extra]
