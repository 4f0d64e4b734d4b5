"""Rewards and metrics that no mean can hold: counted apart and shown with every run."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from made_runs import opened, row
from test_episodes import episode, trace

from tui_eval.cli.console.summary_lines import result_lines
from tui_eval.cli.console.table_lines import table_lines
from tui_eval.fold.compare.compared_side import Side
from tui_eval.fold.compare.comparison import compare_runs
from tui_eval.fold.query.filtering import RowFilter
from tui_eval.fold.run_state import RunState
from tui_eval.fold.summary import summarize
from tui_eval.runs.compared_runs import ComparedRun
from tui_eval.runs.export.comparison import comparison_object
from tui_eval.runs.export.source import ExportSource
from tui_eval.runs.export.writer import write_export
from tui_eval.runs.saved_run import find_run
from tui_eval.runs.summary_json import json_line, summary_object
from tui_eval.stats.quantiles import histogram
from tui_eval.tui.run.numbers.lines import numbers

HUGE = "1" + "0" * 400
ODD = ("NaN", "Infinity", "-Infinity", "1e400", "1e308", "-1e308", HUGE, "1" * 5000, '"high"')
"""Spellings in a file; Python writes the first three."""


def file_of(folder: Path, rewards: tuple[str, ...], metrics: tuple[str, ...]) -> Path:
    path = folder / "r.jsonl"
    with open(path, "w") as file:
        for place, (reward, metric) in enumerate(zip(rewards, metrics, strict=True)):
            one = row(place, None, metrics={"odd": "@metric", "good": 0.5})
            one["reward"] = "@reward"
            text = json.dumps(one).replace('"@metric"', metric).replace('"@reward"', reward)
            file.write(text + "\n")
    return path


def mixed(folder: Path) -> RunState:
    return opened(find_run(file_of(folder, ("1", "0", *ODD), ("2", *ODD, "4"))))


def test_they_are_counted_apart_from_what_is_missing_and_in_no_mean(tmp_path: Path) -> None:
    found = json.loads(json_line(summary_object(mixed(tmp_path))))
    counts = found["counts"]
    reported = [counts[name] for name in ("finished", "used", "errored", "no_number", "missing")]
    assert reported == [11, 2, 0, 9, 0]
    assert (found["reward"]["mean"], found["reward"]["std"], found["reward"]["n"]) == (0.5, 0.5, 2)
    assert found["reward_by_example"] == {"mean": 0.5, "examples": 2}
    assert (found["metrics"]["odd"]["mean"], found["metrics"]["odd"]["n"]) == (3.0, 2)
    assert found["metrics"]["good"]["n"] == 11
    assert found["metrics_no_number"] == {"odd": 9}
    assert [one["used"] for one in found["per_example"]] == [1, 1]


def test_every_line_with_such_a_reward_is_reported(tmp_path: Path) -> None:
    state = mixed(tmp_path)
    assert [one.line for one in state.doubtful] == list(range(3, 12))
    whys = [one.why for one in state.doubtful]
    assert whys[0] == "its reward is no number: NaN"
    assert whys[4] == "its reward is too great for a mean: 1e+308"
    assert whys[6] == f"its reward is too great for a mean: {HUGE[:40]}…"


def test_report_and_screen_show_them_beside_the_mean(tmp_path: Path) -> None:
    state = mixed(tmp_path)
    text = "\n".join(result_lines(state))
    assert "Rollouts: 2 used, 0 errored, 9 no number, 0 missing of 11" in text
    assert "Metrics with values that are no number: odd 9" in text
    assert "nan" not in text.lower() and "inf" not in text
    pane = ["".join(part for part, _ in one.line) for one in numbers(state, 78)]
    assert any("2 scored · 9 no number" in line for line in pane)
    assert any(line.startswith("odd") and "9 no number" in line for line in pane)
    head, line = list(table_lines([summarize(state)], width=140))[:2]
    assert head.split()[-3:-1] == ["no", "number"] and " 9 " in line


def test_a_run_of_nothing_else_has_no_number(tmp_path: Path) -> None:
    state = opened(find_run(file_of(tmp_path, ODD, ODD)))
    found = json.loads(json_line(summary_object(state)))
    assert found["reward"]["mean"] is None and found["counts"]["no_number"] == len(ODD)
    assert "odd" not in found["metrics"] and found["metrics_no_number"] == {"odd": len(ODD)}
    assert "  Reward: –" in list(result_lines(state))
    assert list(numbers(state, 40)) and RowFilter("reward:none").rows(state).size == len(ODD)


def test_no_curve_and_no_histogram_holds_them(tmp_path: Path) -> None:
    state = mixed(tmp_path)
    assert state.trend.result() == [1.0, 0.0] and state.reward_most == 1.0
    assert histogram(state.reward, 2) == ([1, 1], 0.0, 1.0)


@pytest.mark.parametrize("kind", ["csv", "html", "markdown", "parquet", "jsonl"])
def test_exports_have_the_figures_and_no_such_number(tmp_path: Path, kind: str) -> None:
    state = mixed(tmp_path)
    target = tmp_path / f"out.{kind}"
    run = find_run(tmp_path / "r.jsonl")
    assert list(write_export(ExportSource(run, state, {}, range(11)), kind, target))
    text = target.read_bytes().decode("latin-1")
    if kind in ("html", "markdown"):
        assert "rewards that are no number" in text and "9 of 11, not in the mean" in text
    if kind == "csv":
        assert [line.split(",")[3] for line in text.splitlines()[1:]] == ["1.0", "0.0"] + [""] * 9


def test_a_comparison_leaves_them_out_and_says_so(tmp_path: Path) -> None:
    state = mixed(tmp_path)
    side = Side(state, {place: bytes([place]) for place in range(11)})
    (found,) = compare_runs([side, side])
    assert len(found.examples) == 2
    assert "of the first run 9 rewards are no number, and not in the mean" in found.doubts
    odd = next(one for one in found.figures if one.name == "odd")
    assert (odd.first, odd.difference.n) == (2.0, 1)
    run = find_run(tmp_path / "r.jsonl")
    reported = [ComparedRun(run, side, "A"), ComparedRun(run, side, "B", found)]
    assert json_line(comparison_object(reported, None))
    assert comparison_object(reported, None)["errors"][0]["no_number"] == 9


@pytest.mark.parametrize("score", [math.nan, math.inf, pytest.param(10**400, id="huge"), "much"])
@pytest.mark.parametrize("what", ["score", "weight"])
def test_a_score_of_an_episode_that_is_no_number_makes_its_reward_none(
    tmp_path: Path, score: float, what: str
) -> None:
    rewards = {"good": {"score": 1.0}, "odd": {"score": 1.0, "weight": 1.0, what: score}}
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(episode(0, trace(rewards=rewards))) + "\n")
    found = summarize(opened(find_run(path)))
    assert (found.used, found.no_number, found.missing) == (0, 1, 0)


def test_weights_of_an_episode_that_overflow_make_no_reward(tmp_path: Path) -> None:
    rewards = {"big": {"score": 1e200, "weight": 1e200}}
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(episode(0, trace(rewards=rewards))) + "\n")
    assert summarize(opened(find_run(path))).no_number == 1


@pytest.mark.parametrize(
    "score", ["NaN", "Infinity", "1e400", "1e308", pytest.param(HUGE, id="huge")]
)
def test_a_score_of_osmosis_that_is_no_number_is_reported(tmp_path: Path, score: str) -> None:
    one = {"run_index": 0, "success": True, "scores": {"f": 1.0}, "duration_ms": 1.0, "tokens": 5}
    odd = {**one, "run_index": 1, "scores": {"f": "@"}}
    whole = {
        "config": {"n_runs": 2, "eval_fns": ["f"]},
        "summary": {"total_rows": 1},
        "rows": [{"row_index": 0, "runs": [one, odd]}],
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps(whole, indent=1).replace('"@"', score))
    state = opened(find_run(path))
    found = summarize(state)
    assert (found.used, found.no_number, found.missing) == (1, 1, 0)
    assert state.unreadable == [] and len(state.doubtful) == 1
    assert "its reward is" in state.doubtful[0].why
