"""Whether this machine has what an environment needs."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tui_eval.cli.installed import Installed, contradicted
from tui_eval.config.environment_defaults import own_folder
from tui_eval.engine.setup.hub_faults import LOG_IN
from tui_eval.environments.dependencies import dependencies_of, package_of, project_file
from tui_eval.environments.discovery import FoundEnvironment
from tui_eval.environments.needs import Need
from tui_eval.errors import Fault
from tui_eval.install_commands import own_venv
from tui_eval.own_folders import home_folder

WITHIN_S = 5.0
_OURS = ("tui-eval", "verifiers")


class Checked(NamedTuple):
    """One need, and why this machine lacks it; empty where it does not.

    Args:
        kind: Kind of the need, or `dependency` or `loading`.
        why: The fault.
        how: The remedy.
    """

    kind: str
    name: str
    place: str
    why: str = ""
    how: str = ""

    @property
    def fault(self) -> Fault | None:
        """The same as a fault; None where nothing lacks."""
        what = f"{self.kind} {self.name}: {self.why}"
        return Fault(self.place, what, self.how) if self.why and self.kind != "loading" else None

    def object(self) -> dict[str, Any]:
        """The same as plain JSON data."""
        known = {"kind": self.kind, "name": self.name, "place": self.place, "has": not self.why}
        return {**known, "why": self.why or None, "how": self.how or None}


def check_needs(
    needs: Iterable[Need], found: FoundEnvironment, installed: Installed | None = None
) -> list[Checked]:
    """Whether each need is met, and the dependencies of the environment's own project.

    Args:
        installed: Packages where the environment runs; those of this process, if left out.
    """
    installed = installed or Installed()
    project = project_file(found)
    wanted = [] if project is None else list(_dependencies(project, installed))
    by_name = {str(canonicalize_name(one.name)): str(one) for one, _ in wanted}
    checked = [
        _package(need, by_name, installed) if need.kind == "package" else _CHECKS[need.kind](need)
        for need in needs
    ]
    hints = {one.how for one in checked if one.how}
    unmet = _unmet(wanted, project, found, installed)
    return checked + [one for one in unmet if one.how not in hints]


def _dependencies(project: Path, installed: Installed) -> Iterator[tuple[Requirement, int]]:
    """Dependencies of a project that apply here, with their lines."""
    with contextlib.suppress(OSError, ValueError):
        lines = project.read_text("utf-8-sig").splitlines()
        for one in dependencies_of(project):
            try:
                wanted = Requirement(one)
            except InvalidRequirement:
                continue
            if wanted.marker is None or wanted.marker.evaluate(installed.markers):
                yield wanted, next((n for n, line in enumerate(lines, 1) if one in line), 1)


def _unmet(
    wanted: Iterable[tuple[Requirement, int]],
    project: Path | None,
    found: FoundEnvironment,
    installed: Installed,
) -> Iterator[Checked]:
    for one, line in wanted:
        if canonicalize_name(one.name) in _OURS:
            continue
        place, how = f"{project}:{line}", f"Install it: {installed.install(str(one))}"
        there = installed.version_of(one.name)
        if there is None:
            yield Checked("dependency", one.name, place, "it is not installed", how)
            continue
        fits = one.specifier.contains(there, prereleases=True)
        why = "" if fits else f"{there} is installed, and it requires {one.specifier}"
        if why and installed.found is None and (ours := contradicted(one)) is not None:
            why += f", while tui-eval needs {ours}"
            command = own_venv(str(own_folder(found)), [str(one)])
            how = f"Give it an interpreter of its own: {command}"
        yield Checked("dependency", one.name, place, why, "" if fits else how)


def _package(need: Need, wanted: dict[str, str], installed: Installed) -> Checked:
    if installed.has(need.name):
        return Checked(*need[:3])
    name = need.install or package_of(need.name)
    name = wanted.get(canonicalize_name(name), name)
    return Checked(*need[:3], "it is not installed", f"Install it: {installed.install(name)}")


def _key(need: Need) -> Checked:
    if os.environ.get(need.name):
        return Checked(*need[:3])
    how = f"export {need.name}=..., or a line of .env here"
    return Checked(*need[:3], "this variable is not set", how)


def _dataset(need: Need) -> Checked:
    if _is_cached(need.name):
        return Checked(*need[:3])
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    requested = urllib.request.Request(
        f"{endpoint.rstrip('/')}/api/datasets/{need.name}", headers=_token()
    )
    try:
        urllib.request.urlopen(requested, timeout=WITHIN_S).close()
    except urllib.error.HTTPError as error:
        why, how = "it is not there, or not open to you", LOG_IN
        if error.code not in (401, 403, 404):
            why, how = "the hub has trouble of its own", "Check again later"
        return Checked(*need[:3], f"the hub answers {error.code}: {why}", how)
    except (OSError, ValueError) as error:
        why = f"it is not in the cache, and the hub cannot be queried: {error}"
        return Checked(
            *need[:3], why, f"With a network: hf download --repo-type dataset {need.name}"
        )
    return Checked(*need[:3])


def _token() -> dict[str, str]:
    token = os.environ.get("HF_TOKEN")
    if not token and importlib.util.find_spec("huggingface_hub") is not None:
        from huggingface_hub import get_token

        token = get_token()
    return {"Authorization": f"Bearer {token}"} if token else {}


def _is_cached(name: str) -> bool:
    """Whether a dataset is on this machine, as files of the hub or as the tables made of them."""
    home = Path(os.environ.get("HF_HOME") or home_folder() / ".cache" / "huggingface")
    files = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    tables = Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets")
    if (files / f"datasets--{name.replace('/', '--')}").exists():
        return True
    wanted = _table_name(name.replace("/", "___"))
    return tables.is_dir() and any(_table_name(one.name) == wanted for one in tables.iterdir())


def _table_name(folder: str) -> list[str]:
    """Owner and name without what `datasets` changes in them: case, and `_` where it changes."""
    return [part.replace("_", "").lower() for part in folder.split("___")]


def _address(need: Need) -> Checked:
    from tui_eval.engine.setup.reachability import unreachable

    faults = unreachable(need.name)
    if not faults:
        return Checked(*need[:3])
    return Checked(*need[:3], faults[0].what, "Start the server, or check the network")


_CHECKS = {"key": _key, "dataset": _dataset, "address": _address}
