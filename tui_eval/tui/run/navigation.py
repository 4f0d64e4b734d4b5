"""Where a reader is on a screen: the selected rollout, and the pane with the focus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui_eval.tui.run.panes import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval.tui.run.numbers.sections import Target
    from tui_eval.tui.run.reader import Reader
    from tui_eval.tui.run.screen import RunScreen

UNREADABLE = ((("This rollout cannot be read back from results.jsonl.", "bad"),),)


class Navigation:
    """Reads the selected rollout, shows its trajectory and reward, and selects others."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._rollouts = screen.rollouts
        self._reading: tuple[Reader, int] | None = None
        """The row that is being read, and the reader of its run."""

    def show_first(self) -> None:
        """Shows a first rollout: the requested one, the newest, or the first."""
        screen, follower = self._screen, self._screen.follower
        if not screen.status.is_live:
            follower.switch(False)
        newest = follower.newest()
        if 0 <= screen.first_row < screen.state.total:
            follower.switch(False)
            self.turn_to(screen.first_row)
        else:
            self.turn_to(newest if newest is not None and follower.on else 0)

    def follow(self, now: float) -> None:
        """Follows the newest rollout where that is on, and reads finished ones from disk."""
        screen, reader, follower = self._screen, self._screen.reader, self._screen.follower
        wanted = follower.wanted(reader.row, now)
        is_known = screen.rollouts.row == reader.row  # else somebody has just chosen another one
        if wanted is not None and wanted != reader.row and is_known:
            screen.rollouts.select(wanted, by_hand=False)
        if reader.must_read and self._reading != (reader, reader.row):
            self._reading = reader, reader.row
            screen.run_worker(self._read(), group="read", exclusive=True)
        missed = follower.missed
        screen.rollouts.pill = f"▼ {missed:,} new" if missed and screen.status.is_live else ""

    async def _read(self) -> None:
        reader, row = self._screen.reader, self._screen.reader.row
        try:
            current = await reader.read()
        finally:  # also where the row was left before its reading began
            if self._reading == (reader, row):
                self._reading = None
        if reader is not self._screen.reader or not current:
            return
        if reader.unreadable:
            self._screen.trajectory.empty = UNREADABLE
        self._screen.trajectory.show(reader.rollout, reset=self._screen.trajectory.rollout is None)
        self.show_reward()
        self._screen.retitle()

    def turn_to(self, row: int) -> None:
        """Shows another rollout."""
        self._screen.reader.open(row)
        self.show_selected()

    def show_selected(self) -> None:
        """Shows the rollout that is read, in all panes."""
        screen, reader = self._screen, self._screen.reader
        screen.rollouts.row = max(reader.row, 0)
        screen.rollouts.update()
        screen.rollouts.show_row()
        screen.trajectory.empty = screen.reward.empty = UNREADABLE if reader.unreadable else ()
        sticks = reader.rollout is not None and not reader.rollout.finished
        screen.trajectory.show(reader.rollout, reset=True, sticks=sticks)
        self.show_reward()
        screen.invalidate()

    def show_reward(self) -> None:
        """Shows the parts of the rollout's reward, and its group."""
        screen, reader, state = self._screen, self._screen.reader, self._screen.state
        place = reader.row // state.per_example
        is_group = state.per_example > 1 and 0 <= place < len(state.examples)
        group = state.examples.result(place) if is_group else None
        screen.rollouts.learn_of(reader.rollout)
        note = screen.annotations.get(max(reader.row, 0))
        screen.reward.show(reader.rollout, group, note)

    def action_in_list(self, action: str) -> None:
        """Runs an action of the list."""
        self._screen.action_pane(1)
        self._screen.call_after_refresh(self._rollouts.run_action, action)

    def go_to(self, target: Target) -> None:
        """Lists the rollouts behind a number and selects one, or one of that example."""
        kind, which = target
        if kind == "example":
            row: int | None = int(which) * self._screen.state.per_example
        else:
            text = self._condition(kind, str(which))
            row = self._next_with(text)
            self._rollouts.filter_by(text)
        if row is not None:
            self._rollouts.select(row)
            if not self._rollouts.size.height:
                self._screen.action_pane(1)

    def _next_with(self, text: str) -> int | None:
        """The next rollout that a filter lists; None for one that is too long, as the list says."""
        from tui_eval.fold.query.filter_parser import FilterError
        from tui_eval.fold.query.filtering import RowFilter

        try:
            rows = RowFilter(text).rows(self._screen.state)
        except FilterError:
            return None
        return self._next_of(1, rows.tolist())

    def _next_of(self, step: int, rows: Iterable[int]) -> int | None:
        return self._rollouts.listing.next_of(rows, step, self._rollouts.here)

    def _condition(self, kind: str, name: str) -> str:
        """The filter for the rollouts of an error or a tool; of a tool that failed for those."""
        from tui_eval.fold.query.nodes import condition  # which the first frame needs not

        if kind == "where":
            return name
        if kind == "tool" and self._screen.state.outcomes.tools[name][1]:
            kind = "failed_tool"
        return condition(kind, name)

    def show_row(self, row: int) -> None:
        """Shows the rollout that a line of the log belongs to."""
        if row < self._screen.state.total:
            self._rollouts.select(row)
            self._screen.action_pane(2)
        else:
            self._screen.say(STILL_LOADING)

    def action_error(self, step: int) -> None:
        """Goes to the next or previous error."""
        row = self._next_of(step, self._screen.state.errors)
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

    def action_follow(self) -> None:
        """Follows the newest rollout, or stays where it is."""
        if self._screen.status.is_live:
            self.switch_following(not self._screen.follower.on)
        else:
            self._screen.say(self._screen.status.why_not("follow"))

    def switch_following(self, on: bool) -> None:
        """Goes to the newest rollout and follows, or stops following."""
        screen, follower = self._screen, self._screen.follower
        follower.switch(on)
        if on:
            newest = follower.newest()
            if newest is not None and newest != self._rollouts.row:
                self._rollouts.select(newest, by_hand=False)
            screen.trajectory.stick()
        else:
            screen.trajectory.let_go()
        screen.invalidate()
        screen.refresh_run()

    def action_back(self) -> None:
        """Lets go of the mark in the list; else out of the zoom, then to the list."""
        screen = self._screen
        if screen.annotations.let_go_of_mark():
            return
        if screen.zoom.is_zoomed:
            screen.zoom.action_zoom()
        elif screen.over_home and screen.focused is screen.panes[0]:
            screen.quit_flow.action_leave()
        else:
            screen.action_pane(1)
