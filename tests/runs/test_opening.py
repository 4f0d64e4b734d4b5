"""Opening saved runs: ours and those of other programs, whole and damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from made_runs import line, opened, row, rows_of, write_indexed, write_run

from tui_eval.errors import RefusedError
from tui_eval.events import LineUnreadable, RolloutFinished, RunFinished, RunStarted
from tui_eval.fold.run_state import RunState
from tui_eval.runs.index import IndexReader
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import RunLock
from tui_eval.runs.saved_run import find_run, read_rollout, saved_events

OLD_RUNS = sorted((Path(__file__).parents[1] / "data" / "runs").iterdir())


def rewards(state: RunState) -> list[float | None]:
    return [None if value != value else value for value in state.reward]


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """Three of four rollouts, the last of them errored, with their index."""
    run = write_run(tmp_path / "my-env--org--model" / "r1")
    write_indexed(run, [row(1, 0, 0.5), row(0, 1, 1.0), row(0, 0, 0.0, error=True)])
    return run


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From which bytes on results.jsonl was read."""
    from tui_eval.runs import row_index

    starts: list[int] = []

    def noting(file: Any, start: int = 0) -> Any:
        starts.append(start)
        return real(file, start)

    real = row_index.lines_of
    monkeypatch.setattr(row_index, "lines_of", noting)
    return starts


def test_a_run_is_reported_from_its_index_without_reading_the_rows(
    run: RunDir, scanned: list[int]
) -> None:
    state = opened(run)
    assert rewards(state) == [None, 1.0, 0.5, None]
    assert (state.finished, state.errored, state.total) == (3, 1, 4)
    assert scanned == []
    assert state.run is not None and (state.run.env_id, state.run.model) == ("my-env", "org/model")


def test_a_single_rollout_is_read_by_its_place(run: RunDir) -> None:
    state = opened(run)
    rollout = read_rollout(run, 1, state.offset[1], state.length[1])
    assert rollout is not None and rollout.reward == 1.0
    assert rollout.entries()[-1].text == "answer 1"
    assert read_rollout(run, 1, 3, 10) is None
    assert read_rollout(run, 3, -1, 0) is None


def _tear(run: RunDir) -> None:
    run.index.write_bytes(run.index.read_bytes()[:-7])


def _garble(run: RunDir) -> None:
    run.index.write_bytes(b"\xff" * 40 + run.index.read_bytes())


def _lose_an_entry(run: RunDir) -> None:
    data = run.index.read_bytes()
    first = 4 + int.from_bytes(data[:4], "big")
    run.index.write_bytes(data[first:])


def _age(path: Path) -> None:
    before = path.stat().st_mtime - 5
    os.utime(path, (before, before))


def _edit_in_place(run: RunDir) -> None:
    text = run.results.read_bytes().replace(b'"reward":0.5', b'"reward":0.7')
    run.results.write_bytes(text)
    _age(run.index)


def _sort(run: RunDir) -> None:
    run.results.write_bytes(b"".join(sorted(run.results.read_bytes().splitlines(True))))
    _age(run.index)


@pytest.mark.parametrize(
    "damage",
    [lambda run: run.index.unlink(), _tear, _garble, _lose_an_entry, _edit_in_place, _sort],
)
def test_an_index_that_does_not_fit_is_made_again(
    run: RunDir, scanned: list[int], damage: Any
) -> None:
    damage(run)
    state = opened(run)
    assert scanned
    assert state.finished == 3
    for place in (0, 1, 2):
        rollout = read_rollout(run, place, state.offset[place], state.length[place])
        assert rollout is not None
        reward = state.reward[place]
        assert rollout.reward == (None if reward != reward else reward)
    scanned.clear()
    assert rewards(opened(run)) == rewards(state)
    assert scanned == []


def test_only_rows_behind_the_index_are_read(run: RunDir, scanned: list[int]) -> None:
    end = run.results.stat().st_size
    with run.results.open("ab") as file:
        file.write(line(1, 1, 0.25))
    assert rewards(opened(run)) == [None, 1.0, 0.5, 0.25]
    assert scanned == [end]
    assert len(IndexReader(run.index).read()) == 4


def test_rows_behind_the_index_keep_the_places_of_their_examples(tmp_path: Path) -> None:
    run = write_run(tmp_path, examples=2, per_example=1)
    write_indexed(run, [row(0, 0, 0.1)], per_example=1)
    event = IndexReader(run.index).read()[0]
    event.row, event.example_id = 1, "b"
    from tui_eval.runs.index import new_index

    new_index(run.index, [event]).replace(run.index)
    with run.results.open("ab") as file:
        file.write(line("a", 0, 0.9))
    assert rewards(opened(run)) == [0.9, 0.1]


def test_the_index_of_a_running_engine_is_left_alone(run: RunDir) -> None:
    run.index.unlink()
    lock = RunLock(run.lock, "")
    try:
        assert opened(run).finished == 3
        assert not run.index.exists()
    finally:
        lock.release()


def test_torn_and_foreign_lines_are_reported_and_the_rest_is_shown(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0), b"junk\n", line(0, 7), line(1, 0)[:20]])
    state = opened(run)
    assert state.finished == 1
    assert [text.split(":")[0] for _, text in state.notices] == [
        f"results.jsonl, line {number}" for number in (2, 3, 4)
    ]


