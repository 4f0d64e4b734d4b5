"""The files of people's own code that an environment is made of: its package, and what it imports.

What is installed is reported by versions, what is local only by what it holds. Files are found from
the imports that are in them, not from the modules that a process has loaded: that would depend on
what else was loaded there.
"""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from tui_eval.environments.discovery import FoundEnvironment, find_environment
from tui_eval.environments.env_group import EnvGroup
from tui_eval.environments.environment import Environment
from tui_eval.environments.source_files import is_virtual_environment, source_files
from tui_eval.errors import RefusedError, is_ours

MOST_FILES = 2000
MOST_BYTES = 1 << 20
"""Bytes of a file that the code names and that is kept with it: a prompt, a list of words."""
MOST_BESIDE = 200
"""Files of a folder beside the code that it names."""

_PATH = re.compile(r"[\w][\w ./-]{0,118}[\w]")
_LEFT_OUT = frozenset(("outputs", "tests", "__pycache__"))
_INSTALLED = ("site-packages", "dist-packages")
_STANDARD = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))


_EMPTY = CellType()


class Source(NamedTuple):
    """A file of code, with the dotted name of its module; it is imported from `root`."""

    name: str
    path: Path
    root: Path

    @property
    def label(self) -> str:
        """Its path from where it is imported, which is the same wherever that is."""
        parts = self.name.split(".")
        folder = parts if self.path.name == "__init__.py" else parts[:-1]
        return "/".join([*folder, self.path.name])

    @property
    def package(self) -> str:
        """The package that relative imports in it begin at."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


class LocalCode(NamedTuple):
    """The own code of an environment.

    Args:
        files: Every file by its label: sources, and files beside them that they name.
        imported: First names of what the sources import, local or not.
    """

    files: dict[str, Path]
    imported: frozenset[str]


def local_code(env: Environment, env_id: str, folder: Path) -> LocalCode:
    """The local files that an environment is made of.

    Classes, functions and objects that it holds lead to their files.
    """
    waiting = [*_of_package(env_id, folder), *_of_parts(env)]
    files: dict[str, Path] = {}
    imported: set[str] = set()
    seen: set[Path] = set()
    for source in waiting:  # it grows: what is found first gives a file its label
        if source.path in seen or len(files) >= MOST_FILES:
            continue
        seen.add(source.path)
        files[source.label] = source.path
        try:
            tree = ast.parse(source.path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        names = set(_imports(tree, source.package))
        imported |= {name.partition(".")[0] for name in names}
        waiting += [found for name in names for found in _resolved(name, source.root)]
        files |= _beside(tree, source)
    return LocalCode(files, frozenset(imported))


def _of_package(env_id: str, folder: Path) -> Iterator[Source]:
    """The environment's module; of a package all modules, also those that are not loaded yet."""
    try:
        found: FoundEnvironment | None = find_environment(env_id, folder) if env_id else None
    except RefusedError:
        return
    if found is None or found.path is None or found.root is None:
        return
    name = found.module_name.rpartition(".")[2]
    yield Source(name, found.path, found.root)
    if found.path.name != "__init__.py":
        return
    for path in source_files(found.path.parent, _LEFT_OUT):
        inner = path.relative_to(found.path.parent)
        parts = inner.parts[:-1] if path.name == "__init__.py" else inner.with_suffix("").parts
        yield Source(".".join((name, *parts)), path, found.root)


def _of_parts(env: Environment) -> Iterator[Source]:
    """Files of the classes and functions that an environment is and holds."""
    held: list[Any] = [env, *vars(env).values()]
    for rubric in getattr(env.rubric, "rubrics", None) or [env.rubric]:
        held += [rubric, *vars(rubric).values()] if rubric is not None else []
    if isinstance(env, EnvGroup):
        for member in env.members:
            yield from _of_parts(member)
    for value in held:
        for one in value[:MOST_BESIDE] if isinstance(value, (list, tuple)) else (value,):
            yield from sources_of(one)


