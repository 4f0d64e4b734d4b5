"""`tui-eval new-env`: what it writes runs, passes its tests, and takes nothing away."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from program import Program
from run_here import run_here

from tui_eval.cli.new_env import KINDS, write_environment
from tui_eval.errors import RefusedError

FILES = ["README.md", "pyproject.toml", "questions.jsonl"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_it_writes_runs_at_once_and_passes_its_tests(program: Program, kind: str) -> None:
    done = program.run("new-env", "my-first", "--kind", kind)
    assert done.code == 0, done
    folder = program.folder / "environments" / "my_first"
    files = sorted([*FILES, "my_first.py", "test_my_first.py"])
    assert sorted(path.name for path in folder.iterdir()) == files
    assert "tui-eval my-first -m demo" in done.out
    run = run_here(program, "my-first", "-m", "demo", "-n", "1", "-r", "12", "-o", "kept")
    assert run.code == 0, run
    (kept,) = program.runs(program.folder / "kept")
    rows = kept.rows
    assert len({(row["reward"], row["stop_condition"]) for row in rows}) >= 2
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        capture_output=True, text=True, timeout=100, cwd=program.folder,
        env={**program.env, "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert tests.returncode == 0, tests.stdout + tests.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_writes_is_clean_code(tmp_path: Path, kind: str) -> None:
    made = write_environment("my-env", kind, tmp_path)
    config = ["--config", str(Path(__file__).parents[2] / "pyproject.toml"), "--no-cache"]
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, *config, str(made.folder)],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    lines = (made.folder / "questions.jsonl").read_text().splitlines()
    assert all({"question", "answer"} == json.loads(line).keys() for line in lines)
    texts = [path.read_text() for path in made.folder.iterdir()]
    assert not any(word in text for text in texts for word in ("MODULE", "SUMMARY", "FOLDER"))


def test_a_name_like_a_word_of_the_templates_stays_itself(tmp_path: Path) -> None:
    made = write_environment("my-SUMMARY", "single", tmp_path / "a folder")
    project = tomllib.loads((made.folder / "pyproject.toml").read_text())["project"]
    assert (project["name"], project["description"]) == ("my-SUMMARY", KINDS["single"])
    assert "from my_SUMMARY import" in (made.folder / "test_my_SUMMARY.py").read_text()
    assert f"pytest '{made.folder}'" in (made.folder / "README.md").read_text()


def test_questions_have_the_right_article(tmp_path: Path) -> None:
    made = write_environment("shop", "tool", tmp_path)
    assert not re.search(r"\ba [aeiou]", (made.folder / "questions.jsonl").read_text())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a b", "no name for an environment"),
        ("9lives", "a letter first"),
        ("me/mine", "no name for an environment"),
        ("-x", "no name for an environment"),
        ("random", "a module of its library"),
        ("class", "a word of Python"),
        ("report", "is a command"),
        ("x" * 300, "240 are the most"),
    ],
)
def test_names_that_cannot_be_are_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        write_environment(name, "single", tmp_path / "environments")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", ["my_env", "my-env", "my_env.py"])
def test_nothing_that_is_there_is_overwritten(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(RefusedError, match=r"already\. Nothing was overwritten"):
        write_environment("my-env", "tool", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_a_folder_that_takes_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "environments").write_text("a file")
    with pytest.raises(RefusedError, match="cannot be written here"):
        write_environment("my-env", "single", tmp_path / "environments")
