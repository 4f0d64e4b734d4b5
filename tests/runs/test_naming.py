"""Run that a folder names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_runs import line, write_run

from tui_eval.errors import RefusedError
from tui_eval.runs.saved_run import named_run


def test_a_folder_above_one_run_names_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "out/evals/my-env--m/r1", [line(0, 0)])
    for folder in ("out", "out/evals", "out/evals/my-env--m", "out/evals/my-env--m/r1"):
        assert named_run(tmp_path / folder) == run
    write_run(tmp_path / "out/evals/my-env--m/.old", [line(0, 0)])
    assert named_run(tmp_path / "out/evals") == run, "hidden folders are left out"
    write_run(tmp_path / "out/evals/other--m/r2", [line(0, 0)])
    assert named_run(tmp_path / "out/evals/my-env--m") == run
    for folder in ("out", "out/evals"):
        with pytest.raises(RefusedError, match=r"holds 2 runs.*r1, .*r2"):
            named_run(tmp_path / folder)


def test_files_of_rollouts_in_a_folder_go_before_a_run_below_it(tmp_path: Path) -> None:
    write_run(tmp_path / "below", [line(0, 0)])
    for name in ("a.jsonl", "b.jsonl"):
        chat = {"messages": [{"role": "user", "content": name}]}
        (tmp_path / name).write_text(json.dumps(chat) + "\n", encoding="utf-8")
    with pytest.raises(RefusedError, match=r"several runs: a\.jsonl, b\.jsonl"):
        named_run(tmp_path)
