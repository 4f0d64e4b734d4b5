"""Importing local environments from their files, each with its own folder first on the path."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

# Folders that local environments were imported from, with the modules that were known before.
_roots: dict[Path, frozenset[str]] = {}


def local_roots() -> frozenset[Path]:
    """The folders from which local environments were imported in this process."""
    return frozenset(_roots)


def leave_all() -> None:
    """Makes the modules of all local environments unknown by name."""
    for root in _roots:
        _leave(root)


def import_file(name: str, path: Path, root: Path) -> ModuleType:
    """Imports a module from its file, and makes what is beside it importable.

    Modules of other local environments are not known by name any more, so that two of them may
    have the same names.
    """
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


@contextmanager
def keeping_names() -> Iterator[None]:
    """Keeps names of modules from before the block importable after it, and first.

    So an environment that loads another can still import what is beside it, and so can that
    one, but for names which they have in common: these are the first one's.
    """
    modules, path = dict(sys.modules), list(sys.path)
    try:
        yield
    finally:
        own = [folder for folder in path if Path(folder) in _roots]
        for name in set(sys.modules) - set(modules):
            if PathFinder.find_spec(name.partition(".")[0], own) is not None:
                del sys.modules[name]
        sys.modules.update(modules)
        added = [folder for folder in sys.path if folder not in path]
        sys.path[:] = [*path[:1], *added, *path[1:]]


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
