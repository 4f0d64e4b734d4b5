"""`tui-eval gate`: no worse than before, said only where the numbers say it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from saved_rewards import saved

from tui_eval.cli.main import cli

WORDS = {0: "passed", 5: "failed", 6: "inconclusive", 7: "nothing measured"}


def levels(n: int, shift: float = 0.0, spread: float = 0.0) -> list[list[float]]:
    """Rewards of one rollout each; `spread` goes up and down in turn."""
    return [[0.3 + 0.04 * (place % 9) + shift + spread * (-1) ** place] for place in range(n)]


def gate(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = cli(["gate", *args])
    said = capsys.readouterr()
    return code, said.out, said.err


def gate_json(
    capsys: pytest.CaptureFixture[str], *args: str
) -> tuple[int, dict[str, Any], dict[str, Any]]:
    code, out, _ = gate(capsys, *args, "--json")
    found = json.loads(out)
    assert found["exit_code"] == code
    return code, found, (found.get("verdicts") or [{}])[0]


ERRORED = [[None, None]] * 8


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (levels(40), levels(40, 0.0, 0.01), 0),
        (levels(40), levels(40, 0.1, 0.01), 0),
        (levels(40), levels(40, -0.1, 0.01), 5),
        (levels(40), levels(40, 0.0, 0.2), 6),
        (levels(40), levels(40), 6),
        (levels(200), levels(200), 0),
        (levels(5), levels(5, -0.1, 0.001), 6),
        (levels(6), levels(6, -0.1, 0.001), 5),
        (levels(5), levels(5, 0.1, 0.001), 6),
        (levels(6), levels(6, 0.1, 0.001), 0),
        ([[1.0], [0.0]] * 40, [[1.0], [0.0]] * 20 + [[0.0], [0.0]] * 20, 5),
        ([[1.0], [0.0]] * 20, [[0.0], [1.0]] * 20, 6),
        (levels(8), ERRORED, 7),
        (ERRORED, levels(8), 7),
        (levels(8), [], 7),
        ([], levels(8), 7),
        ([], [], 7),
        ([[0.5], [None]] * 4, [[None], [0.5]] * 4, 7),
    ],
)
def test_the_exit_code_is_the_verdict(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    first: list[list[float | None]],
    second: list[list[float | None]],
    code: int,
) -> None:
    runs = saved(tmp_path, "a", first), saved(tmp_path, "b", second)
    found, out, _ = gate(capsys, *runs)
    assert found == code, out
    lines = out.splitlines()
    assert lines[code != 7].startswith(f"{WORDS[code].upper()}: reward"), out
    assert lines[0].startswith("Power ") is (code != 7), "before it judges"
    found, whole, reported = gate_json(capsys, *runs)
    assert (found, whole["status"], reported["status"], reported["exit_code"]) == (
        *(code, WORDS[code], WORDS[code]),
        code,
    )
    assert whole["margin"] == 0.02


def test_the_json_has_all_that_the_verdict_stands_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = saved(tmp_path, "a", levels(40)), saved(tmp_path, "b", levels(40, 0.01, 0.1))
    _, whole, reported = gate_json(capsys, *runs, "--margin", "0.04")
    assert (reported["metric"], reported["method"], reported["examples"]) == ("reward", "t", 40)
    assert reported["difference"] == pytest.approx(0.01)
    half = 2.0226909 * 0.1 / 39**0.5
    assert (reported["low"], reported["high"]) == pytest.approx(
        (0.01 - half, 0.01 + half), abs=1e-6
    )
    assert 0.6 < reported["power"] < 0.8 and 40 < reported["examples_needed"] < 80
    assert whole["runs"] == [str(Path(run).absolute()) for run in runs]
    code, out, _ = gate(capsys, *runs, "--margin", "0.04")
    assert code == 0
    assert "B − A +0.010" in out and "t, 39 df" in out and "40 examples" in out
    assert f"Power {100 * reported['power']:.0f} %" in out and "examples have 80 %" in out


def test_runs_are_named_as_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = saved(tmp_path, "a", levels(40)), saved(tmp_path, "b", levels(40, -0.1, 0.01))
    copied = tmp_path / "copied.jsonl"
    copied.write_bytes((Path(b) / "results.jsonl").read_bytes())
    assert gate(capsys, f"{a}/results.jsonl", str(copied))[0] == 5
    below = tmp_path / "outputs" / "evals" / "sums--tiny" / "1"
    below.parent.mkdir(parents=True)
    Path(a).rename(below)
    assert gate(capsys, str(tmp_path / "outputs"), b)[0] == 5


def test_those_who_must_decide_can(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = saved(tmp_path, "a", levels(40)), saved(tmp_path, "b", levels(40, 0.0, 0.2))
    for decided, code in (("pass", 0), ("fail", 5)):
        found, whole, reported = gate_json(capsys, *runs, "--inconclusive", decided)
        assert (found, reported["status"], reported["exit_code"]) == (code, "inconclusive", code)
        assert whole["inconclusive"] == decided
        _, out, _ = gate(capsys, *runs, "--inconclusive", decided)
        assert "\nINCONCLUSIVE: " in out and f"--inconclusive {decided}" in out
    clear = saved(tmp_path, "c", levels(40, -0.1, 0.01))
    assert gate(capsys, runs[0], clear, "--inconclusive", "pass")[0] == 5
    assert gate(capsys, runs[0], saved(tmp_path, "d", []), "--inconclusive", "pass")[0] == 7


def test_metrics_are_gated_and_the_worst_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = saved(tmp_path, "a", levels(40), metrics={"cost": 1.0, "score": 1.0})
    b = saved(tmp_path, "b", levels(40, 0.0, 0.01), metrics={"cost": 1.5, "score": 1.0001})
    assert gate(capsys, a, b, "--metric", "cost")[0] == 0, "higher is better"
    code, out, _ = gate(capsys, a, b, "--metric", "cost", "--lower-is-better")
    assert code == 5 and "cost" in out and "lower is better" in out
    assert (
        gate(capsys, a, b, "--metric", "metrics.cost", "--margin", "9", "--lower-is-better")[0] == 0
    )
    code, whole, _ = gate_json(
        capsys, a, b, "--metric", "reward", "--metric", "cost", "--metric", "score"
    )
    assert code == 0
    assert [one["metric"] for one in whole["verdicts"]] == ["reward", "cost", "score"]
    code, whole, _ = gate_json(capsys, b, a, "--metric", "reward", "--metric", "cost")
    assert (code, [one["exit_code"] for one in whole["verdicts"]]) == (5, [0, 5])


def test_errors_that_are_left_out_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = saved(tmp_path, "a", [*levels(40), [0.5], [0.5]])
    b = saved(tmp_path, "b", [*levels(40, 0.0, 0.01), [None], [None]])
    code, out, _ = gate(capsys, a, b)
    assert code == 0
    assert "of B 2 of 42 not in the mean" in out
    assert "with errors as 0 the reward would be" in out
    _, whole, _ = gate_json(capsys, a, b)
    assert [one["errored"] for one in whole["errors"]] == [0, 2]
    assert whole["difference_with_errors_as_0"] == pytest.approx(-1 / 42, abs=0.001)


def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = saved(tmp_path, "a", levels(8))
    other = saved(tmp_path, "other", levels(8, 0.01), env_id="geography")
    code, out, err = gate(capsys, a, other)
    assert (code, out) == (2, "")
    assert f"{other}: " in err and "geography" in err and "sums" in err
    strangers = saved(tmp_path, "strangers", levels(8), question="riddle")
    code, _, err = gate(capsys, a, strangers)
    assert code == 2 and f"{strangers}: it has no example in common with" in err
    assert gate(capsys, a, a)[0] == 2


def test_every_fault_is_reported_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = saved(tmp_path, "a", levels(8))
    gone = [str(tmp_path / "gone"), str(tmp_path / "lost")]
    for margin in ("-0.02", "nan", "inf", "1e-400x"):
        code, _, err = gate(capsys, *gone, f"--margin={margin}", "--junit", "-")
        assert code == 2 and err.count("error: ") == 4, err
        assert "--margin" in err and gone[0] in err and gone[1] in err and "--junit" in err
        assert ("Did you mean 0.02" in err) is (margin == "-0.02")
    code, out, err = gate(capsys, a, gone[0], "--json", "--margin=-1")
    assert code == 2 and json.loads(out)["status"] == "refused"
    assert len(json.loads(out)["faults"]) == 2
    assert cli(["gate", a]) == 2


def test_a_margin_that_nothing_can_fall_below_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = saved(tmp_path, "right", [[1.0]] * 20, metrics={"cost": 1.0})
    wrong = saved(tmp_path, "wrong", [[0.0]] * 20, metrics={"cost": 1.5})
    code, out, err = gate(capsys, right, wrong, "--margin", "2")
    assert (code, out) == (2, "")
    assert "--margin 2: " in err and "Did you mean 0.02?" in err
    code, whole, _ = gate_json(capsys, right, wrong, "--margin", "2", "--inconclusive", "pass")
    assert code == 2 and whole["status"] == "refused"
    assert gate(capsys, right, wrong, "--margin", "1")[0] == 5
    assert gate(capsys, right, wrong, "--margin", "2", "--metric", "cost")[0] == 0
    counts = [[2.0], [3.0]] * 10
    many, few = saved(tmp_path, "many", counts), saved(tmp_path, "few", [[0.0], [2.5]] * 10)
    assert gate(capsys, many, few, "--margin", "1.2")[0] == 5
    assert gate(capsys, right, saved(tmp_path, "none", []), "--margin", "2")[0] == 7


@pytest.mark.parametrize("margin", ["0_02", "\N{ARABIC-INDIC DIGIT ZERO}.5", " 0.5", ""])
def test_a_margin_is_written_in_plain_digits(
    margin: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = saved(tmp_path, "a", levels(8)), saved(tmp_path, "b", levels(8, 0.01))
    code, _, err = gate(capsys, a, b, f"--margin={margin}")
    assert code == 2 and f"--margin {margin}: " in err and "0.02" in err


def test_a_metric_that_is_nowhere_or_in_one_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = saved(tmp_path, "a", levels(8), metrics={"brevity": 1.0, "style": 1.0})
    b = saved(tmp_path, "b", levels(8, 0.01), metrics={"brevity": 1.0})
    code, _, err = gate(
        capsys, a, b, "--metric", "brevty", "--metric", "style", "--metric", "xyzzy"
    )
    assert code == 2 and err.count("error: ") == 3
    assert "Did you mean brevity?" in err
    assert "style" in err and "only A has it" in err
    empty = saved(tmp_path, "empty", [])
    assert gate(capsys, a, empty, "--metric", "style")[0] == 7
    assert gate(capsys, a, empty, "--metric", "stile")[0] == 2


def junit(path: Path) -> tuple[dict[str, str], list[ET.Element]]:
    suite = ET.parse(path).getroot().find("testsuite")
    assert suite is not None
    return suite.attrib, suite.findall("testcase")


@pytest.mark.parametrize(
    ("second", "more", "element", "counts"),
    [
        (levels(40, 0.0, 0.01), [], None, "0 0 0"),
        (levels(40, -0.1, 0.01), [], "failure", "1 0 0"),
        (levels(40, 0.0, 0.2), [], "skipped", "0 0 1"),
        (levels(40, 0.0, 0.2), ["--inconclusive", "pass"], None, "0 0 0"),
        (levels(40, 0.0, 0.2), ["--inconclusive", "fail"], "failure", "1 0 0"),
        (ERRORED, [], "error", "0 1 0"),
    ],
)
def test_ci_reads_the_verdict_as_junit(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    second: list[list[float | None]],
    more: list[str],
    element: str | None,
    counts: str,
) -> None:
    file = tmp_path / "gate.xml"
    file.write_text("before")
    runs = saved(tmp_path, "a", levels(40)), saved(tmp_path, "b", second)
    _, out, _ = gate(capsys, *runs, "--junit", str(file), *more)
    suite, (case,) = junit(file)
    assert suite["tests"] == "1"
    assert " ".join(suite[name] for name in ("failures", "errors", "skipped")) == counts
    assert case.get("classname") == "gate.sums"
    assert case.get("name") == "reward is no worse by more than 0.02"
    found = [one for one in case if one.tag != "system-out"]
    assert [one.tag for one in found] == ([element] if element else [])
    assert all(one.get("message") in out.splitlines()[:2] for one in found)
    said = case.findtext("system-out") or ""
    assert "power" in said or element == "error"
    assert not list(tmp_path.glob(".*.new"))


def test_names_of_other_peoples_metrics_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = 'a<b>&"c"\x1b[31m]]>'
    a = saved(tmp_path, "a", levels(8), metrics={name: 1.0})
    b = saved(tmp_path, "b", levels(8, 0.0, 0.01), metrics={name: 1.01})
    file = tmp_path / "gate.xml"
    code, out, _ = gate(capsys, a, b, "--metric", name, "--junit", str(file))
    assert code == 0 and "\x1b" not in out
    _, (case,) = junit(file)
    assert 'a<b>&"c"␛[31m' in str(case.get("name"))


def test_a_junit_file_that_cannot_be_written_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = saved(tmp_path, "a", levels(8)), saved(tmp_path, "b", levels(8, 0.1))
    file = str(tmp_path / "none" / "gate.xml")
    code, out, err = gate(capsys, *runs, "--junit", file)
    assert code == 1 and f"error: {file}: " in err and "PASSED" not in out
