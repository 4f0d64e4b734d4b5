"""What an interpreter lacks of what a worker needs, installed once into a cache.

The cache stands behind the packages that an environment has: of these none is replaced. So a worker
needs little, over a wide range of versions, and each of ours must do with what is there.
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
from tui_eval.engine.interpreters.interpreter import (
    Interpreter,
    InterpreterFacts,
    executable_of,
    inspect_interpreter,
)
from tui_eval.engine.interpreters.package_cache import clean, mark_used, new_folder
from tui_eval.errors import Fault, RefusedError
from tui_eval.installing import install_command_for
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
_COME_ALONG = {
    "aiohttp": ("aiohappyeyeballs", "aiosignal", "attrs", "frozenlist", "idna", "multidict",
                "propcache", "typing-extensions", "yarl"),
    "pydantic": ("annotated-types", "pydantic-core", "typing-extensions", "typing-inspection"),
}  # fmt: skip
"""What those need in turn."""

INSTALLS_WITHIN_S = 300.0
_PACKAGES, _LINKS = "packages", "tui-eval"
_SITE = "site-packages"
"""What is in a folder called so is no author's code: errors and versions of code leave it out."""


async def interpreter_of(named: str, where: str) -> Interpreter | None:
    """The interpreter that somebody named, with what a worker needs; None for this process's own.

    Args:
        named: See `executable_of`.
        where: What named it, for faults.

    Raises:
        RefusedError: It is none, too old, or has not what a worker needs and cannot get it.
    """
    path = executable_of(named, where)
    if path is None:
        return None
    facts = await inspect_interpreter(path, modules(), where)
    if same_as_own(facts):
        return None
    faults = contradictions(facts, path, where)
    if faults:
        raise RefusedError(faults)
    lacks = lacking(facts)
    added = [await _installed(path, facts, lacks, where)] if lacks else []
    try:
        return Interpreter(path, facts, (*added, str(own_package())))
    except OSError as error:
        what = f"{error.filename} cannot be written: {error.strerror or error}"
        hint = "Say TUI_EVAL_CACHE_DIR=DIR, where there is room for what workers need"
        raise RefusedError([Fault(where, what, hint)]) from None


def same_as_own(facts: InterpreterFacts) -> bool:
    """Whether an interpreter has the packages of this process's own, under another path."""
    same = os.path.realpath(facts.prefix) == os.path.realpath(sys.prefix)
    return same and facts.version == ".".join(map(str, sys.version_info[:3]))


def folder_for(facts: InterpreterFacts, lacks: Sequence[str]) -> Path:
    """Where what interpreters of this kind lack is kept.

    Args:
        lacks: Requirements. What is beside them in the interpreter decides which versions fit.
    """
    text = "\n".join([*sorted(lacks), *pinned(facts, lacks)])
    return (
        cache_root() / _PACKAGES / f"{facts.abi}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    )


async def _installed(path: str, facts: InterpreterFacts, lacks: Sequence[str], where: str) -> str:
    """The folder with what an interpreter lacks, which is installed where it is not there yet.

    Raises:
        RefusedError: It cannot be installed; names the command that does it.
    """
    folder = folder_for(facts, lacks)
    site = str(folder / _SITE)
    if Path(site).is_dir():
        mark_used(folder)
        return site
    await asyncio.to_thread(clean, folder.parent)
    hint = f"With a network: {install_command_for(path, lacks)}"
    what = f"{path} lacks {', '.join(lacks)}"
    try:
        with new_folder(folder.parent) as new:
            made, file = new / "made", new / "pinned.txt"
            file.write_text("\n".join(pinned(facts, lacks)))
            given = ["--quiet", "--target", str(made / _SITE), "--constraint", str(file), *lacks]
            why = await _install(path, facts, given)
            if why is None:
                if not folder.is_dir():  # another engine may have been first
                    made.rename(folder)
                return site
    except OSError as error:
        if Path(site).is_dir():
            return site
        why = f"{folder.parent} cannot be written: {error.strerror or error}"
    raise RefusedError([Fault(where, f"{what}, and it could not be installed: {why}", hint)])


async def _install(path: str, facts: InterpreterFacts, given: Sequence[str]) -> str | None:
    """Installs packages for an interpreter; says why not where that fails.

    Args:
        given: What `install` gets.
    """
    installer = _installer(path, facts)
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
    return text[-400:] or f"{installer[0]} ended with {process.returncode}"


def _installer(path: str, facts: InterpreterFacts) -> list[str] | None:
    """The words of a command that installs for an interpreter: uv, or else a pip."""
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", path]
    if facts.has_pip:
        return [path, "-m", "pip", "install"]
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--python", path, "install"]
    return None


def own_package() -> Path:
    """A folder that holds a link to our package and nothing else.

    What stands beside the package itself (a checkout, or all that is installed with us) must not
    be found by an environment that runs in another interpreter.
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
    """The top modules of what a worker needs."""
    return list(_MODULES.values())


def lacking(facts: InterpreterFacts) -> list[str]:
    """The requirements that nothing in an interpreter meets or contradicts."""
    return [
        one
        for one, module in _MODULES.items()
        if not facts.modules.get(module) and _version(facts, Requirement(one).name) is None
    ]


def pinned(facts: InterpreterFacts, lacks: Iterable[str]) -> list[str]:
    """What an interpreter has of what would come along, each as it is: no other would be imported.

    Args:
        lacks: The requirements that are to be installed.
    """
    names = {name for one in lacks for name in _COME_ALONG.get(Requirement(one).name, ())}
    there = ((name, _version(facts, name)) for name in sorted(names))
    return [f"{name}=={version}" for name, version in there if version]


def contradictions(facts: InterpreterFacts, path: str, where: str) -> list[Fault]:
    """What an interpreter has in a version that no worker runs with."""
    faults = []
    for text in NEEDS:
        one = Requirement(text)
        version = _version(facts, one.name)
        if version is not None and not one.specifier.contains(version, prereleases=True):
            what = f"{path} has {one.name} {version}, and a worker needs {text}"
            faults.append(Fault(where, what, f"Install it: {install_command_for(path, [text])}"))
    return faults


def _version(facts: InterpreterFacts, name: str) -> str | None:
    return facts.packages.get(canonicalize_name(name))
