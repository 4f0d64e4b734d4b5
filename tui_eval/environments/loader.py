"""Importing an environment and making it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import Any

from tui_eval.environments.author_errors import describe
from tui_eval.environments.dependencies import requirement_of
from tui_eval.environments.discovery import (
    FoundEnvironment,
    find_environment,
    framework_of,
    framework_of_class,
)
from tui_eval.environments.environment import Environment
from tui_eval.environments.imports import import_file, keeping_names, leave_all
from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.install_commands import install_command

_ALIAS_HINT = (
    "In Python, call tui_eval.compat.install_verifiers_alias() first; on the command line, leave "
    "out --no-alias"
)


_folder: ContextVar[Path | None] = ContextVar("folder", default=None)
"""The folder of local environments, while one is loaded."""


def load_environment(
    env_id: str, *, environments_dir: Path | None = None, **env_args: Any
) -> Environment:
    """Finds an environment by its id, and makes it.

    Args:
        env_id: Its name, `-` and `_` being the same; of `owner/name` the last part.
        environments_dir: Where local environments are. By default `environments`, and for one that
            is loaded by another the folder in which that was looked for.
        env_args: For its `load_environment`.

    Raises:
        RefusedError: It cannot be found, imported or made, or does not know an argument.
    """
    outer = _folder.get()
    folder = environments_dir or outer or Path("environments")
    if outer is None:
        return load(env_id, folder, env_args)
    with keeping_names():
        return load(env_id, folder, env_args)


def load(
    env_id: str,
    folder: Path,
    env_args: Mapping[str, Any],
    requested: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> Environment:
    """The same for arguments of any names, for the first environment that a program loads.

    Args:
        requested: All arguments that it will be made with, each behind what its faults begin with;
            `env_args` alone if left out.

    Raises:
        RefusedError: As for `load_environment`.
    """
    where = f"environment {env_id}"
    token = _folder.set(folder)
    try:
        found, make = import_environment(env_id, folder)
        faults = [
            fault
            for begins, arguments in requested or [("", env_args)]
            for fault in _argument_faults(make, arguments, f"{begins}{where}")
        ]
        if faults:
            raise RefusedError(faults)
        env = _make(make, found, env_args, where)
    finally:
        _folder.reset(token)
    env.env_id = env.env_id or env_id
    env.env_args = env.env_args or dict(env_args)
    return env


def import_environment(env_id: str, folder: Path) -> tuple[FoundEnvironment, Any]:
    """An environment's place and the function that makes it; refused where there is none."""
    found = find_environment(env_id, folder)
    where = f"environment {env_id}"
    module = _import(found, where)
    make = getattr(module, found.function, None)
    if not callable(make):
        what = f"{module.__file__ or found.module_name} has no function {found.function}"
        hint = framework_of(found.path) if found.path is not None else ""
        hint = hint or "Define it, and let it return the environment"
        raise RefusedError([Fault(where, what, hint)])
    return found, make


def _make(
    make: Any, found: FoundEnvironment, env_args: Mapping[str, Any], where: str
) -> Environment:
    try:
        env = make(**env_args)
    except RefusedError as error:
        faults = [Fault(f"{where}: {f.where}", f.what, f.hint) for f in error.faults]
        raise RefusedError(faults) from error
    except (Exception, SystemExit) as error:
        what = f"{found.function} raised {describe(error, found.code)}"
        raise RefusedError([Fault(where, what)]) from error
    if not isinstance(env, Environment):
        if inspect.iscoroutine(env):
            env.close()
        what = f"{found.function} returned a {type(env).__name__}, not an Environment"
        hint = framework_of_class(type(env))
        hint = hint or "Return a SingleTurnEnv, MultiTurnEnv, ToolEnv or another Environment"
        if any(base.__module__.partition(".")[0] == "verifiers" for base in type(env).__mro__):
            what += " of ours: it is made with the installed package verifiers"
            hint = _ALIAS_HINT
        raise RefusedError([Fault(where, what, hint)])
    return env


def _argument_faults(make: Any, env_args: Mapping[str, Any], where: str) -> list[Fault]:
    parameters = inspect.signature(make).parameters.values()
    takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    named = {
        parameter.name: parameter
        for parameter in parameters
        if parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    }
    valid = ", ".join(named) or "none"
    faults = [
        Fault(
            f"{where}: argument {name}",
            f"there is no such argument. Its arguments are: {valid}",
            nearest(name, named),
        )
        for name in env_args
        if name not in named and not takes_all
    ]
    faults += [
        Fault(f"{where}: argument {name}", "it is required", f"Its arguments are: {valid}")
        for name, parameter in named.items()
        if parameter.default is Parameter.empty and name not in env_args
    ]
    return faults


def _import(found: FoundEnvironment, where: str) -> ModuleType:
    try:
        if found.origin == "local" and found.path is not None and found.root is not None:
            return import_file(found.module_name, found.path, found.root)
        leave_all()
        return importlib.import_module(found.module_name)
    except (Exception, SystemExit) as error:
        what = f"importing it raised {describe(error, found.code)}"
        hint = ""
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            hint = f"Install what it needs: {install_command([requirement_of(package, found)])}"
            if package == "verifiers":
                hint = _ALIAS_HINT
            elif found.path is not None and (reported := framework_of(found.path)):
                hint = f"{reported}. {hint}"
        raise RefusedError([Fault(where, what, hint)]) from error
