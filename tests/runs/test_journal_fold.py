"""Rollouts in flight by a journal, whatever came in which order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tui_eval.runs.journal_records import InFlight

KINDS = ("answer", "verdict", "result")
ANSWERED = {"ms": 1.0, "response": {"message": {}}}
OF_KIND: dict[str, dict[str, Any]] = {
    "answer": {"request": {"model": "m"}, **ANSWERED},
    "verdict": {"judge": "digest", **ANSWERED},
    "result": {"name": "dice 1", "value": 6},
}
GENERATED: dict[str, Any] = {
    **{"prompt": [], "completion": [], "trajectory": [], "scores": []},
    **{"steps": [], "tool_log": [], "state": {}},
}

steps = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([*KINDS, *KINDS, "generated", "begins again", "is late"]),
    ),
    max_size=30,
)


class Rollout:
    """State in flight of one rollout, from what happened to it."""

    def __init__(self) -> None:
        self.attempt = 1
        self.generated: dict[str, Any] | None = None
        self.answers: list[dict[str, Any]] = []


def fold(records: list[dict[str, Any]]) -> InFlight:
    found = InFlight()
    for record in records:
        found.add(record)
    return found


def happened(steps: list[tuple[int, str]]) -> tuple[list[dict[str, Any]], dict[int, Rollout]]:
    """The records that are written, and what is in flight of each rollout then."""
    records: list[dict[str, Any]] = []
    rollouts = {row: Rollout() for row, _ in steps}
    for number, (row, what) in enumerate(steps):
        one = rollouts[row]
        if what == "begins again":
            records.append({"row": row, "forgotten": True})
            one.attempt, one.generated, one.answers = one.attempt + 1, None, []
            continue
        attempt = one.attempt - (what == "is late")
        kind = GENERATED if what == "generated" else OF_KIND.get(what, OF_KIND["verdict"])
        place = {"row": row, "number": 0, "attempt": attempt, "input": {"example_id": row}}
        records.append({**place, **kind, "at": number})
        if what == "generated":
            one.generated, one.answers = records[-1], []
        elif what in KINDS:
            one.answers.append(records[-1])
        elif not (one.generated or one.answers):  # nothing says that there is a later attempt
            del records[-1]
    return records, rollouts


@given(steps)
def test_what_is_in_flight_is_of_the_last_attempt_and_nothing_undoes_what_is_generated(
    steps: list[tuple[int, str]],
) -> None:
    records, rollouts = happened(steps)
    found = fold(records)
    for row, one in rollouts.items():
        assert found.generated.get(row) == one.generated
        assert found.answers.get(row, []) == one.answers


@given(steps)
def test_a_journal_that_is_rewritten_says_the_same(steps: list[tuple[int, str]]) -> None:
    found = fold(happened(steps)[0])
    kept = [*found.generated.values(), *(one for all_ in found.answers.values() for one in all_)]
    again = fold(kept)
    assert (again.generated, again.answers) == (found.generated, found.answers)
