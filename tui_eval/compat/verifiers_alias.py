"""The alias: `import verifiers` gives our modules, the same objects under both names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder
from os import PathLike
from pathlib import Path
from types import ModuleType

import tui_eval
from tui_eval.compat.alias import AliasFinder
from tui_eval.compat.verifiers_names import MODULES, ROOT, missing_module, missing_name

OURS = "tui_eval"


class _VerifiersDistribution(Distribution):
    """The metadata of verifiers for `importlib.metadata`: its name, and our version."""

    def read_text(self, filename: str) -> str | None:
        """The text of METADATA; None for any other file."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: verifiers\nVersion: {tui_eval.__version__}\n"

    def locate_file(self, path: str | PathLike[str]) -> Path:
        """The path of a file of the distribution: beside our package."""
        return Path(tui_eval.__file__).parents[1] / path


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
        return [_VerifiersDistribution()]


_FINDER = _VerifiersFinder(
    ROOT,
    MODULES,
    "tui_eval.compat.imported_names",
    missing_module,
    "Call install_verifiers_alias() before the first import of verifiers; the command line leaves "
    "the real one alone with --no-alias",
)

install_verifiers_alias = _FINDER.install
uninstall_verifiers_alias = _FINDER.uninstall
verifiers_alias = _FINDER.installed
"""The alias for the time of a `with` block."""
