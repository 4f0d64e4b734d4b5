"""Packages of the interpreter in which an environment runs: this process's, or its own."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable
from typing import Any

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tui_eval.engine.interpreters.interpreter import (
    InterpreterInfo,
    executable_of,
    inspect_interpreter,
)
from tui_eval.engine.interpreters.missing_packages import contradictions, modules, same_as_own
from tui_eval.errors import RefusedError
from tui_eval.install_commands import install_command, install_command_for, packages_of


class Installed(msgspec.Struct, frozen=True):
    """The packages of one interpreter.

    Args:
        path: The interpreter.
        found: Its own report; None for this process's own.
    """

    path: str = sys.executable
    found: InterpreterInfo | None = None

    @property
    def version(self) -> str:
        """The interpreter's own."""
        return self.found.version if self.found else ".".join(map(str, sys.version_info[:3]))

    @property
    def markers(self) -> dict[str, str]:
        """Environment markers of requirements that differ from this process's."""
        short = ".".join(self.version.split(".")[:2])
        return {"python_version": short, "python_full_version": self.version}

    def has(self, module: str) -> bool:
        """Whether a top module can be imported."""
        if self.found is not None:
            return self.found.modules.get(module, False)
        try:
            return importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):
            return False

    def version_of(self, package: str) -> str | None:
        """The version of a package; None where it is not installed."""
        if self.found is not None:
            return self.found.packages.get(canonicalize_name(package))
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None

    def install(self, requirement: str) -> str:
        """The command that installs something; of our extras only what they bring."""
        if self.found is None:
            return install_command([requirement])
        if requirement.startswith("tui-eval["):
            requirement = packages_of(requirement.removeprefix("tui-eval[").rstrip("]"))
        return install_command_for(self.path, [requirement], has_pip=self.found.has_pip)

    def object(self) -> dict[str, Any]:
        """The interpreter as plain JSON data."""
        return {"path": self.path, "version": self.version, "is_own": self.found is not None}

    def __str__(self) -> str:
        whose = "its own" if self.found is not None else "that of tui-eval"
        return f"{self.path} (Python {self.version}, {whose})"


def installed_in(named: str | None, where: str, needed: Iterable[str]) -> Installed:
    """Looks at an interpreter.

    Args:
        named: See `executable_of`; None for this process's own.
        where: The setting that names it, for faults.
        needed: Top modules to look for.

    Raises:
        RefusedError: It is no interpreter, or one that runs no worker.
    """
    path = executable_of(named, where) if named else None
    if path is None:
        return Installed()
    found = asyncio.run(inspect_interpreter(path, [*modules(), *needed], where))
    if same_as_own(found):
        return Installed()
    if faults := contradictions(found, path, where):
        raise RefusedError(faults)
    return Installed(path, found)


def contradicted(wanted: Requirement) -> SpecifierSet | None:
    """The versions of a package that tui-eval itself needs, where none of them is wanted."""
    try:
        listed = importlib.metadata.requires("tui-eval") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for ours in map(Requirement, listed):
        is_same = canonicalize_name(ours.name) == canonicalize_name(wanted.name)
        applies = ours.marker is None or ours.marker.evaluate({"extra": ""})
        if is_same and applies and not _overlap(ours.specifier & wanted.specifier):
            return ours.specifier
    return None


def _overlap(both: SpecifierSet) -> bool:
    """Whether a version may be in all of several specifiers: a bound, or one just past it."""
    try:
        bounds = {Version(one.version.removesuffix(".*")).release for one in both}
    except InvalidVersion:  # `===` takes any text
        return True
    past = {(*one[:-1], one[-1] + 1) for one in bounds} | {(*one, 0, 1) for one in bounds}
    tried = (".".join(map(str, one)) for one in {(0,), *bounds, *past})
    return any(both.contains(one, prereleases=True) for one in tried)
