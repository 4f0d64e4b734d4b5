"""Finds environments by their ids."""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import importlib.util
import os
import pkgutil
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from tui_eval.environments.imports import local_roots
from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.install_commands import install_command

Origin: TypeAlias = Literal["local", "bundled", "installed", "entry point"]

ENTRY_POINTS = "tui_eval.environments"
LONGEST = 240
"""Bytes of a module's name at most: with an ending it must be a file's name."""

_BUNDLED = "tui_eval.demo.environments"


class FoundEnvironment(msgspec.Struct, frozen=True):
    """One environment that can be imported.

    Args:
        module_name: The module to import.
        path: The module's file; None where only importing would say.
        origin: The kind of place in which it was found.
        function: The function in the module that makes it.
    """

    module_name: str
    path: Path | None
    origin: Origin
    function: str = "load_environment"

    @property
    def root(self) -> Path | None:
        """The folder from which the module, and what is beside it, is imported."""
        if self.path is None:
            return None
        return self.path.parents[1] if self.path.name == "__init__.py" else self.path.parent

    @property
    def code(self) -> Path | None:
        """The folder or file that holds the author's code and nobody else's."""
        if self.origin == "local" or self.path is None:
            return self.root
        return self.path.parent if self.path.name == "__init__.py" else self.path


def module_name_of(env_id: str) -> str:
    """The name of an environment's module: `owner/my-env@1.0` is `my_env`."""
    return env_id.rsplit("/", 1)[-1].split("@", 1)[0].replace("-", "_")


def find_environment(
    env_id: str, environments_dir: Path = Path("environments")
) -> FoundEnvironment:
    """Looks in `environments_dir`, among the bundled ones, installed modules and entry points.

    Raises:
        RefusedError: It is nowhere; says where was looked, and names the closest ids.
    """
    name = module_name_of(env_id)
    found = None
    if name.isidentifier() and len(os.fsencode(name)) <= LONGEST:
        found = (
            _find_local(name, environments_dir)
            or _find_bundled(name)
            or _find_installed(name, environments_dir)
            or _find_entry_point(name)
        )
    if found is not None:
        return found
    known = known_environments(environments_dir)
    places = (
        f"{environments_dir.absolute()}, the bundled environments, installed modules named "
        f"{name}, and entry points {ENTRY_POINTS}"
    )
    requested = (name or env_id.strip("/")).replace("_", "-")
    hint = nearest(requested, known) or f"Known: {', '.join(known) or 'none'}."
    what = "there is no such environment"
    other = [
        reported for path in _folders_of(name, environments_dir) if (reported := framework_of(path))
    ]
    if other:
        raise RefusedError([Fault(f"environment {env_id}", "it is no environment", other[0])])
    if name.isidentifier():
        hint += f" {_how_to_install(env_id, name)}"
        what += f". Looked in {places}"
    raise RefusedError([Fault(f"environment {env_id}", what, hint)])


def _how_to_install(env_id: str, name: str) -> str:
    """Commands that install an environment that others publish: from the hub, or as a package."""
    package = name.replace("_", "-")
    on_hub = env_id if "/" in env_id else f"OWNER/{package}"
    install = install_command([package])
    return f"One of others is installed: prime env install {on_hub}, or {install}"


def known_environments(environments_dir: Path = Path("environments")) -> list[str]:
    """The ids of local and bundled environments and of entry points, sorted."""
    names = {point.name for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}
    names |= {module.name for module in pkgutil.iter_modules(_bundled_folders())}
    if environments_dir.is_dir():
        for entry in environments_dir.iterdir():
            name = module_name_of(entry.stem if entry.suffix == ".py" else entry.name)
            if name.isidentifier() and _find_local(name, environments_dir, by_package=False):
                names.add(name)
    return sorted(name.replace("_", "-") for name in names)


def _find_local(name: str, folder: Path, *, by_package: bool = True) -> FoundEnvironment | None:
    if not folder.is_dir():
        return None
    for path in _local_files(name, folder):
        if path.is_file() and _is_spelled_so(path, folder):
            return FoundEnvironment(name, path.absolute(), "local")
    own = map(packaged_module, _folders_of(name, folder))  # of a project with a folder of the name
    packaged = next(filter(None, own), None)
    if packaged is None and by_package:
        packaged = _of_other_folder(name, folder)
    if packaged is None:
        return None
    module = packaged.parent.name if packaged.name == "__init__.py" else packaged.stem
    return FoundEnvironment(module, packaged.absolute(), "local")


def _of_other_folder(name: str, folder: Path) -> Path | None:
    """The module of the only project whose package has this name, where its folder has another."""
    projects = sorted(path.parent for path in folder.glob("*/pyproject.toml"))
    found = [project for project in projects if project_name(project) == name]
    return packaged_module(found[0]) if len(found) == 1 else None


def _folders_of(name: str, folder: Path) -> list[Path]:
    spellings = dict.fromkeys((name, name.replace("_", "-")))
    found = [folder / spelling for spelling in spellings]
    return [path for path in found if path.is_dir() and _is_spelled_so(path, folder)]


def _is_spelled_so(path: Path, folder: Path) -> bool:
    """Whether a path that is there has these names also where the system ignores case."""
    with contextlib.suppress(PermissionError):  # a folder of which nobody may see what is in it
        while path != folder:
            if all(one.name != path.name for one in path.parent.iterdir()):
                return False
            path = path.parent
    return True


