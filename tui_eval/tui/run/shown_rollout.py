"""The rollout that a screen shows: which one it is, its reading, and the panes that tell of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.tui.run.screen import RunScreen

UNREADABLE = ((("This rollout cannot be read back from results.jsonl.", "bad"),),)


class ShownRollout:
    """Reads the selected rollout, and shows how it went and what it was given."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._reading = -1

    def forget(self) -> None:
        """Another run is shown."""
        self._reading = -1

    def show_first(self) -> None:
        """Shows the rollout to begin with: the one asked for, the newest, or the first."""
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
        """Moves on where the screen moves by itself, and reads what has finished from disk."""
        screen, reader, follower = self._screen, self._screen.reader, self._screen.follower
        wanted = follower.wanted(reader.row, now)
        is_known = screen.rollouts.row == reader.row  # else somebody has just chosen another one
        if wanted is not None and wanted != reader.row and is_known:
            screen.rollouts.select(wanted, by_hand=False)
        if reader.must_read and self._reading != reader.row:
            self._reading = reader.row
            screen.run_worker(self._read(), group="read", exclusive=True)
        missed = follower.missed
        screen.rollouts.pill = f"▼ {missed:,} new" if missed and screen.status.is_live else ""

    async def _read(self) -> None:
        reader, row = self._screen.reader, self._screen.reader.row
        try:
            current = await reader.read()
        finally:  # also where the row was left before its reading began
            if reader is self._screen.reader and self._reading == row:
                self._reading = -1
        if reader is not self._screen.reader or not current:
            return
        if reader.unreadable:
            self._screen.trajectory.empty = UNREADABLE
        self._screen.trajectory.show(reader.rollout, anew=self._screen.trajectory.rollout is None)
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
        screen.trajectory.show(reader.rollout, anew=True, sticks=sticks)
        self.show_reward()
        screen.invalidate()

    def show_reward(self) -> None:
        """Shows how the reward of the rollout came about, and how it stands to its group."""
        screen, reader, state = self._screen, self._screen.reader, self._screen.state
        place = reader.row // state.per_example
        is_group = state.per_example > 1 and 0 <= place < len(state.examples)
        group = state.examples.result(place) if is_group else None
        screen.rollouts.learn_of(reader.rollout)
        note = screen.annotations.notebook.get(max(reader.row, 0))
        screen.reward.show(reader.rollout, group, note)
