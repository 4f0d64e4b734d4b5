"""Going from one rollout to another: to the next error, and to those behind a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.tui.run.rollouts.filter_entry import error_condition, tool_condition
from tui_eval.tui.run.titles import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval.tui.run.screen import RunScreen


class Navigation:
    """Goes to rollouts from the numbers, the log and the keys of a run's screen."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._rollouts = screen.rollouts

    def action_in_list(self, action: str) -> None:
        """Does what a key of the list does, there."""
        self._screen.action_pane(1)
        self._screen.call_after_refresh(self._rollouts.run_action, action)

    def go_to(self, target: tuple[str, str | int]) -> None:
        """Lists the rollouts behind a number and selects one, or one of that example.

        Args:
            target: Of what, and which: see `NumbersPanel.Wanted`.
        """
        kind, which = target
        name = str(which)
        if kind == "example":
            row: int | None = int(which) * self._screen.state.per_example
        elif kind == "tool":
            failed = self._screen.state.outcomes.tools[name][1] > 0
            row = self._rollouts.tool_from(1, name, failed)
            self._rollouts.filter_by(tool_condition(name, failed))
        elif kind == "where":
            from tui_eval.fold.filtering import RowFilter

            rows = RowFilter(name).rows(self._screen.state)
            row = self._rollouts.next_of(1, map(int, rows))
            self._rollouts.filter_by(name)
        else:
            row = self._rollouts.error_from(1, name)
            self._rollouts.filter_by(error_condition(name))
        if row is not None:
            self._rollouts.select(row)
            if not self._rollouts.size.height:
                self._screen.action_pane(1)

    def show_row(self, row: int) -> None:
        """Shows the rollout that a line of the log belongs to."""
        if row < self._screen.state.total:
            self._rollouts.select(row)
            self._screen.action_pane(2)
        else:
            self._screen.say(STILL_LOADING)

    def action_error(self, step: int) -> None:
        """Goes to the next or previous error."""
        row = self._rollouts.error_from(step)
        if row is not None:
            self._rollouts.select(row)
        elif self._screen.state.errors:
            self._screen.say("No listed rollout has errored.")
        else:
            is_loading = self._screen.state.is_loading
            self._screen.say(STILL_LOADING if is_loading else "No rollout has errored.")

    def action_rollout(self, by: int) -> None:
        """Goes to the next or previous rollout, from any pane."""
        self._rollouts.action_move(by)
