"""Results of other programs: detected by content, and shown with their own numbers."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from made_runs import opened, row

from tui_eval.errors import RefusedError
from tui_eval.events import RolloutFinished
from tui_eval.fold.columns import seconds_of
from tui_eval.fold.query.filtering import RowFilter
from tui_eval.fold.run_state import RunState
from tui_eval.runs.export.source import row_object
from tui_eval.runs.formats.detection import Format, detect
from tui_eval.runs.saved_run import find_run, read_rollout, saved_events

DATA = Path(__file__).parents[1] / "data"
RUNS, OTHERS = DATA / "runs", DATA / "others"


RAISED = """Traceback (most recent call last):
  File "tools.py", line 3, in divide
    return a / b
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "tool_env.py", line 141, in call_tool
    result = await maybe_await(tool(**arguments))
verifiers.errors.ToolCallError: Tool 'divide' raised: once
"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"error": "ModelError", "error_chain_str": "ModelError -> RateLimitError"}, "endpoint"),
        ({"error": "SandboxError", "error_chain_str": "SandboxError"}, "sandbox"),
        ({"error": "ValueError", "class": "tool"}, "tool"),
        ({"error": "ModelError", "class": "weather"}, "endpoint"),
        ({"error": "ValueError", "class": 7}, "environment"),
        ("ModelError", "endpoint"),
        (RAISED, "tool"),
    ],
)
def test_what_failed_is_known_by_the_names_where_a_row_does_not_say_it(
    tmp_path: Path, error: Any, kind: str
) -> None:
    saved = {"example_id": 0, "prompt": "p", "completion": "c", "error": error, "metrics": {}}
    (tmp_path / "results.jsonl").write_text(json.dumps(saved) + "\n")
    state = opened(find_run(tmp_path))
    assert state.outcomes.classes == {kind: 1}
    assert row_object(state, 0, {})["error_class"] == kind
    assert list(RowFilter(f"class:{kind}").rows(state)) == [0]


TORN = "Traceback (most recent call last):\n  nothing"


def numbers(state: RunState) -> dict[str, Any]:
    assert state.run is not None and state.end is not None
    return {
        "format": state.run.format,
        "named": (state.run.env_id, state.run.model),
        "shape": (state.run.num_examples, state.per_example),
        "counts": (state.finished, state.errored, state.end.status),
        "reward": state.reward_mean.result().mean,
        "metrics": {name: mean.result().mean for name, mean in state.metrics.items()},
        "turns": sum(state.turns),
        "tools": state.outcomes.tools,
        "tokens": (state.usage.tokens_in, state.usage.tokens_out),
    }


