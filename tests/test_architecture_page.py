"""docs/architecture.md and CONTRIBUTING.md say what the import contracts and the folders say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
GUIDE = ROOT / "CONTRIBUTING.md"
CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "importlinter"
]["contracts"]
BLOCK = re.compile(r"^\*\*([^*\n]+)\*\*\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`(\w[\w./-]*(?:\.py|\.md|\.toml|\.tcss|/))`")
AT_MOST = {
    "The way of one flag": 10,
    "The way of one rollout": 12,
    "The way of one rollout to its row on screen": 12,
    "The way of one key press": 12,
    "The way of a resume": 12,
}
"""Files that a reader has to open to follow it."""
EVERY_PATH = (
    "The way of one flag",
    "The way of one rollout to its row on screen",
    "The way of a resume",
)
"""Ways of which every path of a step counts, and not the first alone."""


def sections(document: Path) -> dict[str, str]:
    """The text below each heading."""
    _, *parts = re.split(r"^## ", document.read_text(), flags=re.MULTILINE)
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def test_the_page_has_the_import_contracts() -> None:
    written = dict(BLOCK.findall(PAGE.read_text()))
    assert list(written) == [one["name"] for one in CONTRACTS]
    for contract in CONTRACTS:
        lines = written[contract["name"]].splitlines()
        if contract["type"] == "layers":
            layers = [re.split(r"\s{2,}", line)[0] for line in lines]
            assert layers == contract["layers"], contract["name"]
        else:
            sources, targets = (
                [name.removeprefix("tui_eval.") for name in contract[key]]
                for key in ("source_modules", "forbidden_modules")
            )
            assert lines == [" ".join(sources), f"-> {' '.join(targets)}"], contract["name"]


@pytest.mark.parametrize("name", AT_MOST)
def test_a_way_is_short(name: str) -> None:
    steps = re.findall(r"^(\d+)\. (`[\w./]+`: .*(?:\n +.*)*)", sections(PAGE)[name], re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    named = [PATH.findall(text) for _, text in steps]
    assert len({paths[0] for paths in named}) == len(steps)
    opened = {path for paths in named for path in (paths if name in EVERY_PATH else paths[:1])}
    assert len(opened) <= AT_MOST[name]


@pytest.mark.parametrize("document", [PAGE, GUIDE], ids=lambda path: path.name)
def test_every_path_in_the_page_is_there(document: Path) -> None:
    named = PATH.findall(document.read_text())
    assert named
    homes = (ROOT, ROOT / "tui_eval", ROOT / "tests")
    missing = [name for name in named if not any((home / name).exists() for home in homes)]
    assert missing == []
