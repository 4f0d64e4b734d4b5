"""State of a suite, from the events of its root socket: its evaluations and their progress."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tui_eval.events import (
    EvaluationMoved,
    Event,
    GateMoved,
    ListedEvaluation,
    MaxConcurrentChanged,
    Noticed,
    Refused,
    RunFinished,
    SuiteStarted,
)

CUT_OFF = "cut off"
"""Status on disk of an evaluation whose engine ended in the midst of it."""
OVER = frozenset(
    (*("finished", "interrupted", "stopped: budget", "stopped early"), CUT_OFF, "failed", "refused")
)
"""Statuses of an evaluation that nobody works on."""


class EvaluationState(msgspec.Struct):
    """One evaluation of the suite, and its last event."""

    listed: ListedEvaluation
    last: EvaluationMoved

    @property
    def is_over(self) -> bool:
        """Whether nobody works on it any more."""
        return self.last.status in OVER

    @property
    def total(self) -> int:
        """Number of its rollouts; 0 where it is not known."""
        return self.last.total or self.listed.total


class SuiteState(msgspec.Struct):
    """The evaluations of a suite; `started` is None where one run alone is reported.

    Notices are (level, text), refusals (where, what, hint).
    """

    started: SuiteStarted | None = None
    evaluations: list[EvaluationState] = msgspec.field(default_factory=list)
    several_models: bool = False
    end: RunFinished | None = None
    notices: list[tuple[str, str]] = msgspec.field(default_factory=list)
    refused: list[tuple[str, str, str]] = msgspec.field(default_factory=list)
    gate_open: bool = True
    max_concurrent_changed: MaxConcurrentChanged | None = None
    changed: int = 0
    """Number of events so far."""

    def apply(self, event: Event) -> None:
        """Takes in one event of the root socket; of a run's own only the gate's change anything."""
        self.changed += 1
        match event:
            case SuiteStarted():
                self.started = event
                self.evaluations = [
                    EvaluationState(one, EvaluationMoved(0, event.at, place, "waiting"))
                    for place, one in enumerate(event.evaluations)
                ]
                self.several_models = len({one.model for one in event.evaluations}) > 1
            case EvaluationMoved() if event.index < len(self.evaluations):
                self.evaluations[event.index].last = event
            case RunFinished():
                self.end = event
            case Noticed():
                self.notices.append((event.level, event.text))
            case MaxConcurrentChanged() if self.started is not None:
                self.max_concurrent_changed = event
                self.started = replace(self.started, max_concurrent=event.max_concurrent)
            case GateMoved():
                self.gate_open = event.open
            case Refused():
                self.refused = event.faults

    @property
    def events(self) -> list[Event]:
        """Events that bring another listener to this state."""
        reported: list[Event] = [one.last for one in self.evaluations]
        return [
            *([self.started] if self.started else []),
            *reported,
            *([self.end] if self.end else []),
        ]

    @property
    def rollouts(self) -> int:
        """Known number of all rollouts, without those of refused evaluations."""
        return sum(one.total for one in self.evaluations if one.last.status != "refused")

    @property
    def over(self) -> int:
        """Evaluations that nobody works on any more."""
        return sum(one.is_over for one in self.evaluations)

    @property
    def running(self) -> list[int]:
        """Places of the evaluations that are worked on, in order."""
        return [n for n, one in enumerate(self.evaluations) if one.last.status == "running"]