KNOWN: dict[str, dict[str, Any]] = {
    "runs/verifiers-2025-08": {
        "format": "verifiers",
        "named": ("sums", "some-model"),
        "shape": (2, 2),
        "counts": (4, 0, "finished"),
        "reward": 0.5,
        "metrics": {"correct_answer": 0.5},
        "turns": 4,
        "tools": {},
        "tokens": (0, 0),
    },
    "runs/verifiers-2025-09-tools": {
        "format": "verifiers",
        "named": ("math-python", "some-model"),
        "shape": (2, 2),
        "counts": (4, 0, "finished"),
        "reward": 1.0,
        "metrics": {"total_tool_calls": 1.0, "correct_answer": 1.0},
        "turns": 8,
        "tools": {"python": (4, 0)},
        "tokens": (0, 0),
    },
    "runs/verifiers-2025-09-wrong-counts": {
        "format": "verifiers",
        "named": ("tool-test", "some-model"),
        "shape": (2, 3),
        "counts": (6, 0, "finished"),
        "reward": 1.0,
        "metrics": {"total_tool_calls": 2.0},
        "turns": 0,
        "tools": {},
        "tokens": (0, 0),
    },
    "runs/verifiers-2025-10": {
        "format": "verifiers",
        "named": ("wordle", "some-model"),
        "shape": (2, 2),
        "counts": (4, 0, "finished"),
        "reward": 1.5,
        "metrics": {"check_answer": 1.0},
        "turns": 8,
        "tools": {},
        "tokens": (0, 0),
    },
    "runs/verifiers-0.1.11": {
        "format": "verifiers",
        "named": ("my-env", "mock/model-a"),
        "shape": (2, 2),
        "counts": (4, 0, "finished"),
        "reward": 0.5,
        "metrics": {"ok": 0.5, "num_turns": 2.0},
        "turns": 8,
        "tools": {"add_one": (4, 0)},
        "tokens": (160, 56),
    },
    "runs/prime-hosted": {
        "format": "Prime",
        "named": ("owner/env", "some/model"),
        "shape": (2, 1),
        "counts": (2, 0, "finished"),
        "reward": 1.25,
        "metrics": {"accuracy": 1.0},
        "turns": 2,
        "tools": {},
        "tokens": (0, 0),
    },
    "others/osmosis.json": {
        "format": "Osmosis",
        "named": ("osmosis", "my-model"),
        "shape": (2, 2),
        "counts": (4, 1, "finished"),
        "reward": pytest.approx(2 / 3),
        "metrics": {"rewards:exact": pytest.approx(2 / 3), "rewards:quality": 0.5},
        "turns": 0,
        "tools": {},
        "tokens": (0, 150),
    },
    "others/conversations.jsonl": {
        "format": "OpenAI chat",
        "named": ("conversations", "?"),
        "shape": (3, 1),
        "counts": (3, 0, "finished"),
        "reward": None,
        "metrics": {},
        "turns": 3,
        "tools": {"look": (1, 0)},
        "tokens": (0, 0),
    },
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_saved_run_of_another_program_has_the_numbers_of_its_content(name: str) -> None:
    assert numbers(opened(find_run(DATA / name))) == KNOWN[name]


@pytest.mark.parametrize("name", KNOWN)
def test_a_results_file_is_recognised_under_any_name_and_without_metadata(
    name: str, tmp_path: Path
) -> None:
    source = DATA / name
    source = source / "results.jsonl" if source.is_dir() else source
    file = tmp_path / "yesterday.txt"
    shutil.copy(source, file)
    state, known = opened(find_run(file)), KNOWN[name]
    assert state.run is not None and state.run.format == known["format"]
    assert state.run.path == str(file)
    assert (state.finished, state.errored) == known["counts"][:2]
    assert state.reward_mean.result().mean == known["reward"]
    assert state.notices == []
    assert [path.name for path in tmp_path.iterdir()] == ["yesterday.txt"]


@pytest.mark.parametrize("name", ["osmosis.json", "conversations.jsonl"])
def test_a_directory_with_one_results_file_is_that_run(name: str, tmp_path: Path) -> None:
    shutil.copy(OTHERS / name, tmp_path / name)
    (tmp_path / "notes.json").write_text('{"a": 1}')
    assert find_run(tmp_path).results == tmp_path / name
    (tmp_path / "second.jsonl").write_text('{"completion": [], "reward": 1}\n')
    with pytest.raises(RefusedError, match=r"several runs: .*second\.jsonl"):
        find_run(tmp_path)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text("roses\nviolets\n")
    with pytest.raises(RefusedError, match="its lines are no JSON"):
        find_run(tmp_path / "poem.txt")


@pytest.mark.parametrize(
    ("data", "what", "hint"),
    [
        (gzip.compress(b'{"completion": []}\n', mtime=0), "packed by gzip", "gunzip -k "),
        (b"PAR1\x15\x04\x15", "a Parquet table", "as JSON, a rollout a line"),
        ('{"completion": []}\n'.encode("utf-16"), "UTF-16", "iconv -f UTF-16"),
        (bytes(range(256)), "a binary file", "Name a text file"),
        ('{"completion": []}\n'.encode("utf-32"), "UTF-32", "iconv -f UTF-32"),
        (b'[[eval]]\nenv_id = "a"\n', "its lines are no JSON", "A rollout is a line"),
        (b'[{"completion": []}]', "one JSON list", "jq -c '.\\[\\]' "),
        (b'[\n {\n  "completion": []\n }\n]\n', "one JSON list", "jq -c"),
        (
            b'{"loss": 1, "step": 2}\n',
            "its lines have loss, step",
            "line with completion, messages",
        ),
        (b"example_id,reward\n0,1\n", "its lines are no JSON", "A rollout is a line"),
        (b"1\n2\n", "no JSON objects", "A rollout is a line"),
        (b'{"text": "' + b"x" * 100_000 + b'"}\n', "its lines have text", "A rollout is a line"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_not_read_says_what_it_is_and_what_to_do(
    tmp_path: Path, data: bytes, what: str, hint: str
) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(data)
    with pytest.raises(RefusedError, match=f"{what}.*{hint}"):
        find_run(file)


def test_a_blank_file_that_holds_no_rollouts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_text("\n\n")
    with pytest.raises(RefusedError, match="its lines are blank"):
        find_run(tmp_path / "metadata.json")


@pytest.mark.parametrize("name", ["osmosis.json", "conversations.jsonl"])
def test_a_byte_order_mark_and_windows_line_ends_hide_nothing(name: str, tmp_path: Path) -> None:
    data = (OTHERS / name).read_bytes()
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    seen, plain = opened(find_run(tmp_path / name)), opened(find_run(OTHERS / name))
    assert (seen.finished, seen.unreadable) == (plain.finished, [])
    run = find_run(tmp_path / name)
    first = read_rollout(run, 0, seen.offset[0], seen.length[0])
    assert first == read_rollout(find_run(OTHERS / name), 0, plain.offset[0], plain.length[0])


@pytest.mark.parametrize("lines", [1, 3])
def test_the_first_lines_may_be_garbage(tmp_path: Path, lines: int) -> None:
    file = tmp_path / "r.jsonl"
    good = (OTHERS / "conversations.jsonl").read_bytes()
    file.write_bytes(b'{"messages": [{"role"\n' * lines + good)
    state = opened(find_run(file))
    assert detect(file) is Format.CHAT
    assert state.finished == 3
    assert [event.line for event in state.unreadable] == list(range(1, lines + 1))


def test_a_conversation_is_split_before_its_first_answer() -> None:
    run = find_run(OTHERS / "conversations.jsonl")
    events = [one for one in saved_events(run) if isinstance(one, RolloutFinished)]
    assert [(one.question, one.answer) for one in events] == [
        ("Capital of France?", "Paris."),
        ("What is this?\n[image · x]", "A cat."),
        ("Hello?", ""),
    ]
    rollout = read_rollout(run, 1, events[1].offset, events[1].length)
    assert rollout is not None and rollout.prompt_length == 1
    assert [entry.tool.result for entry in rollout.entries() if entry.tool] == ["a cat"]


def test_a_failed_run_of_osmosis_says_why() -> None:
    run = find_run(OTHERS / "osmosis.json")
    failed = [one for one in saved_events(run) if getattr(one, "error", None)]
    assert len(failed) == 1 and failed[0].error == "Rate limit exceeded."
    assert (failed[0].example_id, failed[0].number, failed[0].reward) == (7, 1, None)
    rollout = read_rollout(run, failed[0].row, failed[0].offset, failed[0].length)
    assert rollout is not None and rollout.error == "Rate limit exceeded."


def test_what_osmosis_does_not_save_is_unknown_and_its_tokens_are_those_of_both() -> None:
    state = opened(find_run(OTHERS / "osmosis.json"))
    record = row_object(state, 0, {})
    unknown = ("turns", "tool_calls", "input_tokens", "output_tokens")
    assert [record[name] for name in unknown] == [None] * 4
    assert record["tokens"] == state.output_tokens[0] > 0
    for where in ("turns<9", "calls<9", "input<9", "output>0"):
        assert not len(RowFilter(where).rows(state)), where
    assert list(RowFilter("tokens>0").rows(state)) == [0, 1, 2]


def test_a_time_in_which_turns_were_not_measured_is_unknown() -> None:
    state = opened(find_run(RUNS / "verifiers-2025-10"))
    assert [seconds_of(state, row) for row in range(4)] == [None] * 4
    assert state.times.mean_ms is None
    measured = opened(find_run(RUNS / "verifiers-2025-09-tools"))
    assert seconds_of(measured, 0) and measured.times.mean_ms


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("RateLimitError: too many", "RateLimitError: too many"),
        (RAISED, "ToolCallError"),
        (RAISED.replace("\n", "\r\n"), "ToolCallError"),
        (RAISED + "and more\nmessage\n", "ToolCallError"),
        (
            "Traceback (most recent call last):\n  nothing",
            "Traceback (most recent call last):\n  nothing",
        ),
    ],
)
def test_an_error_that_was_saved_as_a_traceback_is_called_as_what_was_raised(
    tmp_path: Path, error: str, name: str
) -> None:
    row = {"example_id": 0, "prompt": "?", "completion": "!", "reward": 0.0, "error": error}
    (tmp_path / "results.jsonl").write_text(json.dumps(row) + "\n")
    assert opened(find_run(tmp_path)).errors == {0: name}


def test_of_a_torn_document_every_whole_run_is_shown(tmp_path: Path) -> None:
    data, file = (OTHERS / "osmosis.json").read_bytes(), tmp_path / "results.json"
    file.write_bytes(data)
    whole = [one for one in saved_events(find_run(file)) if isinstance(one, RolloutFinished)]
    ends = [one.offset + one.length for one in whole]
    for cut in range(data.index(b'"rows"'), len(data.rstrip()), 7):
        file.write_bytes(data[:cut])
        state = opened(find_run(file))
        assert (state.finished, len(state.unreadable)) == (sum(end <= cut for end in ends), 1)
        assert "torn" in state.notices[0][1]
        assert state.run is not None and state.run.model == "my-model"


def test_rows_with_nan_and_json_in_strings_are_read(tmp_path: Path) -> None:
    plain = row(0, None, 0.5, metrics={"score": 0.5, "odd": float("nan")})
    texts = {key: json.dumps(plain[key]) for key in ("prompt", "completion", "metrics")}
    file = tmp_path / "r.jsonl"
    file.write_text(
        "".join(json.dumps(one) + "\n" for one in (plain, {**plain, **texts}, {**plain, "id": 3}))
    )
    state = opened(find_run(file))
    assert (state.finished, state.notices) == (3, [])
    assert {name: mean.n for name, mean in state.metrics.items()} == {"score": 3}


@pytest.mark.parametrize("said", ["a time", "[sic] a time"])
def test_a_prompt_may_be_plain_text(tmp_path: Path, said: str) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(json.dumps(row(0, None, prompt="Once upon", completion=said)) + "\n")
    run = find_run(file)
    (event,) = [one for one in saved_events(run) if isinstance(one, RolloutFinished)]
    assert (event.question, event.answer, event.turns) == ("Once upon", said, 1)
    rollout = read_rollout(run, 0, event.offset, event.length)
    assert rollout is not None
    assert [(one.role, one.text) for one in rollout.entries()] == [
        ("user", "Once upon"),
        ("assistant", said),
    ]


def test_numbers_that_were_saved_as_text_are_numbers(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    texts = {"reward": "0.5", "metrics": {"good": "1e-1", "odd": "nan", "word": "5 of 6"}}
    file.write_text(json.dumps({**row(0, None), **texts}) + "\n")
    state = opened(find_run(file))
    assert state.reward_mean.result().mean == 0.5
    assert {name: mean.result().mean for name, mean in state.metrics.items()} == {"good": 0.1}


@pytest.mark.parametrize(
    ("place", "env_id"),
    [
        ("maths--tiny/0a1b2c3d/results.jsonl", "maths"),
        ("downloads/monday/results.jsonl", "monday"),
        ("downloads/monday/results.json", "monday"),
        ("downloads/maths.jsonl", "maths"),
    ],
)
def test_a_run_that_does_not_name_its_environment_is_called_as_its_place(
    tmp_path: Path, place: str, env_id: str
) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(row(0, None)) + "\n")
    started = opened(find_run(file)).run
    assert started is not None and started.env_id == env_id
