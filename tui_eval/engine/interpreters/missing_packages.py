"""Packages that a worker needs and its interpreter lacks, installed once into a cache.

The cache comes after the packages that an environment has: none of these is replaced. So a worker
needs little, in a wide range of versions, and our code must run with whichever is there.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tui_eval
from tui_eval import cuts
from tui_eval.engine.interpreters.interpreter import (
    Interpreter,
    InterpreterInfo,
    executable_of,
    inspect_interpreter,
)
from tui_eval.engine.interpreters.package_cache import clean, mark_used, new_folder
from tui_eval.errors import Fault, RefusedError
from tui_eval.install_commands import install_command_for
from tui_eval.process_guard import ProcessGuard
from tui_eval.processes import signal_group
from tui_eval.runs.layout import cache_root

NEEDS = (
    "aiohttp>=3.10,<4",
    "msgspec>=0.18.6,<1",
    "platformdirs>=3,<5",
    "pydantic>=2,<3",
    "typing-extensions>=4.6",
)
"""The floor of each is the oldest that the tests run a worker with."""
_MODULES = {one: Requirement(one).name.replace("-", "_") for one in NEEDS}
_DEPENDENCIES = {
    "aiohttp": ("aiohappyeyeballs", "aiosignal", "attrs", "frozenlist", "idna", "multidict",
                "propcache", "typing-extensions", "yarl"),
    "pydantic": ("annotated-types", "pydantic-core", "typing-extensions", "typing-inspection"),
}  # fmt: skip
"""Their own requirements."""

INSTALLS_WITHIN_S = 300.0
_PACKAGES, _LINKS = "packages", "tui-eval"
_SITE = "site-packages"
"""A folder of this name has no author's code: errors and versions of code leave it out."""


async def interpreter_of(named: str, where: str) -> Interpreter | None:
    """The interpreter that somebody named, with a worker's packages; None for this process's own.

    Args:
        named: See `executable_of`.
        where: The setting that named it, for faults.

    Raises:
        RefusedError: It is none or too old, or lacks packages that cannot be installed.
    """
    path = executable_of(named, where)
    if path is None:
        return None
    info = await inspect_interpreter(path, modules(), where)
    if same_as_own(info):
        return None
    faults = contradictions(info, path, where)
    if faults:
        raise RefusedError(faults)
    lacks = lacking(info)
    added = [await _installed(path, info, lacks, where)] if lacks else []
    try:
        return Interpreter(path, info, (*added, str(own_package())))
    except OSError as error:
        what = f"{error.filename} cannot be written: {error.strerror or error}"
        hint = "Say TUI_EVAL_CACHE_DIR=DIR, where there is room for what workers need"
        raise RefusedError([Fault(where, what, hint)]) from None


def same_as_own(info: InterpreterInfo) -> bool:
    """Whether an interpreter has the packages of this process's own, under another path."""
    same = os.path.realpath(info.prefix) == os.path.realpath(sys.prefix)
    return same and info.version == ".".join(map(str, sys.version_info[:3]))


def folder_for(info: InterpreterInfo, lacks: Sequence[str]) -> Path:
    """The cache folder for missing packages of interpreters of this kind.

    Args:
        lacks: Requirements. Other packages of the interpreter decide which versions fit.
    """
    text = "\n".join([*sorted(lacks), *pinned(info, lacks)])
    return cache_root() / _PACKAGES / f"{info.abi}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


async def _installed(path: str, info: InterpreterInfo, lacks: Sequence[str], where: str) -> str:
    """The folder with an interpreter's missing packages, installed if it is not there yet.

    Raises:
        RefusedError: It cannot be installed; names the command that does it.
    """
    folder = folder_for(info, lacks)
    site = str(folder / _SITE)
    if Path(site).is_dir():
        mark_used(folder)
        return site
    await asyncio.to_thread(clean, folder.parent)
    hint = f"With a network: {install_command_for(path, lacks, has_pip=info.has_pip)}"
    what = f"{path} lacks {', '.join(lacks)}"
    try:
        with new_folder(folder.parent) as new:
            made, file = new / "made", new / "pinned.txt"
            file.write_text("\n".join(pinned(info, lacks)))
            given = ["--quiet", "--target", str(made / _SITE), "--constraint", str(file), *lacks]
            why = await _install(path, info, given)
            if why is None:
                if not folder.is_dir():  # another engine may have been first
                    made.rename(folder)
                return site
    except OSError as error:
        if Path(site).is_dir():
            return site
        why = f"{folder.parent} cannot be written: {error.strerror or error}"
    raise RefusedError([Fault(where, f"{what}, and it could not be installed: {why}", hint)])


