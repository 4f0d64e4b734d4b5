"""Outcome of a run, as its engine, its files and the loss of its engine say it."""

from __future__ import annotations

from typing import Any

import pytest

from tui_eval.events import OUT_OF_BUDGET, STOPPED_EARLY, EvaluationMoved, RunFinished
from tui_eval.fold.run_state import RunState
from tui_eval.runs.outcome import (
    lost_engine_outcome,
    reported_outcome,
    saved_outcome,
    saved_suite_outcome,
    session_outcome,
    suite_outcome,
)


def fields_of(end: RunFinished) -> tuple[str, int, str]:
    return end.status, end.exit_code, end.text


def session(
    failure: str = "",
    spent: str = "",
    early: str = "",
    *,
    total: int = 1,
    was_stopped: bool = False,
) -> tuple[str, int, str]:
    state = RunState()
    state.total = total
    end = session_outcome(
        1.0, state, failure=failure, spent=spent, early=early, was_stopped=was_stopped
    )
    return fields_of(end)


def test_a_run_that_failed_has_failed_though_every_rollout_has_its_row() -> None:
    assert session("the disk is full", total=0) == ("failed", 1, "the disk is full")
    assert session(total=0) == ("finished", 0, "")


def test_a_run_that_somebody_stopped_is_interrupted_whatever_else_held_it() -> None:
    assert session(spent="$1") == (OUT_OF_BUDGET, 4, "$1")
    assert session(early="it is sure") == (STOPPED_EARLY, 0, "it is sure")
    assert session(spent="$1", was_stopped=True)[:2] == ("interrupted", 130)
    assert session(early="it is sure", was_stopped=True)[:2] == ("interrupted", 130)


@pytest.mark.parametrize(
    ("status", "code"), [(OUT_OF_BUDGET, 4), (STOPPED_EARLY, 3), ("interrupted", 130)]
)
def test_a_saved_run_says_why_it_stopped(status: str, code: int) -> None:
    info = {"status": status, "stopped_because": "so it was"}
    end = saved_outcome(1.0, info, is_whole=False, errored=2)
    assert fields_of(end) == (status, code, "so it was")
    assert fields_of(saved_outcome(1.0, info, is_whole=True, errored=2)) == ("finished", 3, "")


def lost(status: str, code: int | None, *, was_stopped: bool = False) -> tuple[str, int, str]:
    info = {"status": status, "stopped_because": "so it was"}
    return fields_of(lost_engine_outcome(1.0, info, code, was_stopped=was_stopped, has_begun=True))


@pytest.mark.parametrize("code", [-15, -9, 130])
def test_an_engine_that_a_stop_request_ended_is_interrupted(code: int) -> None:
    assert lost("running", code, was_stopped=True)[:2] == ("interrupted", 130)
    assert lost("running", code)[:2] == ("failed", 1)


@pytest.mark.parametrize("code", [None, 0, 1])
def test_an_engine_that_crashed_after_a_stop_request_has_failed(code: int | None) -> None:
    assert lost("running", code, was_stopped=True)[:2] == ("failed", 1)


@pytest.mark.parametrize("code", [None, 1, 130])
def test_a_run_that_was_written_as_interrupted_is_so(code: int | None) -> None:
    assert lost("interrupted", code)[:2] == ("interrupted", 130)


@pytest.mark.parametrize("status", ["finished", STOPPED_EARLY])
def test_an_end_that_is_on_disk_is_taken_from_there(status: str) -> None:
    assert lost(status, None) == (status, 0, "so it was")
    assert lost(status, 3) == (status, 3, "so it was")
    assert lost(status, 1)[:2] == ("failed", 1)


def test_a_failure_that_is_on_disk_is_reported_with_its_reason() -> None:
    assert lost("failed", 1) == ("failed", 1, "so it was")
    assert lost("failed", None) == ("failed", 1, "so it was")
    for code in (0, 3, -9):  # it came after that was written, or was a resume's
        assert "so it was" not in lost("failed", code)[2]


def test_a_spent_budget_is_believed_with_its_exit_code_only() -> None:
    assert lost(OUT_OF_BUDGET, 4)[:2] == (OUT_OF_BUDGET, 4)
    assert lost(OUT_OF_BUDGET, 1)[:2] == ("failed", 1)


def suite(*codes: int | None, spent: str = "", was_stopped: bool = False) -> tuple[str, int, str]:
    return fields_of(suite_outcome(1.0, codes, spent=spent, was_stopped=was_stopped))


def test_a_suite_ends_as_the_worst_of_its_evaluations() -> None:
    assert suite(0, 0) == ("finished", 0, "")
    assert suite(0, 3) == ("finished", 3, "")
    wrong = "could not be worked through"
    assert suite(0, 1, 2, None, None) == ("failed", 2, f"2 of 5 evaluations {wrong}")


def test_a_suite_that_leaves_evaluations_out_is_not_finished() -> None:
    assert suite(0, None) == ("interrupted", 130, "")
    assert suite(0, None, spent="$1") == (OUT_OF_BUDGET, 4, "$1")
    assert suite(0, None, spent="$1", was_stopped=True)[:2] == ("interrupted", 130)
    assert suite(1, 130, was_stopped=True)[:2] == ("interrupted", 130)


def saved_suite(*statuses: str) -> tuple[str, float]:
    moved: list[Any] = [
        EvaluationMoved(0, 10.0 - place, place, status) for place, status in enumerate(statuses)
    ]
    end = saved_suite_outcome(moved)
    return end.status, end.at


def test_a_saved_suite_ends_as_its_evaluations_did_and_when_the_last_of_them_did() -> None:
    assert saved_suite("finished", STOPPED_EARLY) == ("finished", 10.0)
    assert saved_suite(OUT_OF_BUDGET, "finished", "waiting") == (OUT_OF_BUDGET, 10.0)
    assert saved_suite("finished", "waiting") == ("interrupted", 10.0)
    assert saved_suite(OUT_OF_BUDGET, "interrupted") == ("interrupted", 10.0)


ENDS = ("failed", "refused", "waiting")


def test_only_an_engine_knows_that_an_evaluation_failed_or_was_refused() -> None:
    saved = RunFinished(0, 1.0, "interrupted", 130, contradictions=["so they say"])
    moved = [
        EvaluationMoved(0, 2.0, 0, one, text="why") for one in ("failed", "refused", "waiting")
    ]
    with_files = [reported_outcome(one, saved) for one in moved]
    assert [one and fields_of(one) for one in with_files] == [("failed", 1, "why")] + 2 * [
        ("interrupted", 130, "")
    ]
    assert with_files[0] is not None and with_files[0].contradictions == ["so they say"]
    without = [reported_outcome(one, None) for one in moved]
    assert [one and one.exit_code for one in without] == [1, 2, None]