def test_rows_survive_a_lost_metadata(tmp_path: Path) -> None:
    lines = [line(example, number) for example in (0, 1) for number in (0, 1, 2)]
    run = write_run(tmp_path, lines, examples=2, per_example=3)
    for text in ("", "{torn", "[]", "\x00"):
        run.metadata.write_text(text)
        run.index.unlink(missing_ok=True)
        assert opened(run).finished == 6
    run.metadata.unlink()
    run.plan.write_text('env_id = "e"\nmodel = "m"\nnum_examples = 2\nrollouts_per_example = 4\n')
    state = opened(run)
    assert (state.finished, state.total) == (6, 8)
    assert state.run is not None and state.run.env_id == "e"


@pytest.mark.parametrize(
    "meta",
    [
        {"num_examples": -1, "rollouts_per_example": "3"},
        {"time_ms": "long", "pass_threshold": "high", "sampling_args": [1], "env_args": "x"},
        {"env_id": None, "model": 3, "num_examples": 1.5},
    ],
)
def test_metadata_of_wrong_types_hides_no_row(tmp_path: Path, meta: dict[str, Any]) -> None:
    run = write_run(tmp_path, [line(0, 0), line(0, 1), line(1, 0)], **meta)
    assert opened(run).finished == 3


def test_metadata_with_nan_is_read(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0)], avg_reward=float("nan"))
    assert opened(run).total == 4


def test_ids_that_are_no_places_do_not_collide_with_those_that_are(tmp_path: Path) -> None:
    lines = [line(10, None), line(0, None), line("x", None), line(2, None), line([1], None)]
    run = write_run(tmp_path, lines, examples=5, per_example=1)
    assert opened(run).finished == 5


JUNK: list[Any] = [None, "x", 7, 1e400, [1], {"a": []}, "\ud800", -1, 10**400, True]


@pytest.mark.parametrize("key", ["tui_eval", "timing", "metrics", "token_usage", "error",
    "stop_condition", "completion", "reward", "example_id", "is_truncated"])  # fmt: skip
def test_a_row_with_a_field_of_any_type_can_be_opened(tmp_path: Path, key: str) -> None:
    lines = [(json.dumps({**row(0, n), key: junk}) + "\n").encode() for n, junk in enumerate(JUNK)]
    run = write_run(tmp_path, lines, examples=20, per_example=20)
    state = opened(run)
    assert state.finished + len(state.unreadable) == len(JUNK)
    for place in range(state.total):
        if state.offset[place] >= 0:
            rollout = read_rollout(run, place, state.offset[place], state.length[place])
            assert rollout is not None
            rollout.entries()
    assert opened(run).finished == state.finished


@pytest.mark.parametrize("key", ["models", "attempt", "code", "row", "rollout"])
def test_a_row_with_any_numbers_of_ours_can_be_opened_and_opened_again(
    tmp_path: Path, key: str
) -> None:
    lines = []
    for n, junk in enumerate(JUNK):
        one = row(0, n)
        one["tui_eval"][key] = {"m": junk} if key == "models" else junk
        lines.append((json.dumps(one) + "\n").encode())
    run = write_run(tmp_path, lines, examples=20, per_example=20)
    finished = opened(run).finished
    assert finished and opened(run).finished == finished


@pytest.mark.parametrize("old", OLD_RUNS, ids=lambda path: path.name)
def test_runs_of_other_programs_are_shown_whole_and_left_alone(old: Path) -> None:
    before = sorted(old.iterdir())
    run = find_run(old)
    state = opened(run)
    rows = rows_of(run)
    assert state.finished == len(rows)
    assert state.end is not None
    assert [text for _, text in state.notices] == state.end.contradictions
    assert state.reward_mean.result().mean == pytest.approx(
        sum(one["reward"] for one in rows) / len(rows)
    )
    assert state.metrics
    for place in range(state.total):
        if state.offset[place] < 0:
            continue
        rollout = read_rollout(run, place, state.offset[place], state.length[place])
        assert rollout is not None
        entries = rollout.entries()
        assert entries[0].role in ("system", "user")
        assert all(entry.tool.result for entry in entries if entry.tool)
    assert sorted(old.iterdir()) == before


def test_a_finished_run_with_errors_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0), line(0, 1, error=True)], examples=1)
    end = list(saved_events(run))[-1]
    assert isinstance(end, RunFinished) and (end.status, end.exit_code) == ("finished", 3)


def test_two_rows_of_one_rollout_do_not_make_a_run_whole(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0), line(0, 0)], examples=1)
    end = list(saved_events(run))[-1]
    assert isinstance(end, RunFinished) and end.status == "interrupted"


def test_the_replay_begins_with_the_run_and_ends_with_its_end(run: RunDir) -> None:
    with run.results.open("ab") as file:
        file.write(b"torn")
    kinds = [type(event) for event in saved_events(run)]
    assert kinds == [RunStarted, *[RolloutFinished] * 3, LineUnreadable, RunFinished]


@pytest.mark.parametrize("inside", ["", "results.jsonl", "metadata.json"])
def test_a_run_is_found_by_its_directory_or_a_file_in_it(run: RunDir, inside: str) -> None:
    assert find_run(run.path / inside).path == run.path


def test_what_is_neither_a_file_nor_a_directory_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RefusedError, match="neither a file nor a directory"):
        find_run(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("name", "words"),
    [("nothing", "no such file"), (".", "holds no results.jsonl"), ("x" * 300, "cannot be read")],
)
def test_what_is_no_run_is_refused_with_the_reason(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        find_run(tmp_path / name)
