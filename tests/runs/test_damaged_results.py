"""Results files with faults: which line, why, and everything else is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import opened, write_run

from tui_eval.cli.console.report import print_damage
from tui_eval.events import HEAD, LineUnreadable, RolloutFinished
from tui_eval.fold.run_state import RunState
from tui_eval.runs.export.markdown import plain
from tui_eval.runs.export.source import ExportSource
from tui_eval.runs.export.writer import write_export
from tui_eval.runs.formats.detection import detect
from tui_eval.runs.formats.rows import read_row, row_event
from tui_eval.runs.saved_run import find_run, read_rollout, saved_events
from tui_eval.runs.scan import Line, line_of

DATA = Path(__file__).parents[1] / "data"
RUNS, OTHERS = DATA / "runs", DATA / "others"

TEXTS = st.text(max_size=300) | st.sampled_from(
    ["x" * 5000, 'é\\"\n' * 900, "[1]", "[", "步" * 3000]
)
NUMBERS = st.none() | st.integers(-3, 10**20) | st.floats() | st.booleans()
ODD: st.SearchStrategy[Any] = st.recursive(
    NUMBERS | TEXTS | st.just("\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
CALLS = st.builds(lambda name: {"id": "c", "name": name, "arguments": "{}"}, st.text(max_size=9))
WIRE = st.builds(lambda call: {"id": "c", "function": call}, CALLS)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "tool", "system"]),
            "content": TEXTS | st.none(),
        },
        optional={
            "tool_calls": st.none() | st.lists(CALLS | WIRE | CALLS.map(json.dumps), max_size=3)
        },
    ),
    max_size=5,
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 10**6)
TOKENS = st.builds(
    lambda a, b: {"input_tokens": a, "output_tokens": b}, FLOATS | st.none(), FLOATS | st.none()
)
OURS = st.fixed_dictionaries(
    {"rollout": st.integers(-2, 1 << 33), "attempt": st.integers(1, 1 << 17)},
    optional={
        "row": st.integers(-2, 1 << 33),
        "tool_calls": st.just([{"name": "f", "error": "bad"}, {"name": "f"}]),
        "steps": st.just([{"model_ms": 5.0}, {"model_ms": None}, {}]),
        "lost_usage": TOKENS,
    },
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "example_id": st.integers(0, 9) | st.text(max_size=5),
    "prompt": MESSAGES | TEXTS,
    "completion": MESSAGES | TEXTS,
    "reward": FLOATS | st.none(),
    "error": st.none() | st.just({"error": "ModelError", "error_chain_str": "A -> B"}),
    "timing": st.just({"generation_ms": 5, "total_ms": 6.5, "start_time": 10}),
    "metrics": st.dictionaries(st.text(max_size=5), FLOATS | st.none(), max_size=3),
    "token_usage": TOKENS,
    "tui_eval": st.none() | OURS,
    "is_truncated": st.booleans(),
    "stop_condition": st.none() | TEXTS,
}
ROWS = st.builds(
    lambda saved, odd: {**saved, **odd},
    st.fixed_dictionaries(FIELDS),
    st.just({}) | st.dictionaries(st.sampled_from(sorted(FIELDS)), ODD, max_size=2),
)


@given(ROWS)
def test_fast_and_careful_reading_agree(saved: dict[str, Any]) -> None:
    raw = json.dumps(saved).encode() + b"\n"
    line = line_of(1, 0, raw)
    assert line is not None and line.row is not None
    expected = row_event(Line(1, 0, len(raw), line.row))
    read = read_row(1, 0, memoryview(raw))
    if isinstance(read, Line):  # a row all the same, with a reward that is no number
        assert read.fault.startswith(("its reward is no number", "its reward is too great"))
        read = row_event(read)
    assert isinstance(read, RolloutFinished)
    assert len(read.question) <= HEAD and len(read.answer) <= HEAD
    assert read == expected


LINES = [
    line
    for path in [*sorted(RUNS.glob("*/results.jsonl")), OTHERS / "conversations.jsonl"]
    for line in path.read_bytes().splitlines(keepends=True)[:1]
]


def test_a_row_with_a_fault_is_shown_and_the_fault_is_reported(tmp_path: Path) -> None:
    good = b'{"example_id": %d, "completion": "ok", "reward": %s}\n'
    lines = [
        good % (0, b"1"),
        good % (1, b'"high"'),
        good % (2, b"Infinity"),
        good.replace(b"ok", b"caf\xe9") % (3, b"1"),
        good % (4, b"null"),
    ]
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"".join(lines))
    state = opened(find_run(path))
    assert (state.finished, state.reward_mean.n, state.unreadable) == (5, 2, [])
    assert state.notices == [
        ("warning", 'r.jsonl, line 2: its reward is no number: "high"'),
        ("warning", "r.jsonl, line 3: its reward is no number: Infinity"),
        ("warning", "r.jsonl, line 4: not UTF-8 at byte 37; shown with \ufffd"),
    ]


def test_a_byte_that_is_no_utf_8_is_reported_with_its_line_wherever_the_rollout_is_shown(
    tmp_path: Path,
) -> None:
    good = b'{"example_id": %d, "metrics": {}, "completion": "%s", "reward": 1}\n'
    deep = good % (1, b"x" * 5000 + b"caf\xe9")
    path = tmp_path / "r.jsonl"
    path.write_bytes(good % (0, b"caf\xc3\xa9") + b"\n" + deep + good % (2, b"ok"))
    run = find_run(path)
    state = opened(run)
    trajectories = [read_rollout(run, n, state.offset[n], state.length[n]) for n in range(3)]
    fault = "r.jsonl, line 3: not UTF-8 at byte 5052; shown with \ufffd"
    assert [trajectory and trajectory.doubt for trajectory in trajectories] == ["", fault, ""]
    source = ExportSource(run, state, {}, [0, 1, 2])
    written = [progress.written for progress in write_export(source, "markdown", tmp_path / "m")]
    assert written == [1, 2, 3] and list(source.doubts.values()) == [fault]
    assert (tmp_path / "m").read_text().count(plain(fault)) == 1


def test_metadata_that_is_no_json_is_reported(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_bytes(LINES[0])
    (tmp_path / "metadata.json").write_text('{"env_id": "e",\n oops}')
    fault = "metadata.json: not JSON at character 18: expecting property name enclosed in double"
    ((level, text),) = opened(find_run(tmp_path)).notices
    assert level == "warning" and text.startswith(fault)


def test_a_plan_that_is_cut_off_is_reported(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_bytes(LINES[0])
    (tmp_path / "run.toml").write_text('env_id = "e"\nmodel = "m')
    ((level, text),) = opened(find_run(tmp_path)).notices
    assert level == "warning" and text.startswith("run.toml: no TOML: ")


def test_lines_beyond_those_that_are_reported_are_counted_with_the_way_to_see_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(LINES[0] + b"null\n[]\n3\n" + b'"x"\n' * 3)
    print_damage(opened(find_run(path)))
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" ")[2] for line in lines[:3]] == ["null", "list", "number"]
    assert lines[0] == "warning: r.jsonl, line 2: not a row: a row is an object, this is null"
    assert lines[5:] == [f"warning: 1 more line like that: see the log (4) of tui-eval open {path}"]


@given(st.sampled_from(LINES), st.data())
def test_a_mutilated_line_is_a_fault_with_its_number_or_still_a_row(
    tmp_path_factory: pytest.TempPathFactory, line: bytes, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, len(line) - 2))
    there = data.draw(st.integers(cut, len(line) - 1))
    put = data.draw(st.binary(max_size=3).filter(lambda some: b"\n" not in some))
    bad = line[:cut] + put + line[there:]
    path = tmp_path_factory.mktemp("mutilated") / "r.jsonl"
    path.write_bytes(line + bad + line)
    state = opened(find_run(path))
    if any(event.line == 2 for event in state.unreadable):
        assert [event.line for event in state.unreadable] == [2]
        assert (state.unreadable[0].offset, state.unreadable[0].length) == (len(line), len(bad))
        assert state.finished == 2
    else:
        assert (state.finished, state.unreadable) == (3, [])
    path.unlink()


@given(st.sampled_from(LINES), st.data())
def test_a_line_that_is_cut_off_is_reported_and_the_others_are_shown(
    tmp_path_factory: pytest.TempPathFactory, line: bytes, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "r.jsonl"
    path.write_bytes(line + line[: data.draw(st.integers(1, len(line) - 2))])
    events = list(saved_events(find_run(path)))
    faults = [event for event in events if isinstance(event, LineUnreadable)]
    assert [(event.line, event.why) for event in faults] == [(2, "the line was not finished")]
    assert sum(isinstance(event, RolloutFinished) for event in events) == 1
    path.unlink()


@given(st.binary(max_size=200))
def test_any_file_is_recognised_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "r.jsonl"
    path.write_bytes(data)
    detect(path)
    run = write_run(path.parent / "run", [data])
    state = RunState()
    for event in saved_events(run):
        state.apply(event)
    lines = [line for line in data.split(b"\n") if line.strip()]
    assert state.finished + len(state.unreadable) == len(lines)
    path.unlink()
