"""Rows that are there several times: every reader counts the same one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import line, opened, write_run

from tui_eval.fold.rollout_columns import ERROR
from tui_eval.runs.repair import repair
from tui_eval.runs.saved_run import find_run, finished_on_disk

ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.booleans(), st.integers(0, 9)), max_size=12
)


@given(ROWS)
def test_what_is_shown_is_what_a_resume_keeps(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, bool, int]]
) -> None:
    lines = [line(example, n, reward / 10, error) for example, n, error, reward in rows]
    run = write_run(tmp_path_factory.mktemp("twice"), lines)
    first = opened(run)
    again = opened(run)  # from its index
    before = run.results.read_bytes()
    kept = repair(run, rollouts_per_example=2, examples=2, keep_errors=True).kept
    for state in (first, again):
        assert state.finished == len(kept) == len({row[:2] for row in rows})
        for event in kept:
            assert (state.stage[event.row] == ERROR) == (event.error is not None)
            if event.error is None:
                assert state.reward[event.row] == event.reward
        assert bool(state.end and state.end.contradictions) == (len(kept) < len(rows))
    after = run.results.read_bytes()
    for event in kept:
        row = json.loads(after[event.offset : event.offset + event.length])
        offset, length = first.offset[event.row], first.length[event.row]
        assert json.loads(before[offset : offset + length]) == row
    assert {one.row for one in finished_on_disk(run)} == {event.row for event in kept}


@given(st.permutations([0, 0, 1, 1, 2, 2, 3, 3, 4]), st.booleans())
def test_lines_that_are_there_twice_count_once_wherever_they_are(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], named: bool
) -> None:
    different = [line(number % 2, None, number / 10) for number in range(4)]
    lines = [different[one] if one < 4 else b"\n" for one in order]
    folder = tmp_path_factory.mktemp("twice")
    (folder / "results.jsonl").write_bytes(b"".join(lines))
    if named:
        meta = {"num_examples": 2, "rollouts_per_example": 2}
        (folder / "metadata.json").write_text(json.dumps(meta))
    state = opened(find_run(folder))
    assert state.finished == (4 if named else 8), (
        "without metadata nothing says that it is too many"
    )
    assert state.reward_mean.result().mean == pytest.approx(0.15)
