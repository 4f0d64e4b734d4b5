"""versions.json: what code the rows of a run are of, and what was installed when it was worked on.

Rows say by a number which version of the code they are of, where a run has more than the first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tui_eval import __version__
from tui_eval.runs.layout import RunDir
from tui_eval.runs.writer import write_atomically

DATASET = "dataset"
"""Name of the digest of a run's examples among the parts of its code."""

FILE = "code."
"""Before the name of a file among them."""

OURS = "tui-eval"
ENVIRONMENT = "environment"
"""Name of the version of the environment, whatever its package is."""

_FOLDER = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info")


class CodeVersion(msgspec.Struct, omit_defaults=True):
    """Version of the code that made some rows of a run."""

    parts: dict[str, str] = {}
    """Files, weights of reward functions, the judge's settings and the dataset by name, each as a
    text that is another one once the part is."""
    imported: list[str] = []
    """First names of the packages that the code imports."""
    at: str = ""
    """Start of a session with it, ISO 8601 in UTC."""


class RunBefore(msgspec.Struct, frozen=True):
    """Differences of an environment as it is now from the run that is to be resumed.

    Args:
        digest: Of as many examples as that run had.
        other_prompts: How many rows have another prompt than the example of their id; empty for
            none.
        version: Of the environment as it is now, where one is said.
    """

    digest: str
    other_prompts: str
    version: str | None = None


class Installed(msgspec.Struct, omit_defaults=True):
    """Versions installed in one session, by the names of packages, Python's among them."""

    versions: dict[str, str] = {}
    at: str = ""


class Versions(msgspec.Struct):
    """All that a run was worked on with, oldest first; each differs from the one before it."""

    code: list[CodeVersion] = []
    installed: list[Installed] = []

    @property
    def parts(self) -> dict[str, str]:
        """The parts of the code of the last session."""
        return self.code[-1].parts if self.code else {}

    @property
    def by_weight(self) -> dict[str, str]:
        """Versions installed in the last session, those that matter for the rows first."""
        versions = self.installed[-1].versions if self.installed else {}
        imported = self.code[-1].imported if self.code else []
        return {name: versions[name] for name in _by_weight(versions, imported)}

    def knows(self, code: CodeVersion) -> bool:
        """Whether some session had this code."""
        return any(one.parts == code.parts for one in self.code)

    def number_of(self, code: CodeVersion) -> int:
        """The number of a version of the code, from 1; it becomes the last one where it is new."""
        for number, one in enumerate(self.code, 1):
            if one.parts == code.parts:
                return number
        self.code.append(code)
        return len(self.code)


def read_versions(run: RunDir) -> Versions:
    """Content of a run's file; nothing where it is missing or torn."""
    try:
        return msgspec.json.decode(run.versions.read_bytes(), type=Versions)
    except (OSError, ValueError):
        return Versions()


def write_versions(run: RunDir, versions: Versions) -> None:
    """Writes the file."""
    write_atomically(run.versions, msgspec.json.format(msgspec.json.encode(versions)) + b"\n")


def installed_now(environment: str | None) -> Installed:
    """Versions that this process has, by the names of folders, which costs next to nothing."""
    python = ".".join(map(str, sys.version_info[:3]))
    return installed_there(environment, python, packages_in(sys.path))


def installed_there(environment: str | None, python: str, packages: Mapping[str, str]) -> Installed:
    """The same of another interpreter, by its version and those of its packages."""
    found = dict(sorted(packages.items()))
    own = {"python": python, OURS: __version__}
    if environment is not None:
        own[ENVIRONMENT] = environment
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Installed({**own, **{name: found[name] for name in found if name not in own}}, at)


def packages_in(folders: Iterable[str]) -> dict[str, str]:
    """Versions of the packages in folders, by name; of two with one name the first counts."""
    return dict(_packages(folders))


def _packages(folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names and versions of packages; of two with one name the first in the path comes last."""
    for folder in reversed(list(folders)):
        try:
            names = [path.name for path in Path(folder or ".").iterdir()]
        except OSError:
            continue
        for match in filter(None, map(_FOLDER.fullmatch, names)):
            yield re.sub(r"[-_.]+", "-", match["name"]).lower(), match["version"]


def differing_versions(
    several: Sequence[Mapping[str, str]], imported: Iterable[str] = ()
) -> dict[str, list[str | None]]:
    """Versions that are not the same in all of several, those that matter first.

    Those are Python's, the environment's, ours, and those of packages that the code imports. What
    one of them knows nothing of at all is not reported.
    """
    reported = [one for one in several if one]
    if len(reported) < len(several) or len(reported) < 2:
        return {}
    ordered = _by_weight({name for one in reported for name in one}, imported)
    found: dict[str, list[Any]] = {name: [one.get(name) for one in reported] for name in ordered}
    return {name: values for name, values in found.items() if len(set(values)) > 1}


def _by_weight(names: Iterable[str], imported: Iterable[str]) -> list[str]:
    """Python first, then the environment, ours, what the code imports, and all others by name."""
    first = ("python", ENVIRONMENT, OURS, *(one.lower().replace("_", "-") for one in imported))
    ranks = {name: place for place, name in reversed(list(enumerate(first)))}
    return sorted(names, key=lambda name: (ranks.get(name, len(first)), name))
