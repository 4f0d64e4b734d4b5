from __future__ import annotations

from pathlib import Path

from tui_eval.feeds.saved_feed import SavedFeed
from tui_eval.runs.layout import RunDir
from tui_eval.runs.run_info import read_log


def test_a_log_is_read_from_any_place_as_far_as_is_requested(tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_bytes(b"one\ntwo\n")
    feed = SavedFeed(RunDir(tmp_path))
    assert feed.log(0, 3) == (b"one", 8)
    assert feed.log(4, 100) == (b"two\n", 8)
    assert feed.log(100, 100) == (b"", 8)


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_log(tmp_path / "engine.log", 0, 100) == (b"", 0)
