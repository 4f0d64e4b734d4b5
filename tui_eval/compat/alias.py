"""Modules of another library by their own names, found as ours: what every alias shares."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any

_IMPORT_FROM = opmap["IMPORT_FROM"]


@dataclass(eq=False)
class AliasFinder:
    """Finds the modules of one library as ours, and says what to do about all others of it.

    Args:
        root: The library's package.
        modules: Ours by theirs; None for a package that only holds others.
        home: Our module that has every public name of theirs.
        missing: Says what to do about a module of theirs, by its whole name, that we do not have.
        unalias: Advice where the real package is wanted, or has been imported already.
    """

    root: str
    modules: Mapping[str, str | None]
    home: str
    missing: Callable[[str], str]
    unalias: str

    def __post_init__(self) -> None:
        self._packages = {
            ours: _Attributes(name, self.modules, self.home)
            for name, ours in self.modules.items()
            if ours
            and name != self.root
            and any(other.startswith(f"{name}.") for other in self.modules)
        }

    def install(self) -> None:
        """Makes the library's names ours in this process; a second call changes nothing.

        Nothing is imported before it is used, and it does not matter whether the real
        package is installed.

        Raises:
            RuntimeError: The real package has been imported in this process already.
        """
        if self in sys.meta_path:
            return
        real = sys.modules.get(self.root)
        if real is not None:
            place = getattr(real, "__file__", None) or "an unknown place"
            raise RuntimeError(
                f"{self.root} has been imported from {place} already. {self.unalias}"
            )
        sys.meta_path.insert(0, self)
        for ours in self._packages.keys() & sys.modules.keys():
            vars(sys.modules[ours]).setdefault("__getattr__", self._packages[ours])

    def uninstall(self) -> None:
        """Takes the alias away; modules that were imported through it stay with who has them."""
        if self not in sys.meta_path:
            return
        sys.meta_path.remove(self)
        aliased = {name: module for name, module in sys.modules.items() if self.is_theirs(name)}
        for name, module in aliased.items():
            parent, _, child = name.rpartition(".")
            holder = aliased.get(parent)
            # Importing a submodule also made it an attribute of its package, under their name.
            if holder is not None and f"{holder.__name__}.{child}" != module.__name__:
                vars(holder).pop(child, None)
        packages = [sys.modules[ours] for ours in self._packages if ours in sys.modules]
        for module in (*aliased.values(), *packages):
            if isinstance(vars(module).get("__getattr__"), _Attributes):
                del vars(module)["__getattr__"]
        for name in aliased:
            del sys.modules[name]

    @contextmanager
    def installed(self) -> Iterator[None]:
        """The library's names as ours for the time of a `with` block; raises as `install` does."""
        self.install()
        try:
            yield
        finally:
            self.uninstall()

    def is_theirs(self, name: str) -> bool:
        """Whether a module is the library's by its name."""
        return name == self.root or name.startswith(f"{self.root}.")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of theirs, or of a package of ours in place of one of theirs.

        None for all other modules.

        Raises:
            ModuleNotFoundError: It is theirs, and we do not have it; says what to do.
        """
        if fullname in self._packages:
            # It becomes an attribute of its parent, also where it is imported by our name first.
            spec = PathFinder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _PackageLoader(spec.loader, self._packages[fullname])
            return spec
        if not self.is_theirs(fullname):
            return None
        if fullname not in self.modules:
            # Without a name: `from package import it` passes over a module missing by its name.
            raise ModuleNotFoundError(self.missing(fullname))
        return ModuleSpec(fullname, _Loader(self.modules, self.home), is_package=True)


@dataclass(eq=False)
class _Loader(Loader):
    """Puts our module where theirs is looked for; its name and spec stay its own."""

    modules: Mapping[str, str | None]
    home: str

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        ours = self.modules[name]
        if ours is not None:
            module = sys.modules[name] = importlib.import_module(ours)
        attributes = _Attributes(name, self.modules, self.home)
        vars(module).setdefault("__getattr__", attributes)


@dataclass(eq=False)
class _PackageLoader(Loader):
    """Loads a package of ours as its own loader does, and gives it their modules by their names."""

    own: Loader
    attributes: _Attributes

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.own
        self.own.exec_module(module)
        vars(module).setdefault("__getattr__", self.attributes)


@dataclass(eq=False)
class _Attributes:
    """The further attributes of a module: modules in it by their names, and all public names.

    Args:
        module: As the library calls it.
    """

    module: str
    modules: Mapping[str, str | None]
    home: str

    def __call__(self, name: str) -> Any:
        if f"{self.module}.{name}" in self.modules:
            return importlib.import_module(f"{self.module}.{name}")
        if name.startswith("__"):
            raise AttributeError(f"module {self.module!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(self.home), name)
        except AttributeError as error:
            if is_from_import(sys._getframe(1)):
                # Python would say no more than that it cannot import the name.
                raise ImportError(str(error)) from None
            raise


def is_from_import(frame: FrameType | None) -> bool:
    """Whether the first frame that is not ours is at the `name` of `from module import name`."""
    while frame is not None and _passes_on(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


def _passes_on(module: str) -> bool:
    """Whether a module of ours reads an attribute because somebody reads it there."""
    return module == "tui_eval" or module.startswith("tui_eval.compat.")
