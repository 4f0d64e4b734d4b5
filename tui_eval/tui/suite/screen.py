"""The screen of several evaluations: their list, and below it the selected one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from tui_eval import events as ev
from tui_eval.feeds.feed import NullFeed, OpenFeed
from tui_eval.fold.rollout_columns import HELD
from tui_eval.fold.suite_state import SuiteState
from tui_eval.shipped import shipped
from tui_eval.tui.base.keys.command import Scope
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.lines.text_panel import PlainPanel
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.base.terminal.in_turn import focus_once_drawn
from tui_eval.tui.run.panes import following_title
from tui_eval.tui.run.rollouts.rollout_list import RolloutList
from tui_eval.tui.run.screen import NO_CLOCK_S, RunScreen
from tui_eval.tui.run.session import DWELL_S, RunSession
from tui_eval.tui.suite.commands import GROUPS
from tui_eval.tui.suite.controllers import OpenRuns, SuiteRerun, SuiteStatus, SuiteZoom, place_of
from tui_eval.tui.suite.evaluation_list import EvaluationList
from tui_eval.tui.suite.lines import Blank, early_end, progress, status, title

RESTS_S = 0.15
"""Seconds that an evaluation is selected before its run is opened: passing opens none."""
AGAIN_S = 1.0
"""Seconds before a run that could not be joined is tried again."""


class SuiteScreen(RunScreen):
    """A run's screen under a list. Each opened evaluation has a feed of its own in `open_runs`.

    Textual calls handlers of messages of both classes; those here only add to the other's.

    Args:
        root: The session with the events of all evaluations.
        suite: Its fold.
    """

    CSS_PATH = str(shipped("styles", "suite.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = bindings("suite")
    scopes: ClassVar[tuple[Scope, ...]] = ("run", "suite")
    groups: ClassVar[tuple[str, ...]] = GROUPS
    noun: ClassVar[str] = "suite"

    def __init__(
        self,
        root: RunSession,
        suite: SuiteState,
        open_feed: OpenFeed,
        now: Callable[[], float],
    ) -> None:
        self._no_run = RunSession(NullFeed())
        self.suite = suite
        super().__init__(self._no_run, now)
        self.root, self.whole = root.feed, suite
        self.status = SuiteStatus(self)
        self.rerun = SuiteRerun(self)
        self.zoom = SuiteZoom(self, self.grid, self.update_keys)
        self.open_runs = OpenRuns(open_feed, self._take_of_run)
        self.top = PlainPanel(self._top_lines, id="top")
        self.evaluations = EvaluationList(suite, id="evaluations")
        self.blank = Blank(suite, id="blank")
        self.first_focus = self.evaluations
        self._gate = (0, 0)
        """Rollouts that wait at the closed gate, and those in flight."""
        self._events_taken = 0
        self._drawn_suite: tuple[object, ...] = ()
        self._rests_at = 0.0
        self._over_at = self._covered_at = -math.inf
        self.is_blank: bool | None = None
        self._left_pane: tuple[int, Widget] | None = None

    def compose(self) -> ComposeResult:
        yield self.top
        yield self.evaluations
        yield self.blank
        yield from super().compose()

    def take(self, event: ev.Event) -> None:
        super().take(event)
        self.suite.apply(event)
        self._events_taken += 1
        if isinstance(event, ev.SuiteStarted):
            self.evaluations.styles.max_height = self.evaluations.count() + 2
        elif isinstance(event, ev.Noticed):
            self.say(event.text)

    def _take_of_run(self, event: ev.Event) -> None:
        """Handles an event of one evaluation that concerns all of them."""
        if isinstance(event, ev.GateMoved | ev.CommandAnswered):
            self.take(event)

    def refresh_run(self) -> None:
        """Draws changes of the suite, then of the shown evaluation."""
        now = self.now()
        self._follow_on(now)
        self._show_evaluation()
        self._turn_blank()
        shut = [run.state for run in self.open_runs if not run.state.gate_open]
        held = sum(state.by_stage[HELD] for state in shut)
        self._gate = (held, sum(state.in_flight for state in shut))
        self.blank.place, at_work = self.evaluations.cursor, self.status.at_work
        self.blank.fault = self.state.end.text if self.state.end is not None else ""
        follows, clock = self.evaluations.follows, int(now / (1 if at_work else NO_CLOCK_S))
        how = (self._events_taken, follows, self.root.live, self.header.requested_pause)
        drawn = (how, self._gate, self.blank.place, self.blank.fault, clock)
        if drawn != self._drawn_suite:
            self._drawn_suite = drawn
            how_far = following_title(follows) if at_work else ""
            title = f" {key_for('suite.evaluations')} Evaluations"
            self.grid.entitle(self.evaluations, Content.assemble(title, how_far, " "))
            self.top.lay_out()
            self.evaluations.update()
            self.blank.lay_out()
            self.invalidate()
        super().refresh_run()

    def _top_lines(self, width: int) -> list[Line]:
        (held, in_flight), suite = self._gate, self.suite
        how = status(suite, self.root.live, self.header.requested_pause, self.now(), in_flight)
        return [title(suite, how, width), progress(suite, width, held), *early_end(suite, width)]

    def _follow_on(self, now: float) -> None:
        """Selects a running evaluation a moment after the followed one is over.

        A dialog is about the shown evaluation: that stays while one is open, and a moment longer,
        as the effect of the answer shows only then.
        """
        one, running = self.suite.evaluations[self.evaluations.cursor], self.suite.running
        if not self.is_active:
            self._covered_at = now
        if not one.is_over:
            self._over_at = math.inf
        elif self._over_at == math.inf:
            self._over_at = now
        if not self.evaluations.follows or not running or one.last.status == "running":
            return
        if now - self._covered_at < DWELL_S:
            return
        if not one.is_over or now - self._over_at >= DWELL_S:
            self.evaluations.select(running[-1], by_hand=False)

    def _show_evaluation(self) -> None:
        """Shows the run of the selected evaluation; opens it once the selection rests."""
        place, now = self.evaluations.cursor, time.monotonic()
        one, run = self.suite.evaluations[place], self.open_runs.get(place)
        wanted = (run is None or self.open_runs.is_lost(place, one)) and now >= self._rests_at
        if wanted and (found := place_of(one, self.root.live)) is not None:
            self._rests_at = now + AGAIN_S
            run = self.open_runs.open(place, *found)
        shown = run or self._no_run
        if shown.feed is not self.feed:
            self.show_run(shown)

    @property
    def is_opening(self) -> bool:
        """Whether the selected evaluation's run is not shown yet."""
        place = self.evaluations.cursor
        can_be_opened = place_of(self.suite.evaluations[place], self.root.live) is not None
        return can_be_opened and self.state.run is None and self.state.end is None

    def _turn_blank(self) -> None:
        """Shows the status in place of the panes without a run; restores the focus later."""
        is_blank = self.state.run is None
        if is_blank == self.is_blank:
            return
        self.is_blank = is_blank
        place, focused = self.evaluations.cursor, self.focused
        if is_blank and focused in self.panes:
            self._left_pane = (place, focused)
            self.set_focus(self.evaluations if self.evaluations.display else None)
        self.set_class(is_blank, "-blank")
        if not is_blank:
            self.call_after_refresh(self._show_row)  # the list had no height until now
        if not is_blank and self._left_pane is not None:
            if self._left_pane[0] == place and focused in (None, self.evaluations):
                focus_once_drawn(self, self._left_pane[1])
            self._left_pane = None

    def _show_row(self) -> None:
        self.rollouts.jump(0)
        self.rollouts.show_row()

    def on_evaluation_list_chosen(self) -> None:
        self._rests_at = time.monotonic() + RESTS_S
        self.refresh_run()

    def on_evaluation_list_follow_wanted(self) -> None:
        """Goes to the running evaluation and follows; to the last one where none runs."""
        if self.status.at_work:
            self._follow_evaluations(True)
        else:
            self.evaluations.select(len(self.suite.evaluations) - 1)

    def on_rollout_list_selected(self, message: RolloutList.Selected) -> None:
        """Stops following evaluations: somebody chose a rollout."""
        if message.by_hand:
            self.evaluations.put()

    def on_line_view_scrolled_back(self) -> None:
        """Stops following evaluations: somebody reads."""
        self.evaluations.put()

    def _follow_evaluations(self, on: bool) -> None:
        self.evaluations.follows = on
        if on:
            self._over_at = -math.inf  # at once, not after a moment
        self.refresh_run()

    def update_keys(self) -> None:
        super().update_keys()
        if self.is_blank:
            self.keys.words["next_pane(1)"] = ""
        self.keys.words["switch_list"] = "list" if self.has_class("-no-list") else "hide list"
        if self.focused is self.evaluations:
            follow = "stay" if self.evaluations.follows else "follow"
            enter = "" if self.is_blank else "rollouts"
            self.keys.words |= {"error(1)": "", "enter": enter}
            self.keys.words["follow"] = follow if self.status.at_work else ""
        self.keys.tick(self.now())

    def on_descendant_focus(self) -> None:
        """Takes the whole screen from the list when a pane gets the focus."""
        if self.focused in self.panes:
            self.remove_class("-list")

    def action_pane(self, number: int) -> None:
        """Goes to the list or to a pane of the evaluation, if it has any."""
        if number == 0:
            self.remove_class("-no-list")
            if self.grid.has_class("-zoomed"):
                self.zoom.action_zoom()
            focus_once_drawn(self, self.evaluations)
        elif self.is_blank:
            self.say("This evaluation has nothing to show yet.")
        else:
            self.remove_class("-list")
            super().action_pane(number)

    def action_next_pane(self, by: int) -> None:
        """Goes to the next or previous pane; the list is the first."""
        numbers = list(range(0 if self.evaluations.display else 1, len(self.panes) + 1))
        here = self.panes.index(self.focused) + 1 if self.focused in self.panes else 0
        at = numbers.index(here) if here in numbers else -1
        self.action_pane(numbers[(at + by) % len(numbers)])

    def action_evaluation(self, by: int) -> None:
        """Goes to the next or previous evaluation, from any pane, and stays in that pane."""
        self.evaluations.select(self.evaluations.cursor + by)
        if self._left_pane is not None:
            self._left_pane = (self.evaluations.cursor, self._left_pane[1])

    def action_switch_list(self) -> None:
        """Hides the list, or shows it again."""
        if self.has_class("-no-list"):
            self.action_pane(0)
            return
        was_there = self.focused is self.evaluations
        self.remove_class("-list")
        self.add_class("-no-list")
        if was_there and not self.is_blank:
            self.action_pane(1)

    def action_back(self) -> None:
        """Lets go of the mark in the rollouts; else out of the zoom, to them, then to the list."""
        if self.annotations.let_go_of_mark():
            return
        if self.focused is self.evaluations:
            self.remove_class("-list")
        elif self.grid.has_class("-zoomed"):
            self.zoom.action_zoom()
        else:
            self.action_pane(0 if self.focused is self.rollouts or self.is_blank else 1)

    def action_follow(self) -> None:
        """Follows the newest rollout from the panes, the running evaluation from the list."""
        if self.focused is not self.evaluations and self.status.is_live:
            super().action_follow()
        elif self.status.at_work:
            self._follow_evaluations(not self.evaluations.follows)
        else:
            self.say("The suite has ended: there is nothing to follow.")
