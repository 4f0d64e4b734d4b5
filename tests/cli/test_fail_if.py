"""`tui-eval report --fail-if`: a verdict and its exit code, only where the numbers carry one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import saved_rewards
from program import Program

from tui_eval.cli.main import cli


def saved(folder: Path, groups: Sequence[Sequence[float | None]], name: str = "run") -> str:
    """A run with one metric, `brevity`, of 0.5 on every rollout."""
    return saved_rewards.saved(folder, name, groups, metrics={"brevity": 0.5}, grows=False)


HALF = [[1.0], [0.0]] * 6


@pytest.mark.parametrize(
    ("groups", "conditions", "code", "reported"),
    [
        (HALF, ["mean(reward) < 0.7"], 5, "failed: mean(reward) = 0.5 < 0.7"),
        (HALF, ["low(reward) < 0.1"], 0, ""),
        (HALF, ["low(reward) < 0.1", "used < 20"], 5, "failed: used = 12 < 20"),
        (HALF, ["low(reward) < 0.1 or errored > 0"], 0, ""),
        ([*HALF, [None]], ["errored > 0"], 5, "failed: errored = 1 > 0"),
        ([[0.25, 0.5]], ["low(reward) < 0.7"], 6, "inconclusive: low(reward) is not known"),
        ([[0.25, 0.5]], ["mean(reward) < 0.3"], 0, ""),
        ([[0.25, 0.5]], ["low(reward) < 0.7", "used < 3"], 5, "failed: used = 2 < 3"),
        ([[None], [None]], ["mean(reward) < 0.7"], 7, "nothing measured: all 2 rollouts errored"),
        ([[None], [None]], ["errored > 5"], 7, "nothing measured"),
        ([[None], [None]], ["errored > 1"], 5, "failed: errored = 2 > 1"),
        ([], ["mean(reward) < 0.7"], 7, "nothing measured: no rollout has finished"),
        ([[1.0, 0.0]] * 8, ["mean(pass@2) < 1.1"], 5, "failed: mean(pass@2) = 1 < 1.1"),
        ([[1.0, 0.0]] * 8, ["low(pass@2) < 0.9"], 5, "failed: low(pass@2) = 0."),
        ([[1.0, 0.0]] * 8, ["mean(pass^2) > 0"], 0, ""),
        ([[1.0, 0.0]] * 8, ["low(pass@2) > 0.6"], 5, "failed: low(pass@2) = 0.6756 > 0.6"),
        ([[1.0, 0.0]] * 8, ["high(pass^2) < 0.3"], 0, ""),
        (HALF, ["mean(brevity) >= 0.5"], 5, "failed: mean(brevity) = 0.5 >= 0.5"),
    ],
)
def test_the_exit_code_is_the_verdict(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    groups: list[list[float | None]],
    conditions: list[str],
    code: int,
    reported: str,
) -> None:
    run = saved(tmp_path, groups)
    flags = [part for one in conditions for part in ("--fail-if", one)]
    assert cli(["report", run, *flags]) == code
    said = capsys.readouterr()
    assert reported in said.err and "Rollouts:" in said.out
    assert not reported or said.err.count("\n") >= 1
    assert cli(["report", run, "--json", *flags]) == code
    found = json.loads(capsys.readouterr().out)["verdict"]
    assert found["exit_code"] == code
    assert [one["condition"] for one in found["conditions"]] == conditions
    assert found["status"] == {
        0: "passed",
        5: "failed",
        6: "inconclusive",
        7: "nothing measured",
    }.get(code)


def test_of_several_runs_the_worst_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = saved(tmp_path, HALF, "good"), saved(tmp_path, [[0.0]] * 12, "bad")
    assert cli(["report", good, bad, "--fail-if", "mean(reward) < 0.3"]) == 5
    said = capsys.readouterr()
    assert f"{bad}: failed: mean(reward) = 0 < 0.3" in said.err and good not in said.err
    assert cli(["report", good, bad, "--json", "--fail-if", "mean(reward) < 0.3"]) == 5
    found = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == 5
    assert [one["verdict"]["status"] for one in found["evaluations"]] == ["passed", "failed"]


def test_without_a_condition_there_is_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = saved(tmp_path, [[None]])
    assert cli(["report", run, "--json"]) == 0
    assert "verdict" not in json.loads(capsys.readouterr().out)


def test_every_fault_of_every_condition_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = saved(tmp_path, HALF)
    flags = ["--fail-if", "lo(reward) < 1 and errored > x", "--fail-if", "used >"]
    assert cli(["report", run, str(tmp_path / "gone"), *flags]) == 2
    reported = capsys.readouterr().err.splitlines()
    assert len(reported) == 4 and any("Did you mean low?" in line for line in reported)
    assert any('--fail-if "used >", character 7' in line for line in reported)


def test_a_metric_that_is_nowhere_is_refused_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = saved(tmp_path, HALF)
    assert (
        cli(["report", run, "--json", "--fail-if", "low(brevty) < 1", "--fail-if", "used<1"]) == 2
    )
    said = capsys.readouterr()
    assert "Did you mean brevity" in said.err and "character 5" in said.err
    assert json.loads(said.out)["status"] == "refused"


def test_names_that_are_nowhere_are_reported_beside_what_does_not_parse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = saved(tmp_path, HALF)
    arguments = ("low(brevty) < 0.5", "errored >", "mean(reward) < 0.1")
    assert cli(["report", run, *(part for one in arguments for part in ("--fail-if", one))]) == 2
    said = capsys.readouterr().err
    assert said.count("error: ") == 2
    assert "Did you mean brevity?" in said and "errored is compared with a number" in said


def test_a_run_of_ours_is_judged(program: Program) -> None:
    done = program.run("word-guess", "-m", "demo", "-n", "2", "-r", "2", "-s")
    assert done.code == 0, done
    judged = program.run("report", "--fail-if", "used < 5")
    assert judged.code == 5 and "failed: used = 4 < 5" in judged.err, judged
