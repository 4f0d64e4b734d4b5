"""Whatever happens to a file that is followed, what was reported of it is what is in it."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_runs import line, write_run

from tui_eval.events import OUT_OF_BUDGET, Event, RunFinished
from tui_eval.fold.run_state import RunState
from tui_eval.runs import scan
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import RunLock
from tui_eval.runs.replay import Replay
from tui_eval.runs.row_places import unfinished_object

JUNK = b'{"example_id": 1, oh}\n'
LINES = st.builds(
    lambda example, reward: line(example, None, reward / 8), st.integers(0, 4), st.integers(0, 8)
)
DATA = st.lists(LINES | st.just(JUNK) | st.just(b"\n"), max_size=5).map(b"".join)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["append", "rewrite", "replace"]), DATA),
    st.tuples(st.sampled_from(["cut", "torn"]), st.integers(0, 300)),
    st.tuples(st.sampled_from(["vanish", "rest"]), st.none()),
)


def happen(file: Path, what: str, value: Any) -> None:
    if what == "append":
        with file.open("ab") as opened:
            opened.write(value)
    elif what == "rewrite":
        file.write_bytes(value)
    elif what == "replace":
        new = file.with_suffix(".new")
        new.write_bytes(value)
        new.replace(file)
    elif what == "rest" and file.exists():
        before = time.time() - 100
        os.utime(file, (before, before))
    elif what in ("vanish", "rest"):
        file.unlink(missing_ok=True)
    elif file.exists():
        data = file.read_bytes()
        file.write_bytes(data[:value] if what == "cut" else data + line(9, None)[:value])


def figures(state: RunState) -> dict[str, Any]:
    return {
        "rewards": sorted(map(repr, state.reward)),
        "counts": (state.total, state.finished, state.expected, state.per_example),
        "lines": (state.unreadable_lines, state.unfinished, [one.line for one in state.unreadable]),
        "mean": state.reward_mean.result().mean,
        "places": sorted(zip(state.offset, state.length, strict=True)),
    }


@settings(max_examples=60)
@given(DATA, st.lists(STEPS, max_size=6))
@example(b"", [("torn", len(line(9, None)) - 1), ("append", line(0, None))])
def test_a_file_that_was_followed_is_reported_as_one_that_is_opened_now(
    first: bytes, steps: list[tuple[str, Any]]
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(scan, "SETTLED_S", -1.0)
        file = Path(folder) / "some.jsonl"
        file.write_bytes(first)
        followed, state = Replay(RunDir(Path(folder), file.name)), RunState()
        for event in (event for events in followed.begin() for event in events):
            state.apply(event)
        for step in steps:
            happen(file, *step)
            for event in (event for events in followed.more() for event in events):
                state.apply(event)
        followed.close()
        if not file.exists():
            return
        now, fresh = Replay(RunDir(Path(folder), file.name)), RunState()
        for event in (event for events in now.begin() for event in events):
            fresh.apply(event)
        now.close()
        assert figures(state) == figures(fresh)


def test_each_time_that_a_file_is_rewritten_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, now = tmp_path / "some.jsonl", 1000.0
    clock = SimpleNamespace(time=time.time, monotonic=lambda: now)
    monkeypatch.setattr(scan, "time", clock)
    rows = [line(example, None, 0.5) for example in range(3)]
    file.write_bytes(b"".join(rows))
    followed = Replay(RunDir(tmp_path, file.name))
    list(followed.begin())
    file.write_bytes(rows[0])
    assert not list(followed.more()), "it may not be whole yet"
    file.write_bytes(b"".join(rows))
    list(followed.more())
    now += scan.PATIENCE_S + 1
    file.write_bytes(rows[0])
    assert not list(followed.more()), "nor this time"
    now += scan.PATIENCE_S + 1
    assert list(followed.more())
    followed.close()


def write_fields(run: RunDir, **fields: Any) -> None:
    """Replaces metadata.json, as the engine does."""
    new = run.metadata.with_suffix(".new")
    new.write_text(json.dumps(json.loads(run.metadata.read_text()) | fields))
    new.replace(run.metadata)


def test_tokens_in_flight_are_reported_while_somebody_works_on_a_run_of_ours(
    tmp_path: Path,
) -> None:
    run, state = write_run(tmp_path, [line(0, 0)], per_example=1), RunState()
    followed = Replay(run)

    def spend(read: int, written: int) -> None:
        write_fields(run, unfinished=[unfinished_object(1, 0, None, (read, written))])

    def tokens(batches: Iterator[list[Event]]) -> tuple[int, int]:
        for event in (event for events in batches for event in events):
            state.apply(event)
        return state.usage.tokens_in, state.usage.tokens_out

    assert tokens(followed.begin()) == (0, 0) and state.end is not None
    lock = RunLock(run.lock, "")
    spend(20, 10)
    assert tokens(followed.more()) == (20, 10)
    spend(40, 30)
    assert tokens(followed.more()) == (40, 30) and state.end is None
    assert not list(followed.more()), "nothing has changed"
    with run.results.open("ab") as file:
        file.write(line(1, 0, token_usage={"input_tokens": 50.0, "output_tokens": 40.0}))
    assert tokens(followed.more()) == (50, 40), "its row says them"
    lock.release()
    assert tokens(followed.more()) == (50, 40) and state.end is not None
    followed.close()


def test_a_run_that_stops_again_is_reported_as_its_metadata_has_it_then(tmp_path: Path) -> None:
    run = write_run(tmp_path, [line(0, 0)], per_example=1)
    lock, followed = RunLock(run.lock, ""), Replay(run)
    list(followed.begin())
    write_fields(run, status=OUT_OF_BUDGET)
    lock.release()
    ends = [event for events in followed.more() for event in events]
    assert [event.status for event in ends if isinstance(event, RunFinished)] == [OUT_OF_BUDGET]
    followed.close()
