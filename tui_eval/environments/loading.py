"""Importing an environment and making it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tui_eval.environments.author_errors import describe
from tui_eval.environments.environment import Environment
from tui_eval.environments.finding import (
    FoundEnvironment,
    find_environment,
    known_environments,
)
from tui_eval.errors import Fault, RefusedError, nearest

__all__ = [
    "FoundEnvironment",
    "find_environment",
    "known_environments",
    "load_environment",
    "load_found",
    "local_roots",
]

# Folders that local environments were imported from, with the modules that were known before.
_roots: dict[Path, frozenset[str]] = {}


def local_roots() -> frozenset[Path]:
    """The folders from which local environments were imported in this process."""
    return frozenset(_roots)


def load_environment(
    env_id: str, /, *, environments_dir: Path = Path("environments"), **env_args: Any
) -> Environment:
    """Finds an environment by its id, and makes it.

    Args:
        env_id: Its name, `-` and `_` being the same; of `owner/name` the last part.
        environments_dir: Where local environments are.
        env_args: For its `load_environment`.

    Raises:
        RefusedError: It cannot be found, imported or made, or does not know an argument.
    """
    return load_found(find_environment(env_id, environments_dir), env_id, env_args)


def load_found(found: FoundEnvironment, env_id: str, env_args: Mapping[str, Any]) -> Environment:
    """Makes an environment that was found, with these arguments for its function.

    Raises:
        RefusedError: It cannot be imported or made, or does not know an argument.
    """
    where = f"environment {env_id}"
    module = _import(found, where)
    make = getattr(module, found.function, None)
    if not callable(make):
        what = f"{module.__file__ or found.module_name} has no function {found.function}"
        raise RefusedError([Fault(where, what, "Define it, and let it return the environment")])
    faults = _argument_faults(make, env_args, where)
    if faults:
        raise RefusedError(faults)
    env = _make(make, found, env_args, where)
    env.env_id = env.env_id or env_id
    env.env_args = env.env_args or dict(env_args)
    return env


def _make(
    make: Any, found: FoundEnvironment, env_args: Mapping[str, Any], where: str
) -> Environment:
    try:
        env = make(**env_args)
    except RefusedError as error:
        faults = [Fault(f"{where}: {f.where}", f.what, f.hint) for f in error.faults]
        raise RefusedError(faults) from error
    except (Exception, SystemExit) as error:
        what = f"{found.function} raised {describe(error, found.root)}"
        raise RefusedError([Fault(where, what)]) from error
    if not isinstance(env, Environment):
        if inspect.iscoroutine(env):
            env.close()
        what = f"{found.function} returned a {type(env).__name__}, not an Environment"
        hint = "Return a SingleTurnEnv, MultiTurnEnv, ToolEnv or another Environment"
        raise RefusedError([Fault(where, what, hint)])
    return env


def _argument_faults(make: Any, env_args: Mapping[str, Any], where: str) -> list[Fault]:
    parameters = [
        parameter
        for parameter in inspect.signature(make).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_POSITIONAL
    ]
    named = {
        parameter.name: parameter
        for parameter in parameters
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    takes_all = len(named) < len(parameters)
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
        if parameter.default is inspect.Parameter.empty and name not in env_args
    ]
    return faults


def _import(found: FoundEnvironment, where: str) -> ModuleType:
    try:
        if found.origin == "local" and found.path is not None and found.root is not None:
            return _import_local(found.module_name, found.path, found.root)
        for root in _roots:
            _leave(root)
        return importlib.import_module(found.module_name)
    except (Exception, SystemExit) as error:
        what = f"importing it raised {describe(error, found.root)}"
        hint = ""
        if isinstance(error, ModuleNotFoundError) and error.name:
            hint = f"Install what it needs: pip install {error.name.partition('.')[0]}"
        raise RefusedError([Fault(where, what, hint)]) from error


def _import_local(name: str, path: Path, root: Path) -> ModuleType:
    """Imports a module from its file, with its own folder first on the path."""
    for other in _roots:
        if other != root:
            _leave(other)
    _roots.setdefault(root, frozenset(sys.modules))
    if str(root) in sys.path:
        sys.path.remove(str(root))
    sys.path.insert(0, str(root))
    known = sys.modules.get(name)
    if known is not None:
        if _file_of(known) == path:
            return known
        # Somebody else's module has this name already, and keeps it.
        name = f"{name}__local"
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    places = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=places)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _leave(root: Path) -> None:
    """Makes the modules of another environment unknown by name; who has them keeps them."""
    if str(root) in sys.path:
        sys.path.remove(str(root))
    names = {
        name
        for name, module in sys.modules.items()
        if "." not in name and name not in _roots[root] and _home_of(module) == root
    }
    for name in list(sys.modules):
        if name.partition(".")[0] in names:
            del sys.modules[name]


def _home_of(module: ModuleType) -> Path | None:
    """The folder that must be on the path for a top-level module to be found."""
    path = _file_of(module)
    if path is None:
        return None
    return path.parents[1] if path.name == "__init__.py" else path.parent


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) and file.endswith(".py") else None