def _local_files(name: str, folder: Path) -> Iterator[Path]:
    spellings = dict.fromkeys((name, name.replace("_", "-")))
    for spelling in spellings:
        yield folder / f"{spelling}.py"
    for spelling in spellings:
        yield folder / spelling / "__init__.py"
        for inner in (folder / spelling, folder / spelling / "src"):
            yield inner / f"{name}.py"
            yield inner / name / "__init__.py"


def _bundled_folders() -> list[str]:
    try:
        spec = importlib.util.find_spec(_BUNDLED)
    except ModuleNotFoundError:
        return []
    return list(spec.submodule_search_locations or []) if spec else []


def _find_bundled(name: str) -> FoundEnvironment | None:
    for folder in _bundled_folders():
        for path in (Path(folder) / f"{name}.py", Path(folder) / name / "__init__.py"):
            if path.is_file():
                return FoundEnvironment(f"{_BUNDLED}.{name}", path, "bundled")
    return None


def _find_installed(name: str, environments_dir: Path) -> FoundEnvironment | None:
    if name in sys.stdlib_module_names:
        return None
    for finder in sys.meta_path:
        spec = _spec(finder, name, environments_dir)
        if spec is not None and spec.origin and spec.has_location:
            return FoundEnvironment(name, Path(spec.origin), "installed")
    return None


def _spec(finder: object, name: str, environments_dir: Path) -> ModuleSpec | None:
    """Searches with one finder; local environments on the path are not installed modules."""
    if finder is PathFinder:
        local = {*map(str, local_roots()), str(environments_dir.absolute())}
        return PathFinder.find_spec(name, [folder for folder in sys.path if folder not in local])
    find = getattr(finder, "find_spec", None)
    spec: ModuleSpec | None = find(name, None) if find else None
    return spec


def _find_entry_point(name: str) -> FoundEnvironment | None:
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        if module_name_of(point.name) == name:
            function = point.attr or "load_environment"
            return FoundEnvironment(point.module, None, "entry point", function)
    return None


_MAKES = re.compile(rb"^\s*(?:async )?(?:def|from|import)\b.*\bload_environment\b", re.MULTILINE)
_LARGEST = 1 << 20


def packaged_module(folder: Path) -> Path | None:
    """The file of the module that a project's folder is packaged from; None where that is open.

    It is the module of the project's own name, or the only one with a `load_environment`.
    """
    name = project_name(folder)
    if name is None:
        return None
    modules = list(_modules(folder))
    named = [path for path in modules if _name_of(path) == name]
    making = named or [path for path in modules if _makes(path)]
    return making[0] if len(making) == 1 else None


def project_name(folder: Path) -> str | None:
    """The name in a folder's pyproject.toml, as a module's; None without one."""
    name = project_of(folder).get("name")
    return re.sub(r"[-_.]+", "_", name).lower() if isinstance(name, str) else None


def project_of(folder: Path) -> dict[str, Any]:
    """`[project]` in a folder's pyproject.toml; empty where there is none that can be read."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8-sig")).get("project")
    except (OSError, ValueError, RecursionError):
        return {}
    return project if isinstance(project, dict) else {}


def _modules(folder: Path) -> Iterator[Path]:
    for inner in (folder, folder / "src"):
        if inner.is_dir():
            yield from sorted(inner.glob("*.py"))
            yield from sorted(inner.glob("*/__init__.py"))


def _name_of(path: Path) -> str:
    return path.parent.name if path.name == "__init__.py" else path.stem


def _makes(path: Path) -> bool:
    try:
        if not _name_of(path).isidentifier() or path.stat().st_size > _LARGEST:
            return False
        return _MAKES.search(path.read_bytes()) is not None
    except OSError:
        return False


_BY_IMPORT = {
    "inspect_ai": "Inspect's. `inspect eval` runs it",
    "lm_eval": "of the LM Evaluation Harness. `lm_eval` runs it",
    "atroposlib": "Atropos'. It runs itself: `python FILE process`",
    "nemo_gym": "NeMo Gym's. `ng_run` runs it",
    "openenv": "OpenEnv's. An environment that returns OpenEnvEnv runs it",
    "openenv_core": "OpenEnv's. An environment that returns OpenEnvEnv runs it",
    "osmosis_ai": "of the Osmosis SDK. `tui-eval agent` runs its agent loops and reward functions",
    "gymnasium": "Gymnasium's. An environment that returns a GymEnv around it runs it",
    "textarena": "TextArena's. An environment that returns a TextArenaEnv runs it",
    "reasoning_gym": "reasoning-gym's. An environment that returns a ReasoningGymEnv runs it",
}
_BY_FILE = {
    "openenv.yaml": _BY_IMPORT["openenv"],
    "task.toml": "Harbor's. `harbor run` runs it",
}


def framework_of(path: Path) -> str:
    """The project that a module or folder is of, and what runs it, as a sentence; or empty."""
    if path.is_dir():
        found = next(
            (reported for name, reported in _BY_FILE.items() if (path / name).is_file()), ""
        )
    else:
        imported = _imported(path)
        found = next((reported for name, reported in _BY_IMPORT.items() if name in imported), "")
    return f"It is {found}" if found else ""


def framework_of_class(kind: type) -> str:
    """The same for a class that one of them made or that derives from one of theirs."""
    roots = [base.__module__.partition(".")[0] for base in kind.__mro__]
    found = next((_BY_IMPORT[root] for root in roots if root in _BY_IMPORT), "")
    return f"It is {found}" if found else ""


def _imported(path: Path) -> set[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names
