"""Links of the package page lead somewhere: the README of a wheel lies beside nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
URL = "https://git.example.org/people/tui-eval"
TARGET = re.compile(r"(!?)\[[^\]]*\]\(([^)]*)\)")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that a wheel is made from, without the code."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    for name in ("styles", "configs", "tui_eval"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
    return folder


def built(tree: Path, folder: Path) -> tuple[str, str]:
    """The long description in a wheel and in a source distribution."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist"]
    subprocess.run([*command, "-d", str(folder)], cwd=tree, check=True, capture_output=True)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith("/METADATA")]
        in_wheel = files.read(name).decode()
    with tarfile.open(source) as files:
        (name,) = [name for name in files.getnames() if name.endswith("/PKG-INFO")]
        assert f"{name.split('/')[0]}/hatch_build.py" in files.getnames()
        member = files.extractfile(name)
        assert member is not None
        in_source = member.read().decode()
    pages = []
    for text in (in_wheel, in_source):
        metadata = Parser().parsestr(text)
        assert metadata["Description-Content-Type"] == "text/markdown"
        pages.append(str(metadata.get_payload()))
    return pages[0], pages[1]


def test_pictures_and_links_lead_to_the_repository_that_is_named(
    tree: Path, tmp_path: Path
) -> None:
    here = tmp_path / "tree"
    shutil.copytree(tree, here)
    project = here / "pyproject.toml"
    text = re.sub(r"\[project\.urls\]\n(?:\w.*\n)*", "", project.read_text())
    project.write_text(f'{text}\n[project.urls]\nRepository = "{URL}"\n')
    for page in built(here, tmp_path / "dist"):
        found = TARGET.findall(page)
        assert (("!", f"{URL}/raw/HEAD/screenshots/watching-120x40.png")) in found
        assert (("", f"{URL}/blob/HEAD/docs/running.md")) in found
        assert all(target.startswith("https://") for _, target in found), found


def test_no_picture_or_link_of_the_page_leads_nowhere(tree: Path, tmp_path: Path) -> None:
    for page in built(tree, tmp_path / "dist"):
        assert "# tui-eval" in page
        assert all(target.startswith("https://") for _, target in TARGET.findall(page))


def test_what_the_readme_leads_to_is_there() -> None:
    targets = [target for _, target in TARGET.findall((ROOT / "README.md").read_text())]
    assert len(targets) > 15
    for target in targets:
        assert "://" in target or (ROOT / target.split("#")[0]).exists(), target
