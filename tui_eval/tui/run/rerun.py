"""Runs errored and missing rollouts again, by the engine at work or by a new one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui_eval.text.figures import plural
from tui_eval.text.stages import rollout_name
from tui_eval.tui.base.dialogs.open_prompts import Prompts
from tui_eval.tui.base.dialogs.prompts import Choice, Prompt
from tui_eval.tui.run.steering import BACK
from tui_eval.tui.run.titles import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval.commands import Rerun
    from tui_eval.tui.run.screen import RunScreen

MISSING = "missing"
"""The answer that a run is resumed with what it lacks."""


class RerunFlow:
    """Asks which rollouts run again, and has them run."""

    def __init__(self, screen: RunScreen, prompts: Prompts) -> None:
        self._screen = screen
        self._prompts = prompts

    @property
    def word(self) -> str:
        """What the key does, in a word; empty where it does nothing."""
        return "rerun" if self._screen.state.errors else "resume" if self.is_resumable else ""

    def action_rerun(self) -> None:
        """Asks which errored rollouts are to run again."""
        if why := self.why_not():
            self._screen.say(why)
        else:
            self._prompts.open(partial(self.prompt, self._screen.rollouts.row), self.answered)

    def why_not(self) -> str:
        state = self._screen.state
        if state.is_loading and not state.errors:
            return STILL_LOADING
        if state.run is None or not (state.errors or self._is_cut_off):
            return "No rollout has errored: there is nothing to run again."
        if not self._screen.status.is_live and state.end is None:
            return "Another process writes this run: it can only be read."
        if state.is_foreign:
            return f"This is a run of {state.run.format}: only runs of tui-eval can be resumed."
        return ""

    def prompt(self, row: int) -> Prompt:
        title = "Run again?" if self._screen.state.errors else "Resume the run?"
        if why := self.why_not():
            return Prompt(title, [why], [BACK])
        text = "The run goes on."
        if self._screen.state.errors:
            text = "What is chosen runs again; old rows stay in superseded.jsonl."
        return Prompt(title, [text], [*self._choices(row), BACK])

    def _choices(self, row: int) -> list[Choice]:
        """The rollout that was selected, the error in question, all errors."""
        from tui_eval.commands import Rerun

        state = self._screen.state
        choices = []
        error = state.errors.get(row, "")
        target = self._screen.numbers.cursor
        if (
            self._screen.focused is self._screen.numbers
            and target is not None
            and target[0] == "error"
        ):
            error = str(target[1])
        elif error:
            name = rollout_name(state, row)
            choices.append(Choice("o", "only this one", name, Rerun([row])))
        count = state.outcomes.errors[error] if error else 0
        if 0 < count < state.errored:
            last = error.split(" -> ")[-1]
            many = "rollout" if count == 1 else "rollouts"
            note = f"{last}, {count:,} {many}"
            choices.append(Choice("t", "this error", note, Rerun([], error)))
        kinds = plural(len(state.outcomes.errors), "kind") + " of error"
        if state.errors:
            choices.append(Choice("a", f"all {state.errored:,} errored", kinds, Rerun()))
        if self.is_resumable:
            missing = f"the {state.total - state.finished:,} missing"
            note = "and all that errored" if state.errors else "what has finished stays"
            choices.append(Choice("m", missing, note, MISSING))
        return choices

    @property
    def _is_cut_off(self) -> bool:
        """Whether a run has ended before all of its rollouts had."""
        return (
            not self._screen.status.is_live
            and self._screen.state.end is not None
            and self._screen.state.finished < self._screen.state.total
        )

    @property
    def is_resumable(self) -> bool:
        """Whether an engine could go on with what a run that has ended is missing."""
        return (
            self._is_cut_off and self._screen.noun != "suite" and not self._screen.state.is_foreign
        )

    def answered(self, command: Rerun | str | None) -> None:
        if command is None:
            return
        state = self._screen.state
        path = state.run.path if state.run is not None else ""
        if isinstance(command, str):
            again = {"env_id": None, "raw": {"resume": path}}
            self._screen.post_message(self._screen.RunAgain(again))
            return
        if self._screen.status.is_live:
            self._screen.feed.send(command)
            return
        rows = command.rows or [
            row for row, error in state.errors.items() if command.error in ("", error)
        ]
        request = {"env_id": None, "raw": {"resume": path}, "again": sorted(rows)}
        row = rows[0] if len(rows) == 1 else self._screen.rollouts.row
        self._screen.post_message(self._screen.RunAgain(request, row))
