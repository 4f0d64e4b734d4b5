"""The screen on which a run is watched, live or saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from tui_eval.fold.run_state import RunState
from tui_eval.tui.commands import bindings
from tui_eval.tui.following import Follower
from tui_eval.tui.leaving import Leave, leave_choices
from tui_eval.tui.reader import Reader
from tui_eval.tui.titles import reward_title, rollouts_title, story_title
from tui_eval.tui.widgets.header import Header
from tui_eval.tui.widgets.key_line import KeyLine
from tui_eval.tui.widgets.metrics_panel import MetricsPanel
from tui_eval.tui.widgets.reward_panel import RewardPanel
from tui_eval.tui.widgets.rollout_list import RolloutList
from tui_eval.tui.widgets.trajectory import Trajectory

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.fold.feed import Feed

UNREADABLE = "This rollout cannot be read back from results.jsonl."


class LiveScreen(Screen[None]):
    """Four panes over one fold; `refresh_run` draws what changed since it was called last."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("screen")
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-normal"),
        (170, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]  # noqa: RUF012

    class Left(Message):
        """Somebody decided how to leave."""

        def __init__(self, leave: Leave) -> None:
            super().__init__()
            self.leave = leave

    def __init__(self, feed: Feed, state: RunState, now: Callable[[], float], saved: bool) -> None:
        super().__init__()
        self.feed = feed
        self.state = state
        self.now = now
        self.saved = saved
        self.reader = Reader(feed, state)
        self.follower = Follower(state)
        self.header = Header(state, now, id="header")
        self.rollouts = RolloutList(state, now, id="rollouts")
        self.story = Trajectory(id="story")
        self.numbers = MetricsPanel(state, id="numbers")
        self.reward = RewardPanel(id="reward")
        self.keys = KeyLine(id="keys")
        self.panes: list[Widget] = [self.rollouts, self.story, self.numbers]
        self.grid = Container(id="panes", classes="-in-1")
        self._drawn: tuple[int, int, int] | None = None
        self._reading = -1
        self._pending: Leave | None = None
        self._titles: dict[Widget, Content] = {}

    def compose(self) -> ComposeResult:
        """Two lines on top, the panes, the keys; the first frame has its final layout already."""
        breakpoints = (self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS)
        for cells, points in zip(self.app.size, breakpoints, strict=True):
            self.add_class(max(point for point in points if cells >= point[0])[1])
        yield self.header
        with self.grid:
            for pane in (*self.panes, self.reward):
                pane.add_class("pane")
                yield pane
        yield self.keys

    def on_mount(self) -> None:
        """Draws the first frame: there is no run yet."""
        self.set_focus(self.rollouts)
        self.story.empty = ((("starting engine…", "faint"),),)
        self._retitle()
        self._update_keys()
        for view in (self.header, self.story):
            view.update()

    def take(self, event: ev.Event) -> None:
        """Takes in one event that the fold has already seen."""
        self.follower.take(event)
        self.reader.take(event)
        if type(event).__name__ == "GateMoved":
            self.header.asked_pause = None

    def refresh_run(self) -> None:
        """Draws what changed; with nothing new it draws only clocks, once a second."""
        state, now = self.state, self.now()
        version = self.reader.rollout.version if self.reader.rollout is not None else 0
        drawn = (state.changed, version, int(now))
        if drawn == self._drawn:
            return
        self._drawn = drawn
        if not self.goes_on:
            self._end_questions()
        self.header.live = self.feed.live
        if state.total and self.reader.row < 0:
            self._first_rollout()
        if self.reader.row >= 0:
            self._go_on(now)
        self.story.note = state.notes.get(self.reader.row, "")
        for view in (self.header, self.rollouts, self.story, self.numbers):
            view.update()
        self._retitle()
        self._update_keys()

    def _end_questions(self) -> None:
        """Takes back what was asked about a running run, once it has ended."""
        from tui_eval.tui.screens.question import Question

        if isinstance(self.app.screen, Question) and self.app.screen.about_running:
            self.app.screen.dismiss(None)
            self.keys.say("The run has ended.", self.now())
        elif self._pending is not None:
            self._answered(self._pending)
            self._pending = None

    def _first_rollout(self) -> None:
        if not self.goes_on:
            self.follower.switch(False)
        newest = self.follower.newest()
        self._turn_to(newest if newest is not None and self.follower.on else 0)

    def _go_on(self, now: float) -> None:
        """Moves on where the screen moves by itself, and reads what has finished from disk."""
        wanted = self.follower.wanted(self.reader.row, now)
        if wanted is not None and wanted != self.reader.row:
            self.rollouts.select(wanted, by_hand=False)
        if self.reader.must_read and self._reading != self.reader.row:
            self._reading = self.reader.row
            self.run_worker(self._read(), group="read", exclusive=True)
        missed = self.follower.missed
        self.rollouts.pill = f"▼ {missed:,} new" if missed and self.goes_on else ""

    async def _read(self) -> None:
        row = self.reader.row
        current = await self.reader.read()
        if self._reading == row:
            self._reading = -1
        if not current:
            return
        if self.reader.unreadable:
            self.story.empty = (((UNREADABLE, "bad"),),)
        rollout = self.reader.rollout
        self.story.show(rollout, anew=self.story.rollout is None)
        self.reward.show(rollout)
        self._retitle()

    @property
    def goes_on(self) -> bool:
        """Whether an engine is at work on the run."""
        return self.feed.live and self.state.end is None

    @property
    def _is_paused(self) -> bool:
        """Whether the gate is closed, or was asked to close and has not answered yet."""
        asked = self.header.asked_pause
        return not self.state.gate_open if asked is None else asked

    @property
    def _is_saved(self) -> bool:
        """Whether the run is kept without being asked for, as the caller or the run itself says."""
        return self.saved and (self.state.run is None or self.state.run.saved)

    def _turn_to(self, row: int) -> None:
        self.rollouts.row = row
        self.rollouts.update()
        self.rollouts.show_line(row, margin=2)
        self.reader.open(row)
        rollout = self.reader.rollout
        self.story.empty = ()
        sticks = rollout is not None and not rollout.finished
        self.story.show(rollout, anew=True, sticks=sticks)
        self.reward.show(rollout)
        self._drawn = None

    def on_rollout_list_selected(self, message: RolloutList.Selected) -> None:
        """Another rollout was selected."""
        if message.by_hand:
            self.follower.switch(False)
        if message.row != self.rollouts.row or message.row == self.reader.row:
            return
        self._turn_to(message.row)
        self.refresh_run()

    def on_line_view_scrolled_back(self) -> None:
        """Somebody reads: nothing moves by itself any more."""
        self.follower.switch(False)
        self._drawn = None

    def on_rollout_list_follow_wanted(self) -> None:
        """Goes to the newest rollout and follows; to the last one where none runs."""
        if self.goes_on:
            self._follow(True)
        else:
            self.rollouts.select(self.state.total - 1)

    def on_rollout_list_opened(self) -> None:
        """Goes on reading in the trajectory."""
        self.action_pane(2)

    def _follow(self, on: bool) -> None:
        self.follower.switch(on)
        if on:
            newest = self.follower.newest()
            if newest is not None and newest != self.rollouts.row:
                self.rollouts.select(newest, by_hand=False)
            self.story.stick()
        else:
            self.story.let_go()
        self._drawn = None
        self.refresh_run()

    def _retitle(self) -> None:
        going = self.goes_on and self.state.run is not None
        following = self.follower.on and going
        row = self.reader.row
        titles = (
            (self.rollouts, rollouts_title(following, going)),
            (self.story, self._story_title()),
            (self.numbers, Content(" 3 Numbers · 95 % intervals ")),
            (self.reward, reward_title(self.state, row)),
        )
        for view, text in titles:
            if self._titles.get(view) != text:
                self._titles[view] = text
                view.border_title = text

    def _story_title(self) -> Content:
        reader, width = self.reader, self.story.size.width or self.size.width
        return story_title(self.state, reader.row, reader.rollout, self.now(), width)

    def _update_keys(self) -> None:
        going = self.goes_on and self.state.run is not None
        self.keys.words = {
            "pause": ("resume" if self._is_paused else "pause") if going else "",
            "follow": ("freeze" if self.follower.on else "follow") if going else "",
            "open": "open" if self.state.total else "",
            "error(1)": "errors" if self.state.errors else "",
            "leave": "leave" if self.goes_on else "quit",
        }
        focus = {"rollouts": "list", "story": "story"}.get(getattr(self.focused, "id", ""), "")
        self.keys.scopes = ("screen", "view", focus)
        self.keys.tick(self.now())

    def on_descendant_focus(self) -> None:
        """Shows the pane that has the focus where there is room for one only."""
        if self.focused in self.panes:
            self._enter(self.panes.index(self.focused) + 1)
        self._update_keys()

    def _enter(self, number: int) -> None:
        zoomed = ["-zoomed"] if self.grid.has_class("-zoomed") else []
        self.grid.set_classes([f"-in-{number}", *zoomed])

    def action_pane(self, number: int) -> None:
        """Goes to a pane."""
        self._enter(number)
        self.call_after_refresh(self.set_focus, self.panes[number - 1])

    def action_next_pane(self, by: int) -> None:
        """Goes to the next or previous pane."""
        here = self.panes.index(self.focused) if self.focused in self.panes else 0
        self.action_pane((here + by) % len(self.panes) + 1)

    def action_zoom(self) -> None:
        """Gives the whole screen to the pane with the focus, or takes it back."""
        self.grid.toggle_class("-zoomed")

    def action_back(self) -> None:
        """Out of the zoom, then to the list."""
        if self.grid.has_class("-zoomed"):
            self.grid.remove_class("-zoomed")
        else:
            self.action_pane(1)

    def action_follow(self) -> None:
        """Follows the newest rollout, or freezes the view."""
        if self.goes_on:
            self._follow(not self.follower.on)
        else:
            self.keys.say("The run has ended: there is nothing to follow.", self.now())

    def action_pause(self) -> None:
        """Closes the engine's gate, or opens it."""
        if not self.goes_on:
            self.keys.say("The run has ended: there is nothing to pause.", self.now())
            return
        from tui_eval.events import Pause, Resume

        paused = self._is_paused
        self.header.asked_pause = not paused
        self.feed.send(Resume() if paused else Pause())
        self._drawn = None
        self.refresh_run()

    def action_error(self, step: int) -> None:
        """Goes to the next or previous error."""
        row = self.rollouts.error_from(step)
        if row is None:
            self.keys.say("No rollout has errored.", self.now())
        else:
            self.rollouts.select(row)

    def action_rollout(self, by: int) -> None:
        """Goes to the next or previous rollout, from any pane."""
        self.rollouts.action_move(by)

    def action_help(self) -> None:
        """Shows the keys."""
        from tui_eval.tui.screens.help import Help

        self.app.push_screen(Help())

    def action_leave(self) -> None:
        """Leaves at once where nothing is lost, asks otherwise."""
        is_finishing = 0 < self.state.total == self.state.finished and self._pending is None
        goes_on = self.goes_on and not is_finishing
        choices = leave_choices(goes_on, self._is_saved)
        if not choices:
            self._answered(Leave("closed"))
            return
        from tui_eval.tui.screens.question import Question

        on_disk = f"{self.state.finished:,} of {self.state.total:,} rollouts are on disk."
        if goes_on:
            question = Question("Leave a running run", [on_disk], choices, about_running=True)
        else:
            where = "Its rollouts are on disk, but not among your outputs."
            question = Question("Save this run?", [where], choices, about_running=False)
        self.app.push_screen(question, self._answered)

    def _answered(self, leave: Leave | None) -> None:
        """Leaves as was answered; a run that is all but over is waited for."""
        if leave is not None and leave.action == "closed" and self.goes_on:
            self._pending = leave
            self.keys.say("The engine finishes the run…", self.now())
        elif leave is not None:
            self.post_message(self.Left(leave))
