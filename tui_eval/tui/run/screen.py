"""The screen of a run, live or saved.

It holds panes, which draw, and controllers, which act; both read one fold. So a pane or an action
is added without a change to the others, and the screen of a suite holds other controllers.
Panes draw when `refresh_run` is called, not at each event: drawing costs the same at any rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget

from tui_eval.text.waits import wait_note
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.keys.command import Scope
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.layout import HEIGHTS, WIDTHS, PaneFocus, Zoom, size_classes
from tui_eval.tui.base.terminal.drawing import DrawnScreen
from tui_eval.tui.run.annotations import Annotations
from tui_eval.tui.run.commands import GROUPS
from tui_eval.tui.run.copy_export import CopyExport
from tui_eval.tui.run.header import Header
from tui_eval.tui.run.leaving import Prompts, QuitFlow, Saving
from tui_eval.tui.run.log.log_pane import LogPane
from tui_eval.tui.run.navigation import Navigation
from tui_eval.tui.run.numbers.numbers_panel import NumbersPanel
from tui_eval.tui.run.numbers.reward import RewardPanel
from tui_eval.tui.run.panes import Panes, footer_words, help_texts, pane_titles
from tui_eval.tui.run.rollouts.rollout_list import RolloutList
from tui_eval.tui.run.session import RunSession, RunStatus
from tui_eval.tui.run.steering import RerunFlow, Steering, max_concurrent_text
from tui_eval.tui.run.trajectory_pane import TrajectoryPane

if TYPE_CHECKING:
    from tui_eval import events as ev
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.suite_state import SuiteState

FOLLOWED = (
    (("The file is empty. What is written to it is shown here.", "faint"),),
    (("If nothing comes, see what its program says.", "faint"),),
)
NO_CLOCK_S = 15
"""Seconds between refreshes where no clock is on the screen and nothing is new."""
NO_ROWS = "None of its lines can be read; {} says why."


class RunScreen(DrawnScreen[None]):
    """Five panes over one fold; `refresh_run` draws the changes since its last call.

    Commands for all work of the engine go to the feed `root`, whose fold is `whole`.
    """

    listed: ClassVar[Scope] = "list"
    """The scope of the list, whose commands the palette has from every pane."""
    BINDINGS: ClassVar[list[BindingType]] = bindings("run")
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    @dataclass
    class Left(Message):
        """A decision how to leave."""

        leave: Leave

    @dataclass
    class RunAgain(Message):
        """Request to run again rollouts of a run, or of a suite, without an engine.

        Args:
            request: For an engine: see `config.plan.Request`.
            row: The rollout to select; -1 for one that runs.
        """

        request: dict[str, Any]
        row: int = -1

    def __init__(self, run: RunSession, now: Callable[[], float]) -> None:
        super().__init__()
        self.noun = "run"
        self.scopes: tuple[Scope, ...] = ("run",)
        self.groups: tuple[str, ...] = GROUPS
        self.above: Sequence[Widget] = ()
        """Evaluations of its suite, above the run."""
        self.refresh_above: Callable[[], object] = lambda: None
        self.words_above: Callable[[], dict[str, str]] = dict
        """Footer words by action in place of those of a run."""
        self.root = run.feed
        self.whole: RunState | SuiteState = run.state
        self.now = now
        self.over_home = False
        """Whether leaving leads back to the list of runs, where nothing gets lost."""
        self.first_row = -1
        """The rollout to select first; -1 for one that runs."""
        self.joined = False
        """Whether somebody else started the run: left to home it continues by default."""
        self._hold(run)
        state = run.state
        self.header = Header(run.feed, state, now, id="header")
        self.rollouts = RolloutList(state, now, id="rollouts")
        self.trajectory = TrajectoryPane(id="trajectory")
        self.numbers = NumbersPanel(state, id="numbers")
        self.log_pane = LogPane(run.feed, id="log")
        self.reward = RewardPanel(id="reward")
        self.keys = KeyLine(id="keys")
        first: list[Widget] = [self.rollouts, self.trajectory, self.numbers]
        self.panes = [*first, self.log_pane, self.reward]
        order = [*first, self.reward, self.log_pane]
        self.grid = Panes(self.panes, order, self.log_pane, id="panes")
        self.first_focus: Widget = self.rollouts
        self._drawn: tuple[int, tuple[int, int], int] | None = None
        self._add_controllers()

    def _add_controllers(self) -> None:
        self.status = RunStatus(self)
        self.prompts = Prompts(self)
        self.annotations = Annotations(self)
        self.copy_export = CopyExport(self)
        self.navigation = Navigation(self)
        self.steering = Steering(self)
        self.rerun = RerunFlow(self)
        self.saving = Saving(self)
        self.quit_flow = QuitFlow(self)
        self.zoom = Zoom(self, self.grid, self.update_keys)
        self.held: list[object] = [
            PaneFocus(self, self.panes, self.grid.enter), self.annotations, self.copy_export,
            self.navigation, self.steering, self.rerun, self.saving, self.quit_flow, self.zoom,
        ]  # fmt: skip
        self.annotations.open()

    def controllers(self) -> Iterable[object]:
        """The controllers, which have the actions that no pane has."""
        return self.held

    def _hold(self, run: RunSession) -> None:
        self.feed, self.state = run.feed, run.state
        self.reader, self.follower = run.reader, run.follower

    def show_run(self, run: RunSession) -> None:
        """Shows another run in the panes, at the place where it was left."""
        self._hold(run)
        self.header.feed, self.header.state = run.feed, run.state
        self.rollouts.show_run(run.state, max(run.reader.row, 0))
        self.numbers.show_run(run.state)
        self.log_pane.show_log(run.feed)
        self.rollouts.pill = ""
        self.annotations.open()
        self.navigation.show_selected()

    def compose(self) -> ComposeResult:
        """Two lines on top, the panes, the keys; the first frame has its final layout already."""
        self.add_class(*size_classes(self.app.size), update=False)
        yield from self.above
        yield self.header
        yield self.grid
        yield self.keys

    def on_mount(self) -> None:
        """Draws the first frame: there is no run yet."""
        self.set_focus(self.first_focus)
        self.trajectory.empty = self.reward.empty = ((("no rollout yet", "faint"),),)
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self.retitle())
        self.retitle()
        for view in (self.header, self.trajectory, self.reward):
            view.update()

    def take(self, event: ev.Event) -> None:
        """Handles one event of the root, after the fold."""
        import tui_eval.events as events  # the first frame needs none

        match event:
            case events.GateMoved():
                self.header.requested_pause = None
            case events.CommandAnswered():
                self.say(event.text)
            case events.RunMoved():
                self.saving.refusal = ""
                self.annotations.open()
            case events.WritingMoved():
                self.saving.writing_moved(event)
            case events.MaxConcurrentChanged():
                self.header.requested_max_concurrent = None
                self.say(max_concurrent_text(event.max_concurrent))
            case events.Noticed() if not self.feed.live or self.root is not self.feed:
                self.say(event.text)
            case events.RunFinished(status="failed"):
                why = f"; {key_for('run.numbers')} says why" if self.noun == "run" else ""
                on = f"{key_for('run.rerun')} resumes it"
                self.say(f"The {self.noun} failed{why}. What finished is on disk, and {on}.")

    def refresh_run(self) -> None:
        """Draws changes; without any it draws only clocks, once a second."""
        self.refresh_above()
        state, now = self.state, self.now()
        clock = int(now) if self.status.is_live or self.status.at_work else -int(now / NO_CLOCK_S)
        drawn = (state.changed, self.reader.version, clock)
        if drawn == self._drawn:
            self.keys.expire(now)
            return
        self._drawn = drawn
        self.annotations.read()
        self.quit_flow.update()
        if state.total and self.reader.row < 0:
            self.navigation.show_first()
        elif state.run is not None and not state.total:
            self.trajectory.show(None, reset=self.trajectory.rollout is not None)
            bad = state.unreadable_lines
            why = NO_ROWS.format(key_for("run.log"))
            self.trajectory.empty = (((why, "bad"),),) if bad else FOLLOWED
        if self.reader.row >= 0:
            self.navigation.follow(now)
            is_gone = self.rollouts.row >= state.total
            now_read = self.reader.rollout
            if is_gone or (now_read is not None and now_read is not self.trajectory.rollout):
                self.navigation.show_selected()  # it runs again, or its file was rewritten
                self._drawn = drawn
        self.trajectory.note = wait_note(state, self.reader.row, now)
        self.trajectory.is_over = bool(state.end)
        for view in (self.header, self.rollouts, self.trajectory, self.numbers):
            view.update()
        self.navigation.show_reward()
        self.retitle()

    def invalidate(self) -> None:
        """Has everything drawn next time."""
        self._drawn = None

    def on_rollout_list_selected(self, message: RolloutList.Selected) -> None:
        if message.by_hand:
            self.follower.switch(False)
        if message.row != self.rollouts.row or message.row == self.reader.row:
            return
        self.navigation.turn_to(message.row)
        self.refresh_run()

    def on_line_view_scrolled_back(self) -> None:
        """Stops following: somebody reads."""
        if self.follower.on:
            self.follower.switch(False)
            self._drawn = None

    def on_rollout_list_follow_wanted(self) -> None:
        """Goes to the newest rollout and follows; to the last one where none runs."""
        if self.status.is_live:
            self.navigation.switch_following(True)
        else:
            self.rollouts.select_line(self.rollouts.count() - 1)

    def on_numbers_panel_wanted(self, message: NumbersPanel.Wanted) -> None:
        self.navigation.go_to(message.target)

    def on_log_pane_opened(self, message: LogPane.Opened) -> None:
        self.navigation.show_row(message.row)

    def on_line_view_retitled(self) -> None:
        """Retitles when a pane has other contents, or enter another effect."""
        self.retitle()

    def on_rollout_list_opened(self) -> None:
        """Moves the focus to the trajectory."""
        self.action_pane(2)

    def retitle(self) -> None:
        """Updates the titles of the panes and the keys in the footer."""
        self.grid.entitle_all(pane_titles(self))
        self.update_keys()

    @property
    def _is_searching(self) -> bool:
        """Whether a search is being typed."""
        if self.focused is self.trajectory:
            return self.trajectory.search.typing is not None
        return self.focused is self.log_pane and self.log_pane.typed is not None

    @property
    def pane_scope(self) -> Scope:
        """The scope of the pane with the focus."""
        pane = getattr(self.focused, "id", None) or ""
        return "list" if pane == "rollouts" else pane

    def update_keys(self) -> None:
        """Shows the keys that work now."""
        self.keys.words = footer_words(self) | self.words_above()
        self.keys.scopes = (*self.scopes, "view", self.pane_scope)
        if self.rollouts.entry.is_open or self._is_searching:
            self.keys.scopes = ("typing",)
            if self._is_searching:
                self.keys.words |= {"keep": "find", "clear": "close"}
        self.keys.tick(self.now())

    def on_descendant_focus(self) -> None:
        """Shows the pane that has the focus where there is room for one only."""
        if self.focused in self.panes:
            self.grid.enter(self.panes.index(self.focused) + 1)
        self.update_keys()

    def action_help(self) -> None:
        from tui_eval.tui.base.keys.help import Help, Topic

        topic = Topic(self.groups, here=self.pane_scope, others=help_texts(self))
        self.app.push_screen(Help(topic))
