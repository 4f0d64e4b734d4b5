"""The index of another program's file in the user's cache: what it saves, and when it may not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_runs import line, opened

from tui_eval.events import RolloutFinished, RunStarted
from tui_eval.fold.run_state import RunState
from tui_eval.runs import row_index
from tui_eval.runs.layout import RunDir
from tui_eval.runs.replay import Replay
from tui_eval.runs.row_index import FORGOTTEN_S, forget_old_indexes
from tui_eval.runs.saved_run import read_rollout, saved_events

ROWS = 400


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUI_EVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(row_index, "CACHED_BYTES", 0)
    monkeypatch.setattr(row_index, "FIRST_BATCH_BYTES", 1000)
    return tmp_path / "cache"


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A file with one line that is no row, opened once."""
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    lines = [line(example, None, example / ROWS) for example in range(ROWS)]
    run.results.write_bytes(b"".join([*lines[:7], b"junk\n", *lines[7:]]))
    opened(run)
    return run


@pytest.fixture
def scanned(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From which bytes on the file was scanned, after the first opening."""
    starts: list[int] = []
    real = row_index.lines_of

    def noting(file: Any, start: int = 0) -> Any:
        starts.append(start)
        return real(file, start)

    monkeypatch.setattr(row_index, "lines_of", noting)
    return starts


def check_rows(run: RunDir, state: RunState) -> None:
    for row in range(state.total):
        rollout = read_rollout(run, row, state.offset[row], state.length[row])
        assert rollout is not None and rollout.reward == state.reward[row]


def test_a_second_opening_scans_nothing_and_reports_the_same(
    run: RunDir, scanned: list[int], cache: Path
) -> None:
    state = opened(run)
    assert (scanned, state.finished) == ([], ROWS)
    assert [event.line for event in state.unreadable] == [8]
    check_rows(run, state)
    assert [path.name for path in run.path.iterdir()] == ["results.jsonl"]
    assert oct(next(cache.glob("index/*.index")).stat().st_mode & 0o777) == "0o600"


def test_only_what_was_appended_is_scanned(run: RunDir, scanned: list[int]) -> None:
    end = run.results.stat().st_size
    with run.results.open("ab") as file:
        file.write(line(ROWS, None, 0.5) + b"more junk\n")
    for _ in range(2):
        state = opened(run)
        assert state.finished == ROWS + 1
        assert [event.line for event in state.unreadable] == [8, ROWS + 3]
        check_rows(run, state)
    assert scanned == [end]


def test_a_row_whose_line_is_longer_now_is_read_again(tmp_path: Path) -> None:
    results = tmp_path / "some.jsonl"
    results.write_bytes(line(0, None, 0.5) + line(1, None, 0.5).rstrip())
    run = RunDir(tmp_path, results.name)
    assert opened(run).finished == 2
    with results.open("ab") as file:
        file.write(line(2, None, 0.5))
    state = opened(run)
    assert (state.finished, [event.line for event in state.unreadable]) == (1, [2])


def _shorten(run: RunDir) -> None:
    run.results.write_bytes(run.results.read_bytes()[:-1000])


def _touch(run: RunDir) -> None:
    os.utime(run.results, (1, 1))


def _rewrite(run: RunDir) -> None:
    lines = run.results.read_bytes().splitlines(keepends=True)
    run.results.write_bytes(b"".join([lines[-1], *lines[:-1], b"\n" * 2000]))


def _garble_the_state(run: RunDir) -> None:
    for path in Path(os.environ["TUI_EVAL_CACHE_DIR"]).glob("index/*.json"):
        path.write_bytes(b"{}")


def _cut_the_index(run: RunDir) -> None:
    for path in Path(os.environ["TUI_EVAL_CACHE_DIR"]).glob("index/*.index"):
        path.write_bytes(path.read_bytes()[:-10])


def _garble_the_index(run: RunDir) -> None:
    for path in Path(os.environ["TUI_EVAL_CACHE_DIR"]).glob("index/*.index"):
        data = path.read_bytes()
        middle = len(data) // 2
        path.write_bytes(data[:middle] + b"\xc1" * 50 + data[middle + 50 :])


@pytest.mark.parametrize(
    "damage",
    [_shorten, _touch, _rewrite, _garble_the_state, _cut_the_index, _garble_the_index],
)
def test_an_index_that_does_not_fit_is_made_again(
    run: RunDir, scanned: list[int], damage: Callable[[RunDir], None]
) -> None:
    damage(run)
    state = opened(run)
    assert scanned == [0]
    count = run.results.read_bytes().count(b"example_id")
    assert state.finished in (count, count - 1)  # the last one may be cut
    check_rows(run, state)
    scanned.clear()
    assert opened(run).finished == state.finished
    assert all(start > 0 for start in scanned)  # where the last line is cut it is looked at


@pytest.mark.parametrize("exact", [True, False])
def test_a_broken_index_does_not_report_a_row_twice(run: RunDir, exact: bool) -> None:
    _garble_the_index(run)
    trajectory = Replay(run, exact=exact)
    state = RunState()
    readings = []
    for events in trajectory.begin():
        for event in events:
            state.apply(event)
            if isinstance(event, RunStarted):
                readings.append(event.reading)
    trajectory.close()
    assert state.finished == ROWS and readings == sorted(readings)
    check_rows(run, state)


def test_a_reading_that_stopped_midway_continues_from_there(
    run: RunDir, scanned: list[int], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_eval.runs.replay.COUNTED_BYTES", 0)
    for path in cache.glob("index/*"):
        path.unlink()
    trajectory = Replay(run)
    for events in trajectory.begin():
        if any(isinstance(event, RolloutFinished) for event in events):
            break
    trajectory.close()
    scanned.clear()
    assert opened(run).finished == ROWS
    assert len(scanned) == 1 and 0 < scanned[0] < run.results.stat().st_size


def test_a_cache_that_cannot_be_written_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: RunDir
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TUI_EVAL_CACHE_DIR", str(tmp_path / "file"))
    state = opened(run)
    assert state.finished == ROWS
    check_rows(run, state)


def test_two_that_read_the_same_file_do_not_spoil_the_index(
    run: RunDir, scanned: list[int], cache: Path
) -> None:
    for path in cache.glob("index/*"):
        path.unlink()
    first, second = Replay(run), Replay(run)
    replays = [list(first.begin()), list(second.begin())]
    first.close()
    second.close()
    for events in replays:
        assert sum(isinstance(e, RolloutFinished) for batch in events for e in batch) == ROWS
    scanned.clear()
    state = opened(run)
    assert (state.finished, scanned) == (ROWS, [])
    check_rows(run, state)


def test_indexes_that_nobody_wrote_for_long_are_removed(run: RunDir, cache: Path) -> None:
    forget_old_indexes()
    assert list(cache.glob("index/*"))
    now = max(path.stat().st_mtime for path in cache.glob("index/*"))
    forget_old_indexes(now + FORGOTTEN_S + 10)
    assert not list(cache.glob("index/*"))


def test_the_question_of_an_example_is_known_by_one_of_its_rollouts(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "questions")
    run.path.mkdir()
    questions = [
        (0, ""),
        (0, "Why?"),
        (0, "Why?"),
        (1, "Why?"),
        (0, "Why?"),
        (1, "Why?"),
        (2, "How?"),
    ]
    prompts = [(example, [{"role": "user", "content": text}]) for example, text in questions]
    lines = [line(example, None, prompt=prompt) for example, prompt in prompts]
    run.results.write_bytes(b"".join(lines))
    for _ in ("scanned", "kept"):
        finished = [one for one in saved_events(run) if isinstance(one, RolloutFinished)]
        assert [one.question for one in finished] == [
            "",
            "Why?",
            "",
            "Why?",
            "Why?",
            "Why?",
            "How?",
        ]
        state = opened(run)
        assert [state.details.questions.get(place) for place in range(3)] == [
            "Why?",
            "Why?",
            "How?",
        ]