def sources_of(value: Any) -> Iterator[Source]:
    """Local files of a function and of those that it wraps, or of the class that something has."""
    while isinstance(value, (MethodType, partial)):
        value = value.__func__ if isinstance(value, MethodType) else value.func
    if isinstance(value, FunctionType):
        yield from _of_file(value.__module__ or "", value.__code__.co_filename)
        held = [cell.cell_contents for cell in value.__closure__ or () if cell != _EMPTY]
        for one in [getattr(value, "__wrapped__", None), *held]:
            inner = getattr(one, "func", one) if is_ours(_file_of(type(one))) else one
            if isinstance(inner, (FunctionType, MethodType, partial)):
                yield from sources_of(inner)
        return
    kind = value if isinstance(value, type) else type(value)
    for base in kind.__mro__:
        functions = (one for one in vars(base).values() if isinstance(one, FunctionType))
        if (function := next(functions, None)) is not None:
            yield from _of_file(base.__module__, function.__code__.co_filename)


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", ""))


def _of_file(name: str, file: str) -> Iterator[Source]:
    path = Path(file)
    if not is_local(path):
        return
    parts = [] if name in ("", "__main__") else name.split(".")
    own = [*path.parts[:-1], *([] if path.name == "__init__.py" else [path.stem])]
    if not parts or own[-len(parts) :] != parts:  # loaded under another name
        parts = own[-1:]
    root = Path(*own[: -len(parts)])
    yield Source(".".join(parts), path, root)


def is_local(path: Path) -> bool:
    """Whether a file is people's own code: neither ours, nor Python's, nor installed."""
    text = str(path)
    if path.suffix != ".py" or is_ours(text) or any(one in path.parts for one in _INSTALLED):
        return False
    return not text.startswith(_STANDARD) and path.is_file()


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Dotted names of all that may be a module in the imports of a source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(filter(None, [*(above if node.level else ()), node.module]))
            yield from (".".join(filter(None, (base, one.name))) for one in node.names)


def _resolved(name: str, root: Path) -> Iterator[Source]:
    """The local files of a module and of the packages around it."""
    parts = name.split(".")
    if parts[0] in sys.stdlib_module_names:
        return
    for most in range(1, len(parts) + 1):
        dotted = ".".join(parts[:most])
        folder = root.joinpath(*parts[:most])
        for path in (folder / "__init__.py", folder.with_name(f"{folder.name}.py")):
            if is_local(path):
                yield Source(dotted, path, root)
                break
        else:
            module: ModuleType | None = sys.modules.get(dotted)
            file = getattr(module, "__file__", None)
            if isinstance(file, str):
                yield from _of_file(dotted, file)


def _beside(tree: ast.AST, source: Source) -> dict[str, Path]:
    """Files that a source names: prompts, lists of words, and folders of them.

    They are in its folder, in one around it within its package, or in a package named with dots.
    """
    found: dict[str, Path] = {}
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    own = source.path.parent
    around = [own, *(folder for folder in own.parents if source.root in folder.parents)]
    for text in sorted(texts):
        if not _PATH.fullmatch(text) or ".." in text:
            continue
        named = [folder / text for folder in around]
        if "." in text and own != source.root and text.split(".")[0] == source.name.split(".")[0]:
            named.append(source.root.joinpath(*text.split(".")))
        for path in named:
            is_folder = path.name not in _LEFT_OUT and path.is_dir()
            for one in sorted(path.iterdir())[:MOST_BESIDE] if is_folder else [path]:
                is_kept = one.suffix != ".py" and one.is_file() and one.stat().st_size <= MOST_BYTES
                if is_kept and not _is_installed(one, source.root):
                    found[one.relative_to(source.root).as_posix()] = one
    return found


def _is_installed(path: Path, root: Path) -> bool:
    """Whether a file is in a virtual environment below the folder of a source."""
    return any(is_virtual_environment(one) for one in path.parents if root in one.parents)
