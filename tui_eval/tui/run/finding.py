"""Going from one rollout to another: to the next error, and to those behind a number."""

from __future__ import annotations

from typing import ClassVar

from tui_eval.tui.base.keys.command import Scope
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.run.annotating import AnnotatingScreen
from tui_eval.tui.run.log.log_pane import LogPane
from tui_eval.tui.run.numbers.metrics_panel import MetricsPanel
from tui_eval.tui.run.rollouts.filter_entry import error_condition, tool_condition
from tui_eval.tui.run.titles import STILL_LOADING


class FindingScreen(AnnotatingScreen):
    """A screen with numbers beside the list of what they are made of."""

    numbers: MetricsPanel
    listed: ClassVar[Scope] = "list"
    """Commands of the list, which the palette has from every pane."""

    def action_pane(self, number: int) -> None:
        """Goes to a pane."""
        raise NotImplementedError

    def action_in_list(self, action: str) -> None:
        """Does what a key of the list does, there."""
        self.action_pane(1)
        self.call_after_refresh(self.rollouts.run_action, action)

    def _update_keys(self) -> None:
        """Shows the keys that work now."""
        raise NotImplementedError

    def on_metrics_panel_wanted(self, message: MetricsPanel.Wanted) -> None:
        """Lists the rollouts that are wanted and selects one, or one of that example."""
        kind, which = message.target
        name = str(which)
        if kind == "example":
            row: int | None = int(which) * self.state.per_example
        elif kind == "tool":
            failed = self.state.outcomes.tools[name][1] > 0
            row = self.rollouts.tool_from(1, name, failed)
            self.rollouts.filter_by(tool_condition(name, failed))
        elif kind == "where":
            from tui_eval.fold.filtering import RowFilter

            row = self.rollouts.next_of(1, map(int, RowFilter(name).rows(self.state)))
            self.rollouts.filter_by(name)
        else:
            row = self.rollouts.error_from(1, name)
            self.rollouts.filter_by(error_condition(name))
        if row is not None:
            self.rollouts.select(row)
            if not self.rollouts.size.height:
                self.action_pane(1)

    def on_log_pane_opened(self, message: LogPane.Opened) -> None:
        """Shows the rollout that a line of the log belongs to."""
        if message.row < self.state.total:
            self.rollouts.select(message.row)
            self.action_pane(2)
        else:
            self._say(STILL_LOADING)

    def on_line_view_missed(self, message: LineView.Missed) -> None:
        """A key had nothing to do."""
        self._say(message.text)

    def on_metrics_panel_moved(self) -> None:
        """What enter does depends on what is under the cursor."""
        self._update_keys()

    def action_error(self, step: int) -> None:
        """Goes to the next or previous error."""
        row = self.rollouts.error_from(step)
        if row is not None:
            self.rollouts.select(row)
        elif self.state.errors:
            self._say("No listed rollout has errored.")
        else:
            self._say(STILL_LOADING if self.state.is_loading else "No rollout has errored.")

    def action_rollout(self, by: int) -> None:
        """Goes to the next or previous rollout, from any pane."""
        self.rollouts.action_move(by)
