"""The row of a finished rollout."""

from __future__ import annotations

from typing import Any

from tui_eval import clock
from tui_eval.environments.one_rollout import broken_state
from tui_eval.runs.row import build_row
from tui_eval.runs.row_places import tokens_object
from tui_eval.state import State
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.work import Work


def row_of(observer: RolloutObserver, state: State, work: Work) -> dict[str, Any]:
    """The row of a rollout; a state of which none can be made is the rollout's error."""
    number, attempt = observer.number, observer.attempt
    try:
        row = build_row(state, number=number, attempt=attempt, columns=work.columns)
    except Exception as error:
        broken = broken_state(work.examples.input(observer.row), error, clock.now())
        row = build_row(broken, number=number, attempt=attempt)
    work.seen.look(state)
    if observer.output is not None:
        row["tui_eval"]["output"] = str(observer.output)
    if observer.lost_input or observer.lost_output:
        lost = observer.lost_input, observer.lost_output, *observer.lost_kinds
        row["tui_eval"]["lost_usage"] = tokens_object(lost)
    if work.code > 1:
        row["tui_eval"]["code"] = work.code
    if work.examples.groups:
        row["tui_eval"]["row"] = observer.row
    return row
