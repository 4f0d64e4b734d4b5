"""Generated rollouts that wait for their group, across sessions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from made_runs import tool_state

from tui_eval.messages import AssistantMessage, ToolMessage, UserMessage
from tui_eval.runs.journal import Journal
from tui_eval.runs.journal_records import encode_state, read_journal, restore_state
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.row import build_row
from tui_eval.state import State
from tui_eval.types import Response, ResponseMessage, Usage


def with_trajectory() -> State:
    state = tool_state(seen=["a"], lock=object(), usage=MappingProxyType({"input_tokens": 4.0}))
    answer = state["completion"][0]
    state["trajectory"] = [
        {
            "prompt": [UserMessage(content="41 + 1?")],
            "completion": [answer],
            "response": Response(
                id="r1",
                created=1,
                model="m",
                usage=Usage(prompt_tokens=3),
                message=ResponseMessage(
                    finish_reason="tool_calls", is_truncated=False, tool_calls=answer.tool_calls
                ),
            ),
            "tokens": None,
            "reward": None,
            "advantage": None,
            "is_truncated": False,
            "trajectory_id": "t1",
            "extras": {},
        }
    ]
    state["answer"] = "changed by setup_state"
    state.steps = [{"started": 1.0, "model_ms": 2.0}]
    return state


def fresh() -> State:
    values = {"prompt": [UserMessage(content="41 + 1?")], "example_id": 7, "task": "sums"}
    return State(input={**values, "answer": "42"})


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir(tmp_path)


def journal_of(run: RunDir) -> Journal:
    return Journal(run, Redactor(["sk-secret"]))


def test_a_rollout_comes_back_as_it_was(run: RunDir) -> None:
    before = with_trajectory()
    journal = journal_of(run)
    journal.add(3, encode_state(3, 1, 2, before))
    journal.close()
    record = read_journal(run).generated[3]
    shared = fresh()
    after = restore_state(record, shared)
    assert (record["number"], record["attempt"]) == (1, 2)
    assert after["completion"] == before["completion"]
    assert isinstance(after["completion"][1], ToolMessage)
    assert after["answer"] == "changed by setup_state"
    assert after["seen"] == ["a"]
    step = after["trajectory"][0]
    assert isinstance(step["response"], Response)
    assert isinstance(step["completion"][0], AssistantMessage)
    assert step["response"].message.tool_calls == before["completion"][0].tool_calls
    assert (after.steps, after.tool_log) == (before.steps, before.tool_log)
    rows = [build_row(state, number=1, attempt=2) for state in (before, after)]
    assert rows[0] == rows[1]


def test_restoring_leaves_the_dataset_alone(run: RunDir) -> None:
    journal = journal_of(run)
    journal.add(3, encode_state(3, 1, 1, with_trajectory()))
    journal.close()
    row = {"prompt": [UserMessage(content="41 + 1?")], "example_id": 7, "answer": "42"}
    restore_state(read_journal(run).generated[3], State(input=row))
    assert row["answer"] == "42"


@pytest.mark.parametrize("text", ["a\ud800", "\udcff"])
def test_half_characters_do_not_keep_a_rollout_from_being_kept(run: RunDir, text: str) -> None:
    state = tool_state(completion=[AssistantMessage(content=text)], note=text)
    state.scores = [{"name": "f", "raw": None, "weight": 1.0, "error": text}]
    journal = journal_of(run)
    journal.add(0, encode_state(0, 0, 1, state))
    journal.close()
    assert "\\ud" in read_journal(run).generated[0]["completion"][0]["content"]


def test_what_is_forgotten_is_gone_and_the_rest_stays(run: RunDir) -> None:
    journal = journal_of(run)
    for row in range(3):
        journal.add(row, encode_state(row, row, 1, tool_state()))
    journal.forget(1)
    journal.close()
    assert {0, 2} <= read_journal(run).generated.keys()
    journal = journal_of(run)
    journal.keep(read_journal(run).generated.items())
    for row in (0, 1, 2):
        journal.forget(row)
    journal.forget(99)
    journal.close()
    assert not run.journal.exists()


def test_the_journal_does_not_grow_without_end(run: RunDir) -> None:
    journal = journal_of(run)
    journal.add(0, encode_state(0, 0, 1, tool_state()))
    for row in range(1, 60):
        journal.add(row, encode_state(row, 0, 1, tool_state(text="x" * 1_000_000)))
        journal.forget(row)
        if row == 5:
            journal.add(100, encode_state(100, 0, 1, tool_state()))
    assert run.journal.stat().st_size < 40_000_000
    journal.add(60, encode_state(60, 0, 1, tool_state()))
    journal.close()
    assert {0, 60, 100} <= read_journal(run).generated.keys()


def test_a_rollout_that_is_generated_again_is_not_forgotten_with_its_last_attempt(
    run: RunDir,
) -> None:
    journal = journal_of(run)
    journal.add(1, encode_state(1, 0, 1, tool_state()))
    journal.forget(1)
    for row in (1, 2):
        journal.add(row, encode_state(row, 0, 2, tool_state()))
    journal.close()
    assert {row: one["attempt"] for row, one in read_journal(run).generated.items()} == {1: 2, 2: 2}


def test_a_journal_that_nobody_has_read_stays(run: RunDir) -> None:
    journal = journal_of(run)
    journal.add(1, encode_state(1, 0, 1, tool_state()))
    journal.close()
    before = run.journal.read_bytes()
    journal_of(run).close()
    assert run.journal.read_bytes() == before


def answer(row: int, **more: str) -> bytes:
    place = {"row": row, "number": 0, "attempt": 1, "input": {"example_id": row}, **more}
    record = {**place, "request": {"model": "m"}, "ms": 1.0, "response": {"message": {}}}
    return json.dumps(record).encode() + b"\n"


async def test_answers_are_on_disk_once_they_are_waited_for(run: RunDir) -> None:
    journal = journal_of(run)
    first = journal.add_answer(1, answer(1))
    journal.add_answer(2, answer(2)).cancel()
    last = journal.add_answer(1, answer(1))
    await first
    assert last.done()
    assert {row: len(kept) for row, kept in read_journal(run).answers.items()} == {1: 2, 2: 1}
    journal.close()


async def test_an_answer_of_a_rollout_that_is_forgotten_meanwhile_is_forgotten_too(
    run: RunDir,
) -> None:
    journal = journal_of(run)
    journal.add_answer(1, answer(1))
    journal.forget(1)
    await journal.add_answer(2, answer(2))
    assert read_journal(run).answers.keys() == {2}
    journal.close()


async def test_an_answer_that_comes_as_a_rollout_ends_is_written_before_its_state(
    run: RunDir,
) -> None:
    journal = journal_of(run)
    journal.add_answer(1, answer(1))
    journal.add(1, encode_state(1, 0, 1, tool_state()))
    await asyncio.sleep(0)
    kept = read_journal(run)
    assert (kept.generated.keys(), kept.answers) == ({1}, {})
    journal.close()


async def test_a_generated_rollout_needs_its_answers_no_more(run: RunDir) -> None:
    journal = journal_of(run)
    for _ in range(34):
        last = journal.add_answer(1, answer(1, text="x" * 1_000_000))
    await last
    journal.add(1, encode_state(1, 0, 1, tool_state()))
    journal.forget(2)
    assert run.journal.stat().st_size < 1_000_000
    assert read_journal(run).generated.keys() == {1}
    journal.close()


async def test_the_end_writes_answers_that_have_just_come(run: RunDir) -> None:
    journal = journal_of(run)
    written = journal.add_answer(1, answer(1))
    journal.close()
    assert written.done()
    assert read_journal(run).answers.keys() == {1}


async def test_a_journal_reports_each_writing(run: RunDir) -> None:
    reports: list[int] = []
    journal = Journal(run, Redactor([]), lambda: reports.append(1))
    journal.add(1, encode_state(1, 0, 1, tool_state()))
    assert len(reports) == 1
    await journal.add_answer(2, answer(2))
    assert len(reports) == 2
    journal.close()


async def test_what_a_disk_refuses_waits_until_it_takes_it(run: RunDir) -> None:
    refused: list[OSError] = []
    journal = Journal(run, Redactor([]), refused=refused.append)
    run.journal.mkdir()  # no file can be opened there
    waiting = [journal.add_answer(row, answer(row)) for row in (1, 2, 3)]
    await asyncio.sleep(0)
    journal.add(2, encode_state(2, 0, 1, tool_state()))
    journal.forget(1)  # its row is written
    assert [type(error) for error in refused] == [IsADirectoryError]
    assert [one.done() for one in waiting] == [True, False, False]
    assert len(journal.lines(2)) == 2
    run.journal.rmdir()
    journal.retry()
    await asyncio.gather(*waiting)
    found = read_journal(run)
    assert (found.answers.keys(), found.generated.keys()) == ({3}, {2})
    journal.close()


@pytest.mark.parametrize("is_open", [True, False])
def test_a_journal_that_was_moved_is_written_where_it_is_now(
    run: RunDir, tmp_path: Path, is_open: bool
) -> None:
    journal, moved = journal_of(run), RunDir(tmp_path / "moved")
    moved.path.mkdir()
    if is_open:
        journal.add(1, encode_state(1, 0, 1, tool_state()))
        journal.hold()
        journal.copy_to(moved.journal)
    journal.move_to(moved.journal)
    journal.retry()
    before = [one.read_bytes() for one in tmp_path.glob("journal*")]
    text = "x" * 1_000_000
    for row in range(2, 36):  # enough for it to be rewritten
        journal.add(row, encode_state(row, 0, 1, tool_state(text=text)))
        journal.forget(row)
    journal.add(36, encode_state(36, 0, 1, tool_state()))
    journal.close()
    assert read_journal(moved).generated.keys() == ({1, 36} if is_open else {36})
    assert [one.read_bytes() for one in tmp_path.glob("journal*")] == before


@pytest.mark.parametrize(
    "junk", [b'{"row": 9, "compl', b'{"row": 9}\n', b"[]\n", b"\xff\xfe\n", b'{"row": "x"}\n']
)
def test_torn_and_foreign_lines_are_passed_over(run: RunDir, junk: bytes) -> None:
    journal = journal_of(run)
    journal.add(1, encode_state(1, 0, 1, tool_state()))
    journal.close()
    with run.journal.open("ab") as file:
        file.write(junk)
    assert list(read_journal(run).generated) == [1]
    journal = journal_of(run)
    journal.add(2, encode_state(2, 0, 1, tool_state()))
    journal.close()
    assert list(read_journal(run).generated) == [1, 2]


def test_secrets_do_not_reach_the_journal(run: RunDir) -> None:
    journal = journal_of(run)
    journal.add(1, encode_state(1, 0, 1, tool_state(header="Bearer sk-secret")))
    journal.close()
    assert b"sk-secret" not in run.journal.read_bytes()
    assert read_journal(run).generated[1]["state"]["header"] == "Bearer *********"


def test_objects_of_people_are_left_to_a_fresh_state(run: RunDir) -> None:
    journal = journal_of(run)
    journal.add(1, encode_state(1, 0, 1, with_trajectory()))
    journal.close()
    kept: dict[str, Any] = json.loads(run.journal.read_bytes().splitlines()[0])["state"]
    assert not {"lock", "client", "error", "usage_tracker"} & kept.keys()
    assert kept["usage"] == {"input_tokens": 4.0}
