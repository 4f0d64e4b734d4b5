"""A file that is read in the background and followed while another program writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from feed_listener import PATIENCE_S, Listen, aged, append, metadata
from made_runs import line, write_run

from tui_eval.events import ReadingMoved, RunStarted
from tui_eval.feeds import saved_feed
from tui_eval.runs import replay, scan
from tui_eval.runs.lock import RunLock


def test_rows_that_another_program_adds_appear(tmp_path: Path, listen: Listen) -> None:
    file = tmp_path / "results.jsonl"
    metadata(tmp_path / "metadata.json", 2, 2)
    file.write_bytes(line(0, None, 0.1) + line(0, None, 0.2))
    seen = listen(tmp_path)
    seen.until(lambda state: state.finished == 2)
    assert (seen.state.total, seen.state.end) == (4, None)
    append(file, line(1, None, 0.3))
    seen.until(lambda state: state.finished == 3)
    append(file, line(1, None, 0.4))
    seen.until(lambda state: state.end is not None)
    assert seen.rewards() == [0.1, 0.2, 0.3, 0.4]
    assert seen.state.end is not None and seen.state.end.status == "finished"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metadata.json", "results.jsonl"]


def test_a_line_that_is_being_written_is_no_fault_and_then_a_row(
    tmp_path: Path, listen: Listen
) -> None:
    file = tmp_path / "results.jsonl"
    metadata(tmp_path / "metadata.json", 2, 1)
    whole = line(1, None, 0.7)
    file.write_bytes(line(0, None, 0.1) + whole[:40])
    seen = listen(tmp_path)
    seen.until(lambda state: state.finished == 1)
    append(file, whole[40:])
    seen.until(lambda state: state.finished == 2)
    assert seen.rewards() == [0.1, 0.7]
    assert seen.state.unreadable == []


def test_an_empty_file_has_no_end(tmp_path: Path, listen: Listen) -> None:
    file = tmp_path / "some.jsonl"
    file.touch()
    aged(file)
    seen = listen(file)
    seen.until(lambda state: state.run is not None)
    assert (seen.state.total, seen.state.end) == (0, None)
    append(file, line(0, None))
    seen.until(lambda state: state.finished == 1)


def test_a_file_that_is_sorted_when_it_is_done_is_read_again(
    tmp_path: Path, listen: Listen
) -> None:
    file = tmp_path / "results.jsonl"
    metadata(tmp_path / "metadata.json", 3, 1)
    lines = [line(2, None, 0.2, note="x" * 50), line(0, None, 0.0), line(1, None, 0.1)]
    file.write_bytes(b"".join(lines[:2]))
    seen = listen(tmp_path)
    seen.until(lambda state: state.finished == 2)
    file.write_bytes(b"".join([lines[1], lines[2], lines[0]]))
    seen.until(lambda state: state.finished == 3 and state.run.reading > 0)
    assert seen.rewards() == [0.0, 0.1, 0.2]


@pytest.mark.parametrize("per_example", [1, 2])
def test_a_run_without_metadata_that_grows_finds_its_groups(
    tmp_path: Path, listen: Listen, per_example: int
) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(line("a", None, 0.1) + line("b", None, 0.2))
    seen = listen(file)
    seen.until(lambda state: state.finished == 2)
    append(file, line("a" if per_example == 2 else "c", None, 0.3))
    seen.until(lambda state: state.finished == 3)
    assert seen.state.per_example == per_example
    assert sorted(seen.state.example_ids.values()) == ["a", "b", "c"][: 4 - per_example]
    append(file, line("d", None, 0.4))
    seen.until(lambda state: state.finished == 4)
    reported = [value for value in seen.rewards() if value is not None]
    assert sorted(reported) == [0.1, 0.2, 0.3, 0.4]


def test_the_log_says_what_is_wrong_with_a_file_once_however_often_its_groups_grow(
    tmp_path: Path, listen: Listen
) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(line("a", None, 0.1) + b"no row\n")
    seen = listen(file)
    for count in range(2, 6):
        append(file, line("a", None, 0.3))
        seen.until(lambda state, count=count: state.finished == count)
    text, _ = seen.feed.log(0, 10_000)
    assert text.count(b"some.jsonl, line 2: not JSON") == 1
    assert b"no place" not in text, "every row is shown"
    assert seen.state.per_example == 5 and seen.state.unreadable_lines == 1


def test_metadata_with_too_few_rollouts_is_corrected_in_a_large_file(
    tmp_path: Path, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "COUNTED_BYTES", 0)
    metadata(tmp_path / "metadata.json", 900, 1)
    lines = [line(example, None, example / 600) for _ in range(3) for example in range(600)]
    (tmp_path / "results.jsonl").write_bytes(b"".join(lines))
    seen = listen(tmp_path)
    seen.until(lambda state: state.finished == 1800)
    assert (seen.state.per_example, seen.state.total) == (3, 1800)
    starts = [event.reading for event in seen.events if isinstance(event, RunStarted)]
    assert starts[0] == 0 and starts[-1] == 1
    assert seen.rewards() == [example / 600 for example in range(600) for _ in range(3)]
    assert seen.state.notices == []


def test_reading_reports_how_far_it_is(tmp_path: Path, listen: Listen) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(b"".join(line(example, None) for example in range(3000)) + b"junk\n" * 3)
    aged(file)
    seen = listen(tmp_path)
    seen.until(lambda state: state.end is not None)
    steps = [event for event in seen.events if isinstance(event, ReadingMoved)]
    assert len(steps) > 2
    assert [one.done for one in steps] == sorted(one.done for one in steps)
    size = file.stat().st_size
    assert (steps[-1].done, steps[-1].total, steps[-1].unreadable) == (size, size, 3)
    assert seen.state.read == (size, size)


def test_a_reading_that_is_cancelled_keeps_what_it_has_and_continues_later(
    tmp_path: Path, listen: Listen
) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(b"".join(line(example, None, note="x" * 500) for example in range(20_000)))
    seen = listen(tmp_path)
    seen.feed.cancel()
    done = seen.until(lambda state: state.read[0] > 0).read[0]
    seen.feed._thread.join(PATIENCE_S)
    assert done < file.stat().st_size
    again = listen(tmp_path)
    again.until(lambda state: state.finished == 20_000)


def test_a_listener_that_takes_nothing_holds_the_reading_up_and_not_the_memory(
    tmp_path: Path, listen: Listen
) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(b"".join(line(example, None) for example in range(20_000)))
    seen = listen(tmp_path)
    seen.feed._reported.wait(PATIENCE_S)
    assert len(seen.feed._events) < 2 * saved_feed.MOST_WAITING
    first = seen.feed.drain(10)
    assert len(first) == 10
    for event in first:
        seen.state.apply(event)
    seen.until(lambda state: state.finished == 20_000)


def test_a_run_that_a_program_of_ours_writes_ends_when_that_lets_go(
    tmp_path: Path, listen: Listen
) -> None:
    run = write_run(tmp_path, [line(0, 0)], examples=2, per_example=1)
    lock = RunLock(run.lock, "")
    seen = listen(tmp_path)
    seen.until(lambda state: state.finished == 1)
    assert seen.state.end is None and not run.index.exists()
    lock.release()
    seen.until(lambda state: state.end is not None)
    assert seen.state.end is not None and seen.state.end.status == "interrupted"


def test_a_run_that_was_opened_while_it_was_written_took_as_long_as_its_end_says(
    tmp_path: Path, listen: Listen
) -> None:
    run = write_run(tmp_path, [line(0, 0)], examples=2, per_example=1, time_ms=5_000.0)
    lock = RunLock(run.lock, "")
    seen = listen(tmp_path)
    seen.until(lambda state: state.finished == 1)
    append(run.results, line(1, 0))
    seen.until(lambda state: state.finished == 2)
    reported = json.loads(run.metadata.read_text())
    run.metadata.write_text(json.dumps({**reported, "time_ms": 26_000.0}))
    lock.release()
    state = seen.until(lambda state: state.end is not None)
    assert state.end is not None and state.run is not None
    assert state.end.at - state.run.at == pytest.approx(26.0, abs=0.1)


def test_a_run_that_somebody_resumes_is_followed_from_the_rows_that_were_kept(
    tmp_path: Path, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "SETTLED_S", 1e9)  # it never rests: a row comes all the time
    monkeypatch.setattr(scan, "PATIENCE_S", 1e9)
    failed = line(1, 0, 0.0, True)
    run = write_run(tmp_path, [line(0, 0), failed], examples=3, per_example=1)
    seen = listen(tmp_path)
    seen.until(lambda state: state.end is not None)
    assert (seen.state.finished, seen.state.errored) == (2, 1)
    lock = RunLock(run.lock, "")
    seen.until(lambda state: state.end is None)
    new = tmp_path / "results.new"
    new.write_bytes(line(0, 0))
    new.replace(run.results)
    seen.until(lambda state: (state.finished, state.errored, state.waiting) == (1, 0, 2))
    append(run.results, line(1, 0, 0.7))
    seen.until(lambda state: state.finished == 2)
    assert seen.rewards()[:2] == [seen.state.reward[0], 0.7]
    lock.release()
    seen.until(lambda state: state.end is not None)
    assert seen.state.end is not None and seen.state.end.status == "interrupted"


def test_a_file_that_vanishes_ends_nothing_that_was_shown(tmp_path: Path, listen: Listen) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(line(0, None))
    seen = listen(tmp_path)
    seen.until(lambda state: state.finished == 1)
    file.unlink()
    seen.until(lambda state: state.notices != [])
    assert "results.jsonl was moved or removed" in seen.state.notices[0][1]
    assert seen.state.finished == 1 and seen.feed.saved(0, 0, 10) is None
    assert b"moved or removed" in seen.feed.log(0, 1000)[0]
    file.write_bytes(line(0, None) + line(1, None))
    seen.until(lambda state: state.finished == 2)
