"""A run directory of version 0.2, half finished, is read and resumed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from program import Program

WRITTEN = Path(__file__).parents[1] / "data" / "ours" / "tui-eval-0.2"


def test_its_numbers_are_those_that_it_was_saved_with(program: Program) -> None:
    shutil.copytree(WRITTEN, program.folder / "run")
    done = program.run("report", "run", "--json")
    assert done.code == 0, done
    [found] = [json.loads(line) for line in done.out.splitlines()]
    saved = json.loads((WRITTEN / "metadata.json").read_text())
    assert found["reward"]["mean"] == saved["avg_reward"]
    assert {name: one["mean"] for name, one in found["metrics"].items()} == saved["avg_metrics"]


def test_it_is_resumed_where_it_stopped(program: Program) -> None:
    run = program.folder / "run"
    shutil.copytree(WRITTEN, run)
    done = program.run("run", "--resume", "run", "--accept-changes", "-d")
    assert done.code == 0, done
    before = (WRITTEN / "results.jsonl").read_bytes().splitlines()
    after = (run / "results.jsonl").read_bytes().splitlines()
    assert after[: len(before)] == before
    places = [(row["example_id"], row["tui_eval"]["rollout"]) for row in map(json.loads, after)]
    assert sorted(places) == [(example, number) for example in range(3) for number in range(2)]
