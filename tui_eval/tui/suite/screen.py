"""The screen of several evaluations: their list, and below it the selected one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.events import DescendantFocus
from textual.widget import Widget

from tui_eval.events import CommandAnswered, Event, GateMoved
from tui_eval.feeds.feed import NullFeed, OpenFeed
from tui_eval.fold.rollout_columns import HELD
from tui_eval.fold.suite_state import SuiteState
from tui_eval.shipped import shipped
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.text_panel import PlainPanel
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.base.terminal.in_turn import focus_once_drawn
from tui_eval.tui.run.panes import following_title
from tui_eval.tui.run.rollouts.rollout_list import RolloutList
from tui_eval.tui.run.screen import NO_CLOCK_S, RunScreen
from tui_eval.tui.run.session import DWELL_S, RunSession
from tui_eval.tui.suite.commands import GROUPS
from tui_eval.tui.suite.controllers import (
    OpenRuns,
    SuiteFocus,
    SuiteRerun,
    SuiteStatus,
    SuiteZoom,
    place_of,
)
from tui_eval.tui.suite.evaluation_list import EvaluationList
from tui_eval.tui.suite.lines import Blank, early_end, progress, status, title

RESTS_S = 0.15
"""Seconds that an evaluation is selected before its run is opened: passing opens none."""
AGAIN_S = 1.0
"""Seconds before a run that could not be joined is tried again."""


class ShownEvaluation:
    """Shows the selected evaluation's run, or why there is none, and selects what runs.

    Args:
        no_run: Is shown while that evaluation has no run.
    """

    def __init__(self, screen: SuiteScreen, no_run: RunSession) -> None:
        self._screen, self._no_run = screen, no_run
        self._suite, self._open_runs = screen.suite, screen.open_runs
        self._gate = (0, 0)
        """Rollouts that wait at the closed gate, and those in flight."""
        self._drawn: tuple[object, ...] = ()
        self.rests_at = 0.0
        """When the selected run may be opened, in seconds of `time.monotonic`."""
        self._over_at = self._covered_at = -math.inf
        self.is_blank: bool | None = None
        self._left_pane: tuple[int, Widget] | None = None

    def refresh(self) -> None:
        """Selects and shows an evaluation, and draws changes of the suite."""
        screen, suite, evaluations = self._screen, self._suite, self._screen.evaluations
        now = screen.now()
        self._follow_on(now)
        self._show()
        self._turn_blank()
        shut = [run.state for run in self._open_runs if not run.state.gate_open]
        held = sum(state.by_stage[HELD] for state in shut)
        self._gate = (held, sum(state.in_flight for state in shut))
        screen.blank.place, at_work = evaluations.cursor, screen.status.at_work
        screen.blank.fault = screen.state.end.text if screen.state.end is not None else ""
        follows, clock = evaluations.follows, int(now / (1 if at_work else NO_CLOCK_S))
        how = (suite.changed, follows, screen.root.live, screen.header.requested_pause)
        drawn = (how, self._gate, screen.blank.place, screen.blank.fault, clock)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        how_far = following_title(follows) if at_work else ""
        title = f" {key_for('suite.evaluations')} Evaluations"
        screen.grid.entitle(evaluations, Content.assemble(title, how_far, " "))
        screen.top.lay_out()
        evaluations.update()
        screen.blank.lay_out()
        screen.invalidate()

    def top_lines(self, width: int) -> list[Line]:
        """The suite's name, status and progress."""
        (held, in_flight), suite, screen = self._gate, self._suite, self._screen
        pause = screen.header.requested_pause
        how = status(suite, screen.root.live, pause, screen.now(), in_flight)
        return [title(suite, how, width), progress(suite, width, held), *early_end(suite, width)]

    def footer_words(self) -> dict[str, str]:
        """Footer words by action in place of those of a run."""
        screen, evaluations = self._screen, self._screen.evaluations
        words = {"switch_list": "list" if screen.has_class("-no-list") else "hide list"}
        if self.is_blank:
            words["next_pane(1)"] = ""
        if screen.focused is evaluations:
            follow = "stay" if evaluations.follows else "follow"
            words |= {"error(1)": "", "enter": "" if self.is_blank else "rollouts"}
            words["follow"] = follow if screen.status.at_work else ""
        return words

    def _follow_on(self, now: float) -> None:
        """Selects a running evaluation a moment after the followed one is over.

        A dialog is about the shown evaluation: that stays while one is open, and a moment longer,
        as the effect of the answer shows only then.
        """
        evaluations = self._screen.evaluations
        one, running = self._suite.evaluations[evaluations.cursor], self._suite.running
        if not self._screen.is_active:
            self._covered_at = now
        if not one.is_over:
            self._over_at = math.inf
        elif self._over_at == math.inf:
            self._over_at = now
        if not evaluations.follows or not running or one.last.status == "running":
            return
        if now - self._covered_at < DWELL_S:
            return
        if not one.is_over or now - self._over_at >= DWELL_S:
            evaluations.select(running[-1], by_hand=False)

    def _show(self) -> None:
        """Shows the run of the selected evaluation; opens it once the selection rests."""
        place, now = self._screen.evaluations.cursor, time.monotonic()
        one, run = self._suite.evaluations[place], self._open_runs.get(place)
        wanted = (run is None or self._open_runs.is_lost(place, one)) and now >= self.rests_at
        if wanted and (found := place_of(one, self._screen.root.live)) is not None:
            self.rests_at = now + AGAIN_S
            run = self._open_runs.open(place, *found)
        shown = run or self._no_run
        if shown.feed is not self._screen.feed:
            self._screen.show_run(shown)

    def _turn_blank(self) -> None:
        """Shows the status in place of the panes without a run; restores the focus later."""
        screen, evaluations = self._screen, self._screen.evaluations
        is_blank = screen.state.run is None
        if is_blank == self.is_blank:
            return
        self.is_blank = is_blank
        place, focused = evaluations.cursor, screen.focused
        if is_blank and focused in screen.panes:
            self._left_pane = (place, focused)
            screen.set_focus(evaluations if evaluations.display else None)
        screen.set_class(is_blank, "-blank")
        if not is_blank:
            screen.call_after_refresh(self._show_row)  # the list had no height until now
        if not is_blank and self._left_pane is not None:
            if self._left_pane[0] == place and focused in (None, evaluations):
                focus_once_drawn(screen, self._left_pane[1])
            self._left_pane = None

    def _show_row(self) -> None:
        self._screen.rollouts.jump(0)
        self._screen.rollouts.show_row()

    def action_evaluation(self, by: int) -> None:
        """Goes to the next or previous evaluation, from any pane, and stays in that pane."""
        evaluations = self._screen.evaluations
        evaluations.select(evaluations.cursor + by)
        if self._left_pane is not None:
            self._left_pane = (evaluations.cursor, self._left_pane[1])

    def action_follow(self) -> None:
        """Follows the newest rollout from the panes, the running evaluation from the list."""
        screen, evaluations = self._screen, self._screen.evaluations
        if screen.focused is not evaluations and screen.status.is_live:
            screen.navigation.action_follow()
        elif screen.status.at_work:
            self.switch_following(not evaluations.follows)
        else:
            screen.say("The suite has ended: there is nothing to follow.")

    def switch_following(self, on: bool) -> None:
        """Goes to the running evaluation and follows, or stops following."""
        self._screen.evaluations.follows = on
        if on:
            self._over_at = -math.inf  # at once, not after a moment
        self._screen.refresh_run()


