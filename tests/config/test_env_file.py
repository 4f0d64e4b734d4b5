"""`.env` in the working directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_eval.config.env_file import load_env_file
from tui_eval.errors import warning


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    before = os.environ.copy()
    yield
    os.environ.clear()
    os.environ.update(before)


def test_variables_that_are_set_stay() -> None:
    os.environ |= {"SET": "before", "EMPTY": ""}
    Path(".env").write_text(
        "# comment\nSET=after\nEMPTY=after\nexport NEW='a b'\nMORE=\"${SET}-x\" # tail\nBARE\n"
    )
    assert load_env_file() == []
    names = ("SET", "EMPTY", "NEW", "MORE", "BARE")
    assert [os.environ.get(name) for name in names] == ["before", "", "a b", "before-x", None]


def test_a_line_that_is_not_understood_is_reported_without_its_text() -> None:
    Path(".env").write_text("A=1\n'secret\nB=2\nC=a\0b\n")
    assert [str(notice) for notice in load_env_file()] == [
        "warning: .env:2: this line is no NAME=VALUE and was left out",
        "warning: .env:4: this line is no NAME=VALUE and was left out",
    ]
    assert (os.environ["A"], os.environ["B"]) == ("1", "2")
    assert "C" not in os.environ


def test_there_need_not_be_one() -> None:
    assert load_env_file() == []
    Path(".env").mkdir()
    assert load_env_file() == []


def test_what_cannot_be_read_is_reported() -> None:
    Path(".env").write_bytes(b"A=\xff")
    assert load_env_file() == [warning(".env was not read: UnicodeDecodeError")]
