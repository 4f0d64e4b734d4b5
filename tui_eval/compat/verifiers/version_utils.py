"""`verifiers.utils.version_utils`: versions and commits of what runs."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
from pathlib import Path

import tui_eval
from tui_eval.types import VersionInfo


def get_commit_for_path(path: Path) -> str | None:
    """The commit that is checked out where a file or folder is; None outside of a repository."""
    folder = path if path.is_dir() else path.parent
    try:
        requested = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=5,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return requested.stdout.strip() if requested.returncode == 0 else None


def get_package_source_path(package_name: str) -> Path | None:
    """The folder of a package, which is imported; None where it cannot be."""
    try:
        file = importlib.import_module(package_name).__file__
    except Exception:  # it is people's code
        return None
    return Path(file).parent if file else None


def get_vf_version() -> str:
    """Our version: what `verifiers.__version__` says here."""
    return tui_eval.__version__


def get_vf_commit() -> str | None:
    """The commit of our own source; None where it is installed as a package."""
    return get_commit_for_path(Path(tui_eval.__file__).parent)


def get_env_version(env_id: str) -> str | None:
    """The installed version of an environment; None where it is not installed."""
    try:
        return importlib.metadata.version(_module(env_id))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None


def get_env_commit(env_id: str) -> str | None:
    """The commit of an environment's source; None outside of a repository."""
    source = get_package_source_path(_module(env_id)) if _module(env_id) else None
    return None if source is None else get_commit_for_path(source)


def get_version_info(env_id: str) -> VersionInfo:
    """All of these at once."""
    return VersionInfo(
        vf_version=get_vf_version(),
        vf_commit=get_vf_commit(),
        env_version=get_env_version(env_id),
        env_commit=get_env_commit(env_id),
    )


def _module(env_id: str) -> str:
    return env_id.replace("-", "_").rpartition("/")[2]
