"""The alias: `import verifiers` gives our modules, the same objects under both names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

from tui_eval.compat.alias import AliasFinder
from tui_eval.compat.missing_names import missing_module, missing_name
from tui_eval.compat.verifiers_names import MODULES, ROOT

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

OURS = "tui_eval"


class _VerifiersFinder(AliasFinder):
    """Also answers for names that our package lacks, and for the version of verifiers."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.is_theirs(fullname):
            return super().find_spec(fullname, path, target)
        package, _, name = fullname.rpartition(".")
        if package != OURS:
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is None:
            # `from verifiers import Name` ends here once the package has no such attribute.
            raise ImportError(missing_name(name), name=ROOT)
        return found

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterable[Distribution]:
        if context is None or context.name != ROOT:
            return []
        from tui_eval.compat.virtual_distribution import VerifiersDistribution

        return [VerifiersDistribution()]


_FINDER = _VerifiersFinder(
    ROOT,
    MODULES,
    "tui_eval.compat.imported_names",
    missing_module,
    "Call install_verifiers_alias() before the first import of verifiers; the command line leaves "
    "the real one alone with --no-alias",
)


def install_verifiers_alias() -> None:
    """Makes `verifiers` and its submodules import as our modules in this process.

    Nothing is imported before it is asked for. It does not matter whether the real package is
    installed; a second call changes nothing.

    Raises:
        RuntimeError: The real package has been imported in this process already.
    """
    _FINDER.install()


def uninstall_verifiers_alias() -> None:
    """Takes the alias away; modules that were imported through it stay with who has them."""
    _FINDER.uninstall()


@contextmanager
def verifiers_alias() -> Iterator[None]:
    """The alias for the time of a `with` block.

    Raises:
        RuntimeError: As `install_verifiers_alias` does.
    """
    install_verifiers_alias()
    try:
        yield
    finally:
        uninstall_verifiers_alias()
