"""The run that was looked at last is known the next time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tui_eval.runs.discovery import last_seen, note_seen


def test_the_run_that_was_looked_at_last_is_reported_with_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    assert last_seen() is None
    note_seen("outputs/evals/one")
    note_seen("outputs/evals/two")
    seen = last_seen()
    assert seen is not None
    assert seen[0] == tmp_path / "outputs/evals/two"
    assert abs(seen[1] - time.time()) < 60


def test_a_state_directory_that_cannot_be_written_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("no folder")
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    note_seen("outputs/evals/one")
    assert last_seen() is None
