"""Dependencies of an environment's project, and the packages of modules."""

from __future__ import annotations

import re
from pathlib import Path

from tui_eval.environments.discovery import FoundEnvironment, project_of

_CALLED = {
    "Crypto": "pycryptodome",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "pymupdf",
    "git": "gitpython",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Packages of modules that have another name."""
_NAME = re.compile(r"\s*([\w.-]+)")


def package_of(module: str) -> str:
    """The name of the package that a top module is of."""
    return _CALLED.get(module, module.replace("_", "-"))


def project_file(found: FoundEnvironment) -> Path | None:
    """The pyproject.toml of a local environment, or the nearest around it."""
    if found.origin != "local" or found.path is None:
        return None
    above = list(found.path.parents)[:3]
    return next(
        (one / "pyproject.toml" for one in above if (one / "pyproject.toml").is_file()), None
    )


def dependencies_of(project: Path) -> list[str]:
    """The dependencies that a pyproject.toml lists; none where it cannot be read."""
    listed = project_of(project.parent).get("dependencies")
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def requirement_of(module: str, found: FoundEnvironment) -> str:
    """The package to install for a module: as the environment's project lists it, else its own.

    An interpreter of the environment's own may have nothing that reads requirements.
    """
    package, project = package_of(module), project_file(found)
    for one in dependencies_of(project) if project is not None else ():
        named = _NAME.match(one)
        if named is not None and _canonical(named[1]) == _canonical(package):
            return one.partition(";")[0].strip()
    return package


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
