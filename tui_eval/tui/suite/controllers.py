"""What a suite's screen does otherwise than a run's: how it stands, its reruns, its zoom.

A suite that nobody works on goes on as a whole: what errored and what is missing, of all at once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tui_eval.events import OUT_OF_BUDGET
from tui_eval.text.evaluation_words import rollouts_on_disk
from tui_eval.text.figures import plural
from tui_eval.tui.base.dialogs.prompts import Choice, Prompt
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.layout import Zoom
from tui_eval.tui.run.panes import STILL_LOADING
from tui_eval.tui.run.session import RunStatus
from tui_eval.tui.run.steering import BACK, RerunFlow

if TYPE_CHECKING:
    from tui_eval.commands import Rerun
    from tui_eval.fold.suite_state import SuiteState
    from tui_eval.tui.suite.screen import SuiteScreen

NOT_YET = "When all of the suite is over, what errored here can run again."
NOTHING = "All of it has finished without an error: there is nothing to run again."


class SuiteStatus(RunStatus):
    """Of all evaluations; what goes on is the one that is shown."""

    _screen: SuiteScreen

    @property
    def max_concurrent(self) -> int | None:
        """Rollouts in flight at most, of all evaluations; 0 for no limit, None for not known."""
        started = self._screen.suite.started
        return started.max_concurrent if started is not None else None

    @property
    def is_finishing(self) -> bool:
        return self._screen.suite.over == len(self._screen.suite.evaluations)

    @property
    def is_saved(self) -> bool:
        """Whether all runs are kept without being asked for."""
        return all(one.last.saved for one in self._screen.suite.evaluations)

    @property
    def on_disk(self) -> str:
        """How much of them is kept, as a sentence."""
        return rollouts_on_disk(self._screen.suite)


class SuiteRerun(RerunFlow):
    """Reruns of the evaluation that is shown while it goes on, of all once the suite is over."""

    _screen: SuiteScreen

    @property
    def word(self) -> str:
        """What the key does, in a word; empty where it does nothing."""
        if self._screen.status.is_live:
            return super().word
        again = "" if self._screen.status.at_work or why_not(self._screen.suite) else "rerun"
        return again if errored(self._screen.suite) else again and "resume"

    def why_not(self) -> str:
        """Why nothing can run again; empty where something can."""
        status = self._screen.status
        if status.is_live:
            return super().why_not()
        if status.at_work:
            one = self._screen.suite.evaluations[self._screen.evaluations.cursor]
            has_rows = one.is_over or self._screen.state.run is not None
            return NOT_YET if has_rows else "Nothing of this evaluation has begun."
        return why_not(self._screen.suite)

    def prompt(self, row: int) -> Prompt:
        status = self._screen.status
        is_run = status.is_live or status.at_work
        return super().prompt(row) if is_run else prompt_of(self._screen.suite)

    def answered(self, answer: Rerun | dict[str, Any] | None) -> None:
        if answer is None or isinstance(answer, dict) or self._screen.status.is_live:
            super().answered(answer)
        else:
            self._screen.say(self.why_not())  # it ended meanwhile


class SuiteZoom(Zoom):
    """Gives the whole screen to the list, or to a pane of the evaluation that is shown."""

    screen: SuiteScreen

    @property
    def _has_list(self) -> bool:
        return self.screen.focused is self.screen.evaluations

    @property
    def can_zoom(self) -> bool:
        """Whether there is a pane that would have the place of the list, or the list all of it."""
        return self._has_list or not self.screen.is_blank

    @property
    def is_zoomed(self) -> bool:
        if self._has_list:
            return self.screen.has_class("-list")
        return self.grid.has_class("-zoomed")

    def action_zoom(self) -> None:
        """Gives the whole screen to the list or the pane with the focus, or takes it back."""
        if self._has_list:
            self.screen.toggle_class("-list")
            self.changed()
        elif not self.screen.is_blank:
            self.screen.set_class(not self.grid.has_class("-zoomed"), "-pane")
            super().action_zoom()


def errored(suite: SuiteState) -> int:
    """Rollouts that errored, of all evaluations."""
    return sum(one.last.errored for one in suite.evaluations)


def why_not(suite: SuiteState) -> str:
    """Why nobody can go on with a suite here that is not at work; empty where one can."""
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


def prompt_of(suite: SuiteState) -> Prompt:
    """The question whether it is to go on."""
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


def request_of(suite: SuiteState) -> dict[str, Any] | None:
    """What an engine is asked for; None where that takes something that is kept nowhere."""
    from tui_eval.config.command_line import parse_resume_words
    from tui_eval.config.options import NEWEST

    assert suite.started is not None, "a suite that was not told cannot go on"
    raw = parse_resume_words(suite.started.words)
    if raw is None:
        return None
    runs = [one.last.path for one in suite.evaluations]
    return {"env_id": suite.started.path, "raw": {**raw, "resume": NEWEST}, "runs": runs}
