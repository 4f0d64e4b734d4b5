"""Looking for runs again and again: what is new is seen, what is the same is not read twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_runs import line, write_run

from tui_eval.runs import discovery
from tui_eval.runs.discovery import FoundRun, RunWatcher
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import RunLock


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that were read, in order."""
    names: list[str] = []
    describe = discovery.describe

    def reported(run: RunDir) -> FoundRun | None:
        names.append(run.path.name)
        return describe(run)

    monkeypatch.setattr(discovery, "describe", reported)
    return names


def names(found: list[FoundRun]) -> set[str]:
    return {one.run.path.name for one in found}


def test_only_what_has_changed_is_read_again(here: Path, read: list[str]) -> None:
    one = write_run(here / "outputs/evals/e--m/one", [line(0, 0)])
    write_run(here / "outputs/evals/e--m/two", [line(0, 0)])
    look = RunWatcher()
    assert names(look.look()) == {"one", "two"}
    assert names(look.look()) == {"one", "two"} and sorted(read) == ["one", "two"]
    with one.results.open("ab") as file:
        file.write(line(0, 1))
    found = {run.run.path.name: run.done for run in look.look()}
    assert found == {"one": 2, "two": 1} and read[2:] == ["one"]


def test_runs_come_and_go(here: Path) -> None:
    look = RunWatcher([here / "elsewhere"])
    assert look.look() == []
    run = write_run(here / "elsewhere/one", [line(0, 0)])
    assert names(look.look()) == {"one"}
    run.results.unlink()
    run.metadata.unlink()
    assert look.look() == []


def test_an_engine_that_begins_or_ends_is_seen_though_no_file_changes(here: Path) -> None:
    run = write_run(here / "outputs/evals/e--m/one", [line(0, 0)])
    look = RunWatcher()
    assert not look.look()[0].running
    lock = RunLock(run.lock, "/run/some.sock")
    try:
        assert look.look()[0].socket == "/run/some.sock"
    finally:
        lock.release()
    assert not look.look()[0].running


def test_a_run_without_numbers_yet_is_measured_from_its_rows(here: Path) -> None:
    write_run(here / "outputs/evals/e--m/one", [line(0, 0, reward=1.0), line(0, 1, reward=0.0)])
    (found,) = RunWatcher().look()
    assert (found.reward, found.n, found.done, found.total) == (0.5, 2, 2, 4)


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


def test_a_file_of_another_program_is_not_read_again_to_know_whose_it_is(here: Path) -> None:
    other = here / "outputs/evals/other/results.json"
    other.parent.mkdir(parents=True)
    other.write_text(json.dumps({"config": {}, "text": "x" * 1_000_000}))
    look = RunWatcher()
    before = bytes_read()
    assert look.look() == []
    first = bytes_read() - before
    assert look.look() == []
    assert first > 1_000_000
    assert bytes_read() - before - first < 100_000
    osmosis = Path(__file__).parents[1] / "data/others/osmosis.json"
    other.write_bytes(osmosis.read_bytes())
    assert [one.format for one in look.look()] == ["Osmosis"]
