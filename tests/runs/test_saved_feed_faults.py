"""Reports on lines and metadata that cannot be read, are cut off or contradict each other."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from feed_listener import PATIENCE_S, Listen, aged, append, metadata
from made_runs import line, write_run

from tui_eval.feeds.saved_feed import SavedFeed
from tui_eval.runs import replay


def test_a_line_that_was_left_unfinished_is_reported(tmp_path: Path, listen: Listen) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(line(0, None) + line(1, None)[:40])
    before = time.time() - 100
    os.utime(file, (before, before))
    seen = listen(tmp_path)
    seen.until(lambda state: state.end is not None)
    assert [(one.line, one.why) for one in seen.state.unreadable] == [
        (2, "the line was not finished")
    ]


def test_lines_that_cannot_be_read_are_not_waited_for(tmp_path: Path, listen: Listen) -> None:
    file = tmp_path / "some.jsonl"
    lines = [line(example, None, 0.5) for example in (0, 0, 1, 1, 2, 2, 3, 3)]
    lines[3], lines[6] = b'{"example_id": 1, oh}\n', b"junk\n"
    file.write_bytes(b"".join(lines))
    aged(file)
    state = listen(file).until(lambda state: state.end is not None)
    assert (state.finished, state.waiting, state.expected) == (6, 0, 6)
    assert state.unreadable_lines == 2 and state.end is not None and state.end.status == "finished"
    assert [(one.line, one.why.split(":")[0]) for one in state.unreadable] == [
        (4, "not JSON at character 19"),
        (7, "not JSON at character 1"),
    ]


@pytest.mark.parametrize(
    "broken, why",
    [
        (b'{"a": "x\0y"}\n', "not JSON at character 9: invalid control character"),
        (b'{"a": "x}\n', "not JSON at character 10: invalid control character"),
        (b'{"a": "x', "the line was not finished"),
        (b'{"a": x}\n', "not JSON at character 7: expecting value"),
    ],
)
def test_why_a_line_is_no_json_is_a_whole_sentence(
    tmp_path: Path, listen: Listen, broken: bytes, why: str
) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(line(0, None, 0.5) + line(1, None, 0.5) + broken)
    aged(file)
    state = listen(file).until(lambda state: state.end is not None)
    assert [(one.line, one.why) for one in state.unreadable] == [(3, why)]


def test_a_run_whose_missing_lines_are_unreadable_is_over_and_not_whole(
    tmp_path: Path, listen: Listen
) -> None:
    file = tmp_path / "results.jsonl"
    metadata(tmp_path / "metadata.json", 2, 2)
    file.write_bytes(line(0, None) + line(0, None) + b"junk\n" + line(1, None))
    aged(file)
    state = listen(tmp_path).until(lambda state: state.end is not None)
    assert (state.finished, state.expected, state.waiting) == (3, 4, 1)
    assert state.end is not None and state.end.status == "interrupted"


def test_a_file_without_metadata_is_over_when_nobody_has_written_it_for_a_while(
    tmp_path: Path, listen: Listen
) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(line(0, None))
    seen = listen(file)
    seen.until(lambda state: state.finished == 1)
    assert seen.state.end is None
    aged(file)
    seen.until(lambda state: state.end is not None)
    append(file, line(1, None))
    seen.until(lambda state: state.finished == 2)
    assert seen.state.end is None


def test_a_last_line_that_is_not_finished_is_reported_at_once_and_taken_back(
    tmp_path: Path, listen: Listen
) -> None:
    file = tmp_path / "some.jsonl"
    whole = line(1, None, 0.7)
    file.write_bytes(line(0, None) + whole[:40])
    seen = listen(file)
    seen.until(lambda state: state.unfinished == 2)
    assert seen.state.unreadable == []
    aged(file)
    seen.until(lambda state: [one.line for one in state.unreadable] == [2])
    assert seen.state.unreadable_lines == 1
    append(file, whole[40:])
    seen.until(lambda state: state.finished == 2)
    assert (seen.state.unfinished, seen.state.unreadable_lines) == (0, 0)
    assert seen.state.unreadable == seen.state.notices == []


def test_garbage_is_reported_line_by_line_up_to_a_limit(tmp_path: Path, listen: Listen) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(line(0, None) + b"junk\n" * 3000)
    aged(file)
    seen = listen(tmp_path)
    seen.until(lambda state: state.end is not None)
    assert (len(seen.state.unreadable), seen.state.unreadable_lines) == (1000, 3000)


def test_a_line_that_stays_unfinished_is_reported_when_the_file_is_quiet(
    tmp_path: Path, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "QUIET_S", 0.5)
    (tmp_path / "results.jsonl").write_bytes(line(0, None) + line(1, None)[:40])
    seen = listen(tmp_path)
    seen.until(lambda state: state.finished == 1)
    assert seen.state.unreadable == []
    seen.until(lambda state: state.unreadable != [])
    assert [one.line for one in seen.state.unreadable] == [2]


def test_the_log_of_a_run_ends_with_what_contradicts_its_rows(
    tmp_path: Path, listen: Listen
) -> None:
    run = write_run(tmp_path, [line(0, 0), b"junk\n", line(0, 1)], avg_reward=0.25)
    run.log.write_text("INFO:engine: begun\n")
    feed = listen(tmp_path).feed
    whole = b"".join(log_pieces(feed, 1000))
    said = whole.decode().splitlines()
    assert said[0] == "INFO:engine: begun" and len(said) == 3
    assert said[1].startswith("WARNING:reading: results.jsonl, line 2: not JSON")
    assert said[2].startswith("WARNING:reading: metadata.json says avg_reward 0.25, ")
    assert b"".join(log_pieces(feed, 7)) == whole
    with run.log.open("a") as file:
        file.write("INFO:engine: more\n")
    assert b"".join(log_pieces(feed, 50)) == whole + b"INFO:engine: more\n"


def log_pieces(feed: SavedFeed, most: int) -> list[bytes]:
    deadline = time.monotonic() + PATIENCE_S
    found: list[bytes] = []
    while True:
        at = sum(map(len, found))
        data, size = feed.log(at, most)
        found.append(data)
        if at + len(data) >= size and b"avg_reward" in b"".join(found):
            return found
        assert time.monotonic() < deadline, found
