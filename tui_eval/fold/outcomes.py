"""Counts of what became of the rollouts of a run: errors, ends of answers, tools, models."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tui_eval.error_classes import class_of_names
from tui_eval.stats.rewards import is_number

if TYPE_CHECKING:
    from tui_eval.events import RolloutFinished


class Outcomes:
    """Counts over finished rollouts; a rollout that is taken back to run again is taken out.

    `errors` are rollouts by the names of their exceptions, `classes` the same ones by what failed,
    `stops` by the condition that ended them, `finishes` by why their last answer ended, where that
    was reported. `truncated` have an answer that was cut off. `tools` has the calls and errors of
    each tool, `failed_tools` counts the rollouts with a call that went wrong. `models` are calls by
    the name of the model that answered, where it was another than was requested. `later_code` has
    the rollouts of every version of the code but the first: those that finished, those with a
    reward, and the sum of the rewards.
    """

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.stops: Counter[str] = Counter()
        self.finishes: Counter[str] = Counter()
        self.truncated = 0
        self.failed_tools = 0
        self.tools: dict[str, tuple[int, int]] = {}
        self.models: Counter[str] = Counter()
        self.later_code: dict[int, tuple[int, int, float]] = {}

    def add(self, event: RolloutFinished) -> None:
        """Takes in a finished rollout."""
        self.truncated += event.truncated
        if event.stop_condition:
            self.stops[event.stop_condition] += 1
        if event.finish_reason:
            self.finishes[event.finish_reason] += 1
        if event.tools:
            self._add_tools(event.tools)
        if event.models:
            self.models.update(event.models)
        if event.code != 1:
            self._count_code(event, 1)
        if event.error is not None:
            self.errors[event.error] += 1
            self.classes[class_of_event(event)] += 1

    def _add_tools(self, tools: dict[str, tuple[int, int]]) -> None:
        failed = False
        for name, (calls, errors) in tools.items():
            before = self.tools.get(name, (0, 0))
            self.tools[name] = (before[0] + calls, before[1] + errors)
            failed = failed or errors > 0
        self.failed_tools += failed

    def _count_code(self, event: RolloutFinished, by: int) -> None:
        finished, used, total = self.later_code.get(event.code, (0, 0, 0.0))
        if event.error is None and event.reward is not None and is_number(event.reward):
            used, total = used + by, total + by * event.reward
        self.later_code[event.code] = (finished + by, used, total)
        if not finished + by:
            del self.later_code[event.code]

    def remove(self, was: RolloutFinished) -> None:
        """Takes out an errored rollout that was added."""
        self.truncated -= was.truncated
        if was.stop_condition:
            _count_less(self.stops, was.stop_condition)
        if was.finish_reason:
            _count_less(self.finishes, was.finish_reason)
        for name, (calls, errors) in was.tools.items():
            before = self.tools[name]
            self.tools[name] = (before[0] - calls, before[1] - errors)
            if not self.tools[name][0]:
                del self.tools[name]
        self.failed_tools -= any(errors for _, errors in was.tools.values())
        for name, calls in was.models.items():
            _count_less(self.models, name, calls)
        if was.code != 1:
            self._count_code(was, -1)
        if was.error is not None:
            _count_less(self.errors, was.error)
            _count_less(self.classes, class_of_event(was))


def class_of_event(event: RolloutFinished) -> str:
    """What failed; reported by the names of the exceptions where the row does not say it."""
    return event.error_class or class_of_names(event.error or "")


def _count_less(counts: Counter[str], name: str, n: int = 1) -> None:
    counts[name] -= n
    if not counts[name]:
        del counts[name]
