"""Interpreters of their own for environments: virtual environments with hand-made packages."""

from __future__ import annotations

import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

PYDANTIC = ("pydantic", "pydantic-core", "annotated-types", "typing-inspection")
AIOHTTP = ("aiohttp", "aiohappyeyeballs", "aiosignal", "attrs", "frozenlist", "idna", "multidict",
           "propcache", "yarl")  # fmt: skip
NEEDED = (*PYDANTIC, *AIOHTTP, "msgspec", "platformdirs", "typing-extensions")
"""Packages of a worker, with those that they need in turn."""


def make_interpreter(folder: Path, packages: Iterable[str] = NEEDED) -> Path:
    """Makes a virtual environment with some of the packages of this one; returns its python."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    own = Path(sysconfig.get_path("purelib"))
    for package in packages:
        for file in distribution(package).files or ():
            top = file.parts[0]
            if top != ".." and not (site / top).is_symlink():
                (site / top).symlink_to(own / top)
    return folder / "bin" / "python"


def add_package(python: Path, name: str, version: str, source: str) -> None:
    """Gives a virtual environment a package of one module."""
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    (site / f"{name}.py").write_text(source)
    about = site / f"{name}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def make_program(path: Path, python_code: str) -> Path:
    """Makes a program that runs code with this interpreter, and could pass for one."""
    path.write_text(f"#!{sys.executable}\n{python_code}")
    path.chmod(0o755)
    return path


def make_wheels(folder: Path, packages: Iterable[str] = NEEDED) -> Path:
    """Makes wheels of packages of this environment, for installers that reach no index."""
    folder.mkdir()
    for package in packages:
        found = distribution(package)
        tags = [
            line[5:] for line in (found.read_text("WHEEL") or "").splitlines() if "Tag: " in line
        ]
        name = f"{found.metadata['Name'].replace('-', '_')}-{found.version}-{tags[0]}.whl"
        with zipfile.ZipFile(folder / name, "w") as wheel:
            for file in found.files or ():
                if file.parts[0] != ".." and "__pycache__" not in file.parts:
                    wheel.write(str(file.locate()), str(file))
    return folder
