"""A run has one interval, wherever somebody looks at it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from made_runs import line, opened, write_run

from tui_eval.cli.main import cli
from tui_eval.config.plan import RunPlan
from tui_eval.engine.suite.evaluation_status import EvaluationStatus
from tui_eval.events import EvaluationMoved
from tui_eval.runs.discovery import MEASURED_BYTES, describe
from tui_eval.runs.export.figures import number_text
from tui_eval.runs.layout import RunDir
from tui_eval.runs.outcome import finished
from tui_eval.runs.summary_json import build_metadata
from tui_eval.text.figures import interval_text
from tui_eval.tui.run.header import title
from tui_eval.tui.run.numbers.lines import numbers

Groups = Sequence[Sequence[float]]
Ends = tuple[float | None, float | None]

RUNS: dict[str, tuple[Groups, str]] = {
    "some examples disagree": ([[1, 1, 0]] * 4 + [[1, 1, 1]], "Wilson, n_eff"),
    "one rollout an example": ([[1], [1], [0], [1]], "Wilson, 4 examples"),
    "all are equal": ([[1, 1]] * 4, "Wilson, n_eff 4, 4 examples, 8 rollouts"),
    "any rewards": ([[0.2, 0.4], [0.3, 0.9], [0.5, 0.1]], "t, 2 df, 3 examples, 6 rollouts"),
    "groups of any size": ([[0.2, 0.4, 0.1], [0.3], [0.5, 0.1]], "t, 1."),
    "equal and between 0 and 1": ([[0.5, 0.5]] * 3, "bound for equal examples, 3 examples"),
    "one example": ([[0.2, 0.4]], ""),
}


def saved(path: Path, groups: Groups) -> RunDir:
    """A run of ours, with the metadata that an engine writes when it ends."""
    lines = [
        line(example, number, reward)
        for example, rewards in enumerate(groups)
        for number, reward in enumerate(rewards)
    ]
    shape = {"examples": len(groups), "per_example": max(map(len, groups))}
    run = write_run(path, lines, **shape)
    metadata = build_metadata(opened(run), {"time_ms": 1.0})
    write_run(path, lines, **shape, **{"numbers": metadata["numbers"]})
    return run


def of_older_version(run: RunDir, size: int = 0) -> None:
    """Makes a run one of versions that took 1.96 standard errors; `size` bytes at least."""
    metadata = json.loads(run.metadata.read_text())
    reward = metadata["numbers"]["reward"]
    mean, se = reward["mean"], reward["se"] or 0.0
    reward |= {"low": mean - 1.96 * se, "high": mean + 1.96 * se, "method": "clustered"}
    del reward["weight"]
    run.metadata.write_text(json.dumps(metadata))
    if size:
        row = line(0, 0, json.loads(run.results.read_bytes().split(b"\n")[0])["reward"])
        rest = run.results.read_bytes().partition(b"\n")[2]
        run.results.write_bytes(row[:-2] + b', "padding": "' + b"x" * size + b'"}\n' + rest)


def test_home_says_what_the_interval_of_a_run_is(tmp_path: Path) -> None:
    for place, (groups, name) in enumerate(RUNS.values()):
        found = describe(saved(tmp_path / str(place), groups))
        assert found is not None and found.interval_name.startswith(name)
        assert bool(found.interval_name) == (found.low is not None)


def at_home(run: RunDir) -> Ends:
    found = describe(run)
    assert found is not None
    return found.low, found.high


def of_a_suite(run: RunDir) -> EvaluationMoved:
    plan = RunPlan(env_id="my-env", alias="tiny", model="tiny", base_url="http://localhost:1/v1")
    one = EvaluationStatus(0, plan)
    state = opened(run)
    assert state.run is not None
    one.begin(state.run, state.finished, "").state = state
    return one.over(finished(0.0, 0))


@pytest.mark.parametrize(("groups", "name"), RUNS.values(), ids=RUNS.keys())
def test_every_reader_shows_the_same_interval(
    groups: Groups,
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    run = saved(tmp_path / "run", groups)
    state = opened(run)
    mean = state.reward_mean.result()
    ends = (mean.low, mean.high)
    text = interval_text(*ends)

    def printed(*words: str) -> str:
        assert cli([*words, str(run.path)]) == 0
        return capsys.readouterr().out

    as_json = json.loads(printed("report", "--json"))["reward"]
    assert (as_json["low"], as_json["high"]) == ends
    assert (as_json["n"], as_json["examples"]) == (mean.n, mean.groups)
    compared = json.loads(printed("compare", "--json", str(run.path)))["rewards"]
    assert compared == [as_json, as_json]
    assert at_home(run) == ends
    moved = of_a_suite(run)
    assert (moved.low, moved.high) == ends and moved.interval_name == mean.interval_name
    lines = ["".join(part for part, _ in one.line) for one in numbers(state, 80)]
    head = "".join(part for part, _ in title(state, ("", ""), 120))
    report = re.sub(r"\s+", " ", printed("report"))
    table = printed("report", str(run.path))
    exported = printed("export", "--format", "markdown", "-o", "-").replace("\\", "")
    if not text:
        assert "[" not in lines[0] + head and "interval" not in report + exported
        return
    assert text in lines[0] and text in head
    low, high = text.strip("[]").split(", ")
    assert f"Reward, 95% interval: {low} to {high} ({name}" in report
    assert f" {low}–{high} " in table
    whole = mean.interval_name
    assert name in whole and whole in report
    assert any(whole in one for one in lines[:3])
    assert f"(95 %: {number_text(mean.low)} to {number_text(mean.high)})" in exported
    assert f"95 % interval: {whole}\n" in exported


def test_home_does_not_show_the_interval_of_an_older_version(tmp_path: Path) -> None:
    groups = RUNS["some examples disagree"][0]
    run = saved(tmp_path / "small", groups)
    now = at_home(run)
    of_older_version(run)
    assert at_home(run) == now
    found = describe(run)
    assert found is not None and found.interval_name.startswith("Wilson, n_eff 5.8")
    large = saved(tmp_path / "large", groups)
    of_older_version(large, MEASURED_BYTES)
    assert at_home(large) == (None, None)
    found = describe(large)
    assert found is not None and found.reward == pytest.approx(11 / 15) and found.n == 15


def test_metadata_has_intervals_of_pass_rates_only_under_its_own_key(tmp_path: Path) -> None:
    state = opened(saved(tmp_path / "run", RUNS["some examples disagree"][0]))
    metadata = build_metadata(state, {"time_ms": 1.0})
    rate = state.pass_rates.result(5)[-1]
    assert metadata["pass_at_k"] == {"1": pytest.approx(11 / 15), "2": 1.0, "3": 1.0}
    assert metadata["pass_all_k"]["3"] == pytest.approx(0.2)
    found = metadata["numbers"]["pass_all_k"]["3"]
    assert (found["low"], found["high"]) == rate.all_interval
    assert (found["method"], found["weight"]) == ("wilson", rate.all_weight)


def test_a_page_names_the_intervals_of_reward_metrics_and_pass_rates(tmp_path: Path) -> None:
    groups, _ = RUNS["some examples disagree"]
    run = saved(tmp_path / "run", groups)
    page = tmp_path / "page.html"
    assert cli(["export", "--format", "html", "-o", str(page), str(run.path)]) == 0
    text = page.read_text()
    low, high = (number_text(end) for end in at_home(run))
    name = opened(run).reward_mean.result().interval_name
    assert f"<th>95 % interval</th><td>{name}</td>" in text
    assert f"<th>score</th><td>0.7333 (95 %: {low} to {high}), {name}</td>" in text
    assert "<th>pass^3</th><td>0.2 (95 %: " in text
