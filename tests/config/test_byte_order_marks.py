"""Files that Notepad and PowerShell write, with a byte-order mark, say what they say without it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from program import Program

from tui_eval.config.draft import Draft
from tui_eval.config.env_file import load_env_file
from tui_eval.config.user_settings import read_user_settings, save_settings
from tui_eval.environments.listing import list_environments
from tui_eval.runs.layout import RunDir
from tui_eval.runs.notes import read_notes
from tui_eval.runs.run_info import read_requested

MARK = "\ufeff"
EVALS = '[[eval]]\r\nenv_id = "reverse-text"\r\nmodel = "own"\r\nendpoints_path = "ep.toml"\r\n'
REGISTRY = '[[endpoint]]\nendpoint_id = "own"\nmodel = "x"\nurl = "http://127.0.0.1:9/v1"\n'
ENVIRONMENT = '"""What it is."""\n'
PROJECT = '[project]\nname = "marked"\nversion = "1"\n[tool.tui-eval.eval]\nnum_examples = 7\n'


def marked(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MARK + text, encoding="utf-8")
    return path


@pytest.mark.process
def test_evaluations_registry_and_projects_are_read(program: Program) -> None:
    marked(program.folder / "evals.toml", EVALS.replace("reverse-text", "marked"))
    marked(program.folder / "ep.toml", REGISTRY)
    marked(program.folder / "environments" / "marked" / "marked.py", ENVIRONMENT)
    marked(program.folder / "environments" / "marked" / "pyproject.toml", PROJECT)
    done = program.run("config", "explain", "evals.toml")
    assert done.code == 0, done
    reported = {line.split()[0]: line.split()[1:] for line in done.out.splitlines() if line.split()}
    assert reported["model_at_endpoint"][0] == "x"
    assert reported["num_examples"][0] == "7"
    (found,) = [
        one for one in list_environments(program.folder / "environments") if one.env_id == "marked"
    ]
    assert found.summary == "What it is."


def test_a_draft_of_a_marked_file_is_neither_changed_nor_behind(tmp_path: Path) -> None:
    draft = Draft.load(marked(tmp_path / "evals.toml", EVALS))
    assert draft.form.text("env_id") == "reverse-text"
    assert not draft.is_changed() and not draft.is_behind()


def test_settings_are_read_and_saved(tmp_path: Path) -> None:
    path = marked(tmp_path / "config.toml", 'motion = "reduced"\n')
    settings, _, faults = read_user_settings(path)
    assert settings.motion == "reduced" and faults == []
    save_settings(path, {("other",): 1})
    assert path.read_text("utf-8").split() == ["motion", "=", '"reduced"', "other", "=", "1"]


def test_variables_notes_and_plans_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MARKED_VARIABLE", raising=False)
    assert load_env_file(marked(tmp_path / ".env", "MARKED_VARIABLE=1\n")) == []
    assert os.environ.pop("MARKED_VARIABLE") == "1"
    note = {"example_id": "a", "number": 0, "text": "odd", "tags": []}
    marked(tmp_path / "notes.jsonl", json.dumps(note) + "\n")
    assert read_notes(RunDir(tmp_path))["a", 0].text == "odd"
    marked(tmp_path / "run.toml", 'env_id = "x"\n')
    assert read_requested(RunDir(tmp_path)) == {"env_id": "x"}
