"""Searching the trajectories of a run on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_runs import row, write_run

from tui_eval.errors import RefusedError
from tui_eval.fold.query.filtering import RowFilter
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import read_run
from tui_eval.runs.selection import search_trajectories, select_rows


def saved(path: Path) -> tuple[RunDir, RunState]:
    call = json.dumps({"id": "c", "name": "lookup", "arguments": '{"city": "Oslo"}'})
    rows: list[dict[str, Any]] = [
        row(0, 0, completion=[{"role": "assistant", "content": "The Vixen naps" + "." * 400}]),
        row(0, 1, completion=[{"role": "assistant", "tool_calls": [call]}]),
        row(1, 0, completion=[{"role": "tool", "tool_call_id": "c", "content": "höhle"}]),
        row(1, 1, completion=[{"role": "assistant", "content": "a" * 60 + "!"}]),
    ]
    run = write_run(path, [json.dumps(one).encode() + b"\n" for one in rows])
    return run, read_run(run)[0]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("text:vixen", [0]),
        ("!text:vixen", [1, 2, 3]),
        ("text!=vixen", [1, 2, 3]),
        ("text:oslo or text:lookup", [1]),
        ("text:HÖHLE", [2]),
        ('text:"question 1"', [2, 3]),
        ("text:/vix.n n/", [0]),
        ("row<1 and text:question", [0]),
        ("text:none", []),
    ],
)
@pytest.mark.process
def test_trajectories_are_searched(tmp_path: Path, text: str, rows: list[int]) -> None:
    run, state = saved(tmp_path)
    wanted = RowFilter(text)
    seen = list(search_trajectories(run, state, wanted))
    assert list(wanted.rows(state)) == rows
    assert [one.searched for one in seen] == list(range(1, seen[-1].total + 1))
    assert seen[-1].unread == 0


def test_a_search_that_is_left_has_reported_what_it_found(tmp_path: Path) -> None:
    run, state = saved(tmp_path)
    wanted = RowFilter("text:e")
    search = search_trajectories(run, state, wanted)
    assert (next(search).searched, next(search).total) == (1, 4)
    search.close()
    assert list(wanted.rows(state)) == [0, 1]
    assert list(wanted.undecided(state)) == [2, 3]
    assert [one.total for one in search_trajectories(run, state, wanted)] == [2, 2]


@pytest.mark.process
def test_an_expression_that_takes_too_long_is_counted_and_the_others_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_eval.runs.selection.PATIENCE_S", 0.3)
    run, state = saved(tmp_path)
    wanted = RowFilter("text:/(a+)+$/")
    seen = list(search_trajectories(run, state, wanted))
    assert (seen[-1].searched, seen[-1].unread) == (4, 1)
    assert 3 not in wanted.rows(state)


def test_a_line_that_is_gone_is_counted(tmp_path: Path) -> None:
    run, state = saved(tmp_path)
    run.results.write_bytes(run.results.read_bytes()[:300])
    wanted = RowFilter("text:/question/")
    assert list(search_trajectories(run, state, wanted))[-1].unread > 0


def test_a_file_that_is_gone_is_reported(tmp_path: Path) -> None:
    run, state = saved(tmp_path)
    run.results.unlink()
    with pytest.raises(RefusedError, match="cannot be searched any more: No such file"):
        select_rows(run, state, "text:question")
