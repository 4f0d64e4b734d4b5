"""Controllers of a suite's screen: status, reruns, zoom, focus, and several open runs.

A suite without an engine is resumed as a whole: errored and missing rollouts of all evaluations.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tui_eval.events import OUT_OF_BUDGET
from tui_eval.text.evaluation_words import rollouts_on_disk
from tui_eval.text.figures import plural
from tui_eval.tui.base.dialogs.prompts import Choice, Prompt
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.layout import PaneFocus, Zoom
from tui_eval.tui.base.terminal.in_turn import focus_once_drawn
from tui_eval.tui.run.panes import STILL_LOADING
from tui_eval.tui.run.session import RunSession, RunStatus, begin
from tui_eval.tui.run.steering import BACK, RerunFlow

if TYPE_CHECKING:
    from tui_eval.commands import Rerun
    from tui_eval.events import Event
    from tui_eval.feeds.feed import OpenFeed
    from tui_eval.fold.suite_state import EvaluationState, SuiteState
    from tui_eval.tui.suite.screen import SuiteScreen

KEPT = 4
"""Evaluations that stay open, so that going back and forth opens nothing."""
NOT_YET = "When all of the suite is over, what errored here can run again."
NOTHING = "All of it has finished without an error: there is nothing to run again."


class SuiteStatus(RunStatus):
    """The status of all evaluations; `is_live` is about the shown one."""

    _screen: SuiteScreen

    @property
    def max_concurrent(self) -> int | None:
        started = self._screen.suite.started
        return started.max_concurrent if started is not None else None

    @property
    def is_finishing(self) -> bool:
        return self._screen.suite.over == len(self._screen.suite.evaluations)

    @property
    def is_saved(self) -> bool:
        return all(one.last.saved for one in self._screen.suite.evaluations)

    @property
    def on_disk(self) -> str:
        return rollouts_on_disk(self._screen.suite)


class SuiteRerun(RerunFlow):
    """Reruns in the shown evaluation while the suite runs, in all of them afterwards."""

    _screen: SuiteScreen

    @property
    def word(self) -> str:
        if self._screen.status.is_live:
            return super().word
        again = "" if self._screen.status.at_work or why_not(self._screen.suite) else "rerun"
        return again if errored(self._screen.suite) else again and "resume"

    def why_not(self) -> str:
        status = self._screen.status
        if status.is_live:
            return super().why_not()
        if status.at_work:
            one = self._screen.suite.evaluations[self._screen.evaluations.cursor]
            has_rows = one.is_over or self._screen.state.run is not None
            return NOT_YET if has_rows else "Nothing of this evaluation has begun."
        return why_not(self._screen.suite)

    def prompt(self, row: int) -> Prompt:
        suite, status = self._screen.suite, self._screen.status
        if status.is_live or status.at_work:
            return super().prompt(row)
        title = "Run again?" if errored(suite) else "Resume the suite?"
        if why := why_not(suite):
            return Prompt(title, [why], [BACK])
        missing = max(suite.rollouts - sum(one.last.finished for one in suite.evaluations), 0)
        refused = sum(one.last.status == "refused" for one in suite.evaluations)
        counts = {"errored": errored(suite), "missing": missing, "refused": refused}
        note = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
        count = len(suite.evaluations)
        each = "Both evaluations" if count == 2 else f"All {plural(count, 'evaluation')}"
        text = [f"{each} resume the runs they have."]
        if suite.started is not None and suite.started.budgets:
            flags = " and ".join(suite.started.budgets)
            text.append(f"They do without {flags}, which held for one command.")
        if errored(suite):
            text.append("Old rows of what errored stay in superseded.jsonl.")
        copies = f"{key_for('run.copy')} copies its path"
        text.append(f"One of them alone: tui-eval open PATH; {copies}.")
        note = note or "what has not finished"
        return Prompt(title, text, [Choice("g", "resume all", note, request_of(suite)), BACK])

    def answered(self, answer: Rerun | dict[str, Any] | None) -> None:
        if answer is None or isinstance(answer, dict) or self._screen.status.is_live:
            super().answered(answer)
        else:
            self._screen.say(self.why_not())  # it ended meanwhile


class SuiteZoom(Zoom):
    """Gives the whole screen to the list, or to a pane of the shown evaluation."""

    screen: SuiteScreen

    @property
    def _has_list(self) -> bool:
        return self.screen.focused is self.screen.evaluations

    @property
    def can_zoom(self) -> bool:
        """Whether the list or a pane can be enlarged."""
        return self._has_list or not self.screen.evaluation.is_blank

    @property
    def is_zoomed(self) -> bool:
        if self._has_list:
            return self.screen.has_class("-list")
        return self.grid.has_class("-zoomed")

    def action_zoom(self) -> None:
        if self._has_list:
            self.screen.toggle_class("-list")
            self.changed()
        elif not self.screen.evaluation.is_blank:
            self.screen.set_class(not self.grid.has_class("-zoomed"), "-pane")
            super().action_zoom()


class SuiteFocus:
    """Moves the focus between the list and the panes."""

    def __init__(self, screen: SuiteScreen) -> None:
        self._screen, self._of_run = screen, PaneFocus(screen, screen.panes, screen.grid.enter)

    def action_pane(self, number: int) -> None:
        """Goes to the list or to a pane of the evaluation, if it has any."""
        screen = self._screen
        if number == 0:
            screen.remove_class("-no-list")
            if screen.grid.has_class("-zoomed"):
                screen.zoom.action_zoom()
            focus_once_drawn(screen, screen.evaluations)
        elif screen.evaluation.is_blank:
            screen.say("This evaluation has nothing to show yet.")
        else:
            screen.remove_class("-list")
            self._of_run.action_pane(number)

    def action_next_pane(self, by: int) -> None:
        """Goes to the next or previous pane; the list is the first."""
        panes, focused = self._screen.panes, self._screen.focused
        numbers = list(range(0 if self._screen.evaluations.display else 1, len(panes) + 1))
        here = panes.index(focused) + 1 if focused in panes else 0
        at = numbers.index(here) if here in numbers else -1
        self.action_pane(numbers[(at + by) % len(numbers)])

    def action_switch_list(self) -> None:
        """Hides the list, or shows it again."""
        screen = self._screen
        if screen.has_class("-no-list"):
            self.action_pane(0)
            return
        was_there = screen.focused is screen.evaluations
        screen.remove_class("-list")
        screen.add_class("-no-list")
        if was_there and not screen.evaluation.is_blank:
            self.action_pane(1)

    def action_back(self) -> None:
        """Lets go of the mark in the rollouts; else out of the zoom, to them, then to the list."""
        screen = self._screen
        if screen.annotations.let_go_of_mark():
            return
        if screen.focused is screen.evaluations:
            screen.remove_class("-list")
        elif screen.grid.has_class("-zoomed"):
            screen.zoom.action_zoom()
        else:
            is_first = screen.focused is screen.rollouts or screen.evaluation.is_blank
            self.action_pane(0 if is_first else 1)


class OpenRuns:
    """The open runs of a suite; it closes those that were shown longest ago.

    A connection is never dropped half made: a listener that leaves without a word stops its run.

    Args:
        take: Gets every event of these runs once it is folded.
    """

    def __init__(self, open_feed: OpenFeed, take: Callable[[Event], None]) -> None:
        self._open_feed, self._take = open_feed, take
        self._runs: dict[int, RunSession] = {}
        self._joined: set[int] = set()
        self._starts: dict[int, asyncio.Task[bool]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def get(self, place: int) -> RunSession | None:
        """The open run of the evaluation at this place; it is the last to be closed."""
        run = self._runs.pop(place, None)
        if run is not None:
            self._runs[place] = run
        return run

    def __iter__(self) -> Iterator[RunSession]:
        """The open runs, the one shown last first."""
        return reversed(list(self._runs.values()))

    def fold(self, deadline: float) -> bool:
        """Folds new events, the run shown last first; returns whether all of them were."""
        return all(run.fold(deadline, self._take) for run in self)

    def open(self, place: int, path: str, socket: str) -> RunSession:
        """Begins to open a run, in place of the one that was open there."""
        self.drop(place)
        run = self._runs[place] = RunSession(self._open_feed(path, socket))
        self._starts[place] = asyncio.create_task(begin(run.feed, run.state))
        if socket:
            self._joined.add(place)
        while len(self._runs) > KEPT:
            self.drop(next(iter(self._runs)))
        return run

    def is_lost(self, place: int, one: EvaluationState) -> bool:
        """Whether a joined run ended early, with less than there is: it must be opened again."""
        run = self._runs.get(place)
        if run is None or place not in self._joined or run.feed.live or run.state.end is None:
            return False
        if run.state.run is None:
            return True
        return one.is_over and run.state.end.status == "failed" != one.last.status

    def drop(self, place: int) -> None:
        """Closes the run of an evaluation, which continues without this listener."""
        run = self._runs.pop(place, None)
        self._joined.discard(place)
        if run is not None:
            closing = asyncio.create_task(self._close(run, self._starts.pop(place)))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _close(self, run: RunSession, start: asyncio.Task[bool]) -> None:
        from tui_eval.commands import Detach

        await start
        run.feed.send(Detach())
        await run.feed.close()

    async def close(self) -> None:
        """Closes all of them."""
        for place in list(self._runs):
            self.drop(place)
        await asyncio.gather(*self._closing)


def place_of(one: EvaluationState, engine_lives: bool) -> tuple[str, str] | None:
    """Path and socket by which an evaluation can be opened now; None while it cannot.

    Args:
        engine_lives: Without its engine a run is read from disk, whatever its last status.
    """
    last = one.last
    if not last.path or not (last.socket or one.is_over or not engine_lives):
        return None
    return last.path, "" if one.is_over or not engine_lives else last.socket


def errored(suite: SuiteState) -> int:
    """The number of errored rollouts of all evaluations."""
    return sum(one.last.errored for one in suite.evaluations)


def why_not(suite: SuiteState) -> str:
    """The reason why an idle suite cannot be resumed here; empty where it can."""
    if suite.started is None or suite.end is None:
        return STILL_LOADING
    is_whole = all(
        one.last.status == "finished" and one.last.finished >= one.total
        for one in suite.evaluations
    )
    if is_whole and not errored(suite):
        return NOTHING
    name = os.path.relpath(suite.started.path)
    command = f"tui-eval run {name} --resume"
    if suite.end.status == OUT_OF_BUDGET:
        return f"Its budget is spent. To resume without one: {command}"
    if suite.started.is_edited:
        return f"Its settings were changed in a form. Save them as {name}, then: {command}"
    if request_of(suite) is None:
        return f"A secret setting of it is not kept. Type it again behind: {command}"
    return ""


def request_of(suite: SuiteState) -> dict[str, Any] | None:
    """The request to resume a suite; None where a part of it is stored nowhere."""
    from tui_eval.config.command_line import parse_resume_words
    from tui_eval.config.options import NEWEST

    assert suite.started is not None, "a suite that has not started cannot be resumed"
    raw = parse_resume_words(suite.started.words)
    if raw is None:
        return None
    runs = [one.last.path for one in suite.evaluations]
    return {"env_id": suite.started.path, "raw": {**raw, "resume": NEWEST}, "runs": runs}
