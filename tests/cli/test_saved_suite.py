"""Evaluations of a file that no engine is at work on, looked at again."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from app_driver import press, until
from run_on_disk import run_on_disk
from scripted_run import NOW

from tui_eval import events as ev
from tui_eval.config.plan import plan_to_toml
from tui_eval.engine.setup.resume_match import PlannedEvaluation
from tui_eval.errors import RefusedError
from tui_eval.feeds.saved_feed import SavedFeed
from tui_eval.feeds.saved_suite import SavedSuite, find_saved
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import RunLock
from tui_eval.tui.app import TuiEvalApp

TEMPERATURES = (0.1, 0.2, 0.3, 0.4, 0.5)
ENDS = (
    ("4/4", "finished"),
    ("3/4", "stopped"),
    ("2/4", "cut off"),
    ("3/4", "budget"),
    ("", "not begun"),
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five evaluations of 2 x 2 rollouts, of an environment that cannot be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "sums.py").write_text("raise SystemExit('imported')")
    top = """model = "tiny"
        api_base_url = "http://localhost:1/v1"
        num_examples = 2
        rollouts_per_example = 2
        save_results = true
    """
    own = (f'[[eval]]\nenv_id = "sums"\ntemperature = {one}\n' for one in TEMPERATURES)
    (tmp_path / "suite.toml").write_text(top + "".join(own))
    return tmp_path / "suite.toml"


def saved(file: Path, place: int, name: str, rows: int, status: str, at: float = NOW) -> RunDir:
    """A run of the evaluation at this place, as an engine leaves it."""
    run = run_on_disk(file.parent / "outputs" / "evals" / "sums--tiny" / name, rows)
    run.plan.write_text(plan_to_toml(find_saved(file)[place].plan))
    metadata = json.loads(run.metadata.read_text()) | {"status": status, "time_ms": 62_000.0}
    run.metadata.write_text(json.dumps(metadata))
    for path in (*run.path.iterdir(), run.path):
        os.utime(path, (at, at))
    return run


def names(file: Path) -> list[str]:
    return [one.run.path.name if one.run is not None else "" for one in find_saved(file)]


def test_each_evaluation_is_looked_at_in_its_newest_run(file: Path) -> None:
    saved(file, 0, "older", 4, "finished", NOW - 900)
    saved(file, 0, "incomplete", 3, "interrupted", NOW - 600)
    saved(file, 0, "newest", 4, "finished", NOW - 300)
    saved(file, 2, "other", 2, "interrupted")
    assert names(file) == ["newest", "", "other", "", ""]


def test_a_run_that_an_engine_works_on_is_joined_instead(file: Path) -> None:
    run = saved(file, 0, "held", 3, "running")
    lock = RunLock(run.lock, "/somewhere.sock")
    with pytest.raises(RefusedError, match=r"is writing this run.*Join it: tui-eval open"):
        find_saved(file)
    lock.release()


async def test_the_screen_reports_how_each_evaluation_ended(file: Path) -> None:
    saved(file, 0, "whole", 4, "finished")
    saved(file, 1, "stopped", 3, "interrupted")
    saved(file, 2, "killed", 2, "running")
    saved(file, 3, "spent", 3, "stopped: budget")
    app = TuiEvalApp(
        SavedSuite(file, find_saved(file)),
        open_feed=lambda path, socket: SavedFeed(RunDir(Path(path))),
        now=lambda: NOW + 60,
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.suite is not None and app.suite.end, 30.0)
        live = app.live_screen
        await until(pilot, lambda: live.state.run is not None and live.state.end, 30.0)
        every = [live.evaluations.render_line(y).text.rstrip() for y in range(1, 6)]
        for line, words in zip(every, ENDS, strict=True):
            assert words[0] in line and line.endswith(words[1])
        title = live.top.render_line(0).text
        assert "1/5 evaluations done · 1 stopped · 1 cut off · 1 budget" in title
        assert "■ ended " in title and ", resumable" in title
        assert "pause" not in live.keys.render_line(0).text
        await press(pilot, *"jjjj")
        assert "Not begun: there is no run of it on disk." in live.blank.render_line(3).text
        await press(pilot, "q")
    assert app.return_value is not None and app.return_value.action == "closed"


async def test_where_all_of_it_is_whole_it_has_finished(file: Path) -> None:
    for place in range(len(TEMPERATURES)):
        saved(file, place, f"run{place}", 4, "finished")
    reported = await expected(file)
    assert isinstance(reported[-1], ev.RunFinished)
    assert (reported[-1].status, reported[-1].at) == ("finished", NOW)


async def test_a_run_that_cannot_be_read_is_reported_with_the_others(file: Path) -> None:
    saved(file, 0, "whole", 4, "finished")
    broken = saved(file, 1, "broken", 4, "finished")
    planned = find_saved(file)
    broken.results.unlink()
    broken.results.mkdir()
    _, first, second, _ = await expected(file, planned)
    assert isinstance(first, ev.EvaluationMoved) and first.status == "finished"
    assert isinstance(second, ev.EvaluationMoved) and second.status == "failed"
    assert second.text.startswith("this run cannot be read: ")


async def expected(file: Path, planned: list[PlannedEvaluation] | None = None) -> list[ev.Event]:
    feed, reported = SavedSuite(file, planned or find_saved(file)), list[ev.Event]()
    await feed.start()
    while not reported or not isinstance(reported[-1], ev.RunFinished):
        await asyncio.sleep(0.01)
        reported += feed.drain()
    await feed.close()
    return reported
