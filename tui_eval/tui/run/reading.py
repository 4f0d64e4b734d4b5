"""The rollout that a screen shows: which one it is, its reading, and the panes that tell of it."""

from __future__ import annotations

from tui_eval.tui.run.numbers.reward_panel import RewardPanel
from tui_eval.tui.run.reader import Reader
from tui_eval.tui.run.rollouts.following import Follower
from tui_eval.tui.run.steering import SteeringScreen
from tui_eval.tui.run.trajectory_pane import Trajectory

UNREADABLE = ((("This rollout cannot be read back from results.jsonl.", "bad"),),)


class ReadingScreen(SteeringScreen):
    """A screen that reads the selected rollout and shows how it went and what it was given."""

    reader: Reader
    follower: Follower
    story: Trajectory
    reward: RewardPanel
    first_row: int
    _drawn: tuple[int, tuple[int, int], int] | None = None
    _reading = -1

    def _retitle(self) -> None:
        """Names the panes anew."""
        raise NotImplementedError

    def _first_rollout(self) -> None:
        if not self.goes_on:
            self.follower.switch(False)
        newest = self.follower.newest()
        if self.first_row < self.state.total and self.first_row >= 0:
            self.follower.switch(False)
            self._turn_to(self.first_row)
        else:
            self._turn_to(newest if newest is not None and self.follower.on else 0)

    def _go_on(self, now: float) -> None:
        """Moves on where the screen moves by itself, and reads what has finished from disk."""
        wanted = self.follower.wanted(self.reader.row, now)
        is_known = self.rollouts.row == self.reader.row  # else somebody has just chosen another one
        if wanted is not None and wanted != self.reader.row and is_known:
            self.rollouts.select(wanted, by_hand=False)
        if self.reader.must_read and self._reading != self.reader.row:
            self._reading = self.reader.row
            self.run_worker(self._read(), group="read", exclusive=True)
        missed = self.follower.missed
        self.rollouts.pill = f"▼ {missed:,} new" if missed and self.goes_on else ""

    async def _read(self) -> None:
        reader, row = self.reader, self.reader.row
        try:
            current = await reader.read()
        finally:  # also where the row was left before its reading began
            if reader is self.reader and self._reading == row:
                self._reading = -1
        if reader is not self.reader or not current:
            return
        if reader.unreadable:
            self.story.empty = UNREADABLE
        self.story.show(reader.rollout, anew=self.story.rollout is None)
        self._show_reward()
        self._retitle()

    def _turn_to(self, row: int) -> None:
        self.reader.open(row)
        self._show_selected()

    def _show_selected(self) -> None:
        row, rollout = max(self.reader.row, 0), self.reader.rollout
        self.rollouts.row = row
        self.rollouts.update()
        self.rollouts.show_row()
        self.story.empty, self.reward.empty = UNREADABLE if self.reader.unreadable else (), ()
        sticks = rollout is not None and not rollout.finished
        self.story.show(rollout, anew=True, sticks=sticks)
        self._show_reward()
        self._drawn = None

    def _show_reward(self) -> None:
        """Shows how the reward of the rollout came about, and how it stands to its group."""
        state = self.state
        place = self.reader.row // state.per_example
        is_group = state.per_example > 1 and 0 <= place < len(state.examples)
        group = state.examples.result(place) if is_group else None
        self.rollouts.learn_of(self.reader.rollout)
        self.reward.show(self.reader.rollout, group, self.notebook.get(max(self.reader.row, 0)))