class SuiteScreen(RunScreen):
    """A run's screen under a list. Each opened evaluation has a feed of its own in `open_runs`.

    Textual calls handlers of messages of both classes; those here only add to the other's.

    Args:
        root: The session with the events of all evaluations.
        suite: Its fold.
    """

    CSS_PATH = str(shipped("styles", "suite.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = bindings("suite")

    def __init__(
        self, root: RunSession, suite: SuiteState, open_feed: OpenFeed, now: Callable[[], float]
    ) -> None:
        no_run = RunSession(NullFeed())
        super().__init__(no_run, now)
        self.noun, self.scopes, self.groups = "suite", ("run", "suite"), GROUPS
        self.root, self.whole, self.suite = root.feed, suite, suite
        self.status = SuiteStatus(self)
        self.rerun = SuiteRerun(self)
        self.zoom = SuiteZoom(self, self.grid, self.update_keys)
        self.open_runs = OpenRuns(open_feed, self._take_of_run)
        self.evaluation = ShownEvaluation(self, no_run)
        self.refresh_above = self.evaluation.refresh
        self.words_above = self.evaluation.footer_words
        self.held = [SuiteFocus(self), self.evaluation, self.rerun, self.zoom, *self.held]
        self.top = PlainPanel(self.evaluation.top_lines, id="top")
        self.evaluations = EvaluationList(suite, id="evaluations")
        self.evaluations.styles.max_height = self.evaluations.count() + 2
        self.blank = Blank(suite, id="blank")
        self.above = (self.top, self.evaluations, self.blank)
        self.first_focus = self.evaluations

    def _take_of_run(self, event: Event) -> None:
        """Handles an event of one evaluation that concerns all of them."""
        if isinstance(event, GateMoved | CommandAnswered):
            self.suite.apply(event)
            self.take(event)

    def on_evaluation_list_chosen(self) -> None:
        self.evaluation.rests_at = time.monotonic() + RESTS_S
        self.refresh_run()

    def on_evaluation_list_follow_wanted(self) -> None:
        """Goes to the running evaluation and follows; to the last one where none runs."""
        if self.status.at_work:
            self.evaluation.switch_following(True)
        else:
            self.evaluations.select(len(self.suite.evaluations) - 1)

    @on(RolloutList.Selected)
    @on(LineView.ScrolledBack)
    def _stay(self, message: RolloutList.Selected | LineView.ScrolledBack) -> None:
        """Stops following evaluations: somebody chose a rollout, or reads."""
        if isinstance(message, LineView.ScrolledBack) or message.by_hand:
            self.evaluations.put()

    @on(DescendantFocus)
    def _make_room(self) -> None:
        """Takes the whole screen from the list when a pane gets the focus."""
        if self.focused in self.panes:
            self.remove_class("-list")