async def _install(path: str, info: InterpreterInfo, given: Sequence[str]) -> str | None:
    """Installs packages for an interpreter; returns why not where that fails.

    Args:
        given: Arguments of `install`.
    """
    installer = _installer(path, info)
    if installer is None:
        return "there is neither uv nor pip"
    try:
        process = await asyncio.create_subprocess_exec(
            *installer,
            *given,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return f"{installer[0]} cannot be started: {error.strerror or error}"
    guard = ProcessGuard()
    try:
        guard.watch(process.pid)
        async with asyncio.timeout(INSTALLS_WITHIN_S):
            _, err = await process.communicate()
    except TimeoutError:
        return f"{installer[0]} was given up after {INSTALLS_WITHIN_S:.0f} s"
    finally:
        if process.returncode is None:
            signal_group(process.pid, signal.SIGKILL)  # what builds for it, too
            await process.wait()
        guard.watch(-process.pid)  # its number may be another process's from now on
        await asyncio.to_thread(guard.close)
    if process.returncode == 0:
        return None
    text = " ".join(err.decode(errors="replace").split())
    return cuts.tail(text, 400) or f"{installer[0]} ended with {process.returncode}"


def _installer(path: str, info: InterpreterInfo) -> list[str] | None:
    """The command that installs for an interpreter: uv, or else a pip."""
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", path]
    if info.has_pip:
        return [path, "-m", "pip", "install"]
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--python", path, "install"]
    return None


def own_package() -> Path:
    """A folder that holds a link to our package and nothing else.

    An environment in another interpreter must not find what is beside the package itself: a
    checkout, or all that is installed with us.
    """
    package = Path(tui_eval.__file__).parent
    name = hashlib.sha256(os.fsencode(package)).hexdigest()[:12]
    folder = cache_root() / _LINKS / name
    link = folder / package.name
    if not link.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with new_folder(folder.parent) as new:
            made = new / package.name
            made.symlink_to(package, target_is_directory=True)
            made.replace(link)
    return folder


def modules() -> list[str]:
    """The top modules of a worker's packages."""
    return list(_MODULES.values())


def lacking(info: InterpreterInfo) -> list[str]:
    """The requirements that nothing in an interpreter meets or contradicts."""
    return [
        one
        for one, module in _MODULES.items()
        if not info.modules.get(module) and _version(info, Requirement(one).name) is None
    ]


def pinned(info: InterpreterInfo, lacks: Iterable[str]) -> list[str]:
    """Pins of further requirements to the versions that an interpreter has and would import.

    Args:
        lacks: The requirements to install.
    """
    names = {name for one in lacks for name in _DEPENDENCIES.get(Requirement(one).name, ())}
    there = ((name, _version(info, name)) for name in sorted(names))
    return [f"{name}=={version}" for name, version in there if version]


def contradictions(info: InterpreterInfo, path: str, where: str) -> list[Fault]:
    """Faults of packages in a version that no worker runs with."""
    faults = []
    for text in NEEDS:
        one = Requirement(text)
        version = _version(info, one.name)
        if version is not None and not one.specifier.contains(version, prereleases=True):
            what = f"{path} has {one.name} {version}, and a worker needs {text}"
            install = install_command_for(path, [text], has_pip=info.has_pip)
            faults.append(Fault(where, what, f"Install it: {install}"))
    return faults


def _version(info: InterpreterInfo, name: str) -> str | None:
    return info.packages.get(canonicalize_name(name))
