"""`tui-eval plan`: the examples and rollouts that show a difference."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from command_here import command_here
from compared_runs import PASSES, two_runs, write_run
from program import Program


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("pilots")
    two = two_runs(folder)
    single = write_run(folder, "single", PASSES["A"], each=1)
    equal = folder / "equal"
    shutil.copytree(two[0], equal)
    rows = [json.loads(line) for line in (equal / "results.jsonl").read_text().splitlines()]
    text = "".join(json.dumps(row | {"reward": 1.0}) + "\n" for row in rows)
    (equal / "results.jsonl").write_text(text)
    return [*map(str, two), str(single), str(equal)]


def test_a_pilot_says_what_each_number_of_rollouts_takes(program: Program, runs: list[str]) -> None:
    done = program.run("plan", runs[0], "--detect", "0.1")
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == f"Pilot A: {runs[0]}"
    assert "12 examples x 3 rollouts" in lines[1]
    assert "correlation of 0.5" in done.out
    table = [line.split() for line in lines if re.match(r"^ +\d+ +[\d,]+ +[\d,]+ ", line)]
    assert [int(row[0]) for row in table] == [1, 2, 4, 8, 16]
    needed = [int(row[1].replace(",", "")) for row in table]
    assert needed == sorted(needed, reverse=True)
    assert f"tui-eval compare {runs[0]} AGAIN CHANGED" in done.out
    assert "Two runs of the pilot's size show differences of" in done.out


def test_the_smaller_the_difference_the_more_it_takes(program: Program, runs: list[str]) -> None:
    found = {}
    for detect in ("0.03", "0.1"):
        done = command_here(program, "plan", runs[0], "--detect", detect, "--json")
        found[detect] = json.loads(done.out)["needs"][0]["examples"]
    assert 9 < found["0.03"] / found["0.1"] < 12, "with the square of it"


def test_a_second_pilot_measures_what_else_is_assumed(program: Program, runs: list[str]) -> None:
    done = command_here(program, "plan", *runs[:2], "--json")
    reported = json.loads(done.out)
    assert reported["correlation"] is None and len(reported["pilots"]) == 2
    assert "Assumed" not in command_here(program, "plan", *runs[:2]).out


def test_rollouts_that_report_no_tokens_are_not_free(program: Program, runs: list[str]) -> None:
    def tokens(path: Path) -> float:
        needed = json.loads(command_here(program, "plan", str(path), "--json").out)["needs"][0]
        return float(needed["tokens"] / needed["rollouts"])

    reported, partly = (program.folder / name for name in ("reported", "partly"))
    for path, every in ((reported, 1), (partly, 2)):
        shutil.copytree(runs[0], path)
        lines = (path / "results.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        usage = {"token_usage": {"input_tokens": 100, "output_tokens": 50}}
        texts = [
            json.dumps(row | (usage if place % every == 0 else {"token_usage": None}))
            for place, row in enumerate(rows)
        ]
        (path / "results.jsonl").write_text("\n".join(texts) + "\n")
    assert tokens(reported) == tokens(partly) == 150


def test_one_rollout_an_example_says_less(program: Program, runs: list[str]) -> None:
    done = command_here(program, "plan", runs[2])
    assert done.code == 0
    assert "run -r 2 for less" in done.out


def test_a_metric_is_planned_for(program: Program, runs: list[str]) -> None:
    reported = json.loads(
        command_here(program, "plan", runs[0], "--metric", "exact_match", "--json").out
    )
    assert reported["metric"] == "exact_match" and reported["needs"]


def test_all_faults_are_reported_at_once(program: Program, runs: list[str]) -> None:
    done = command_here(
        program, "plan", *runs[:2], "--detect", "-1", "--correlation", "2", "--metric", "exact_mach"
    )
    assert done.code == 2 and done.out == ""
    assert "--detect: -1 is no difference above 0" in done.err
    assert "--correlation: 2 is not from 0 to below 1" in done.err
    assert done.err.count("Did you mean exact_match?") == 2
    assert "Did you mean reward?" in command_here(program, "plan", runs[0], "--metric", "rewad").err
    done = command_here(program, "plan", "nowhere", "--detect", "nan", "--json")
    assert done.code == 2
    assert [fault["where"] for fault in json.loads(done.out)["faults"]] == ["nowhere", "--detect"]


def test_a_pilot_that_shows_nothing_ends_with_7(program: Program, runs: list[str]) -> None:
    done = command_here(program, "plan", runs[3])
    assert (done.code, done.out) == (7, "")
    assert "all 12 examples of the pilot came to 1" in done.err
    done = command_here(program, "plan", runs[3], "--json")
    reported = json.loads(done.out)
    assert done.code == reported["exit_code"] == 7 and reported["status"] == "nothing measured"
    assert "came to 1" in reported["error"]


def test_one_run_is_not_two_pilots(program: Program, runs: list[str]) -> None:
    done = command_here(program, "plan", runs[0], f"{runs[0]}/results.jsonl")
    assert done.code == 2 and "this is the same run as A" in done.err


def test_a_difference_that_rewards_cannot_have_is_refused(
    program: Program, runs: list[str]
) -> None:
    done = command_here(program, "plan", runs[0], "--detect", "3")
    assert done.code == 2 and done.out == ""
    assert "--detect: " in done.err and "Did you mean 0.03?" in done.err
    assert command_here(program, "plan", runs[0], "--detect", "0_03").code == 2
    assert command_here(program, "plan", runs[0], "--detect", "1").code == 0


def test_a_difference_that_takes_too_many_examples_says_so(
    program: Program, runs: list[str]
) -> None:
    done = command_here(program, "plan", runs[0], "--detect", "1e-9")
    assert done.code == 0
    assert "more than 1,000,000,000 examples" in done.out


def test_pilots_over_other_examples_are_refused(program: Program, runs: list[str]) -> None:
    other = write_run(Path(runs[0]).parent, "other", PASSES["A"], questions=tuple("abcdefghijkl"))
    done = command_here(program, "plan", runs[0], str(other))
    assert done.code == 2
    assert "no example in common" in done.err
