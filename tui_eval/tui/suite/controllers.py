"""What a suite's screen does otherwise than a run's: how it stands, its reruns, its zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.text.evaluation_words import rollouts_on_disk
from tui_eval.tui.base.dialogs.prompts import Prompt
from tui_eval.tui.base.layout import Zoom
from tui_eval.tui.run.session import RunStatus
from tui_eval.tui.run.steering import RerunFlow
from tui_eval.tui.suite.resume_request import (
    ALL,
    NOT_YET,
    errored,
    prompt_of,
    request_of,
    why_not,
)

if TYPE_CHECKING:
    from tui_eval.commands import Rerun
    from tui_eval.tui.suite.screen import SuiteScreen


class SuiteStatus(RunStatus):
    """Of all evaluations; what goes on is the one that is shown."""

    def __init__(self, screen: SuiteScreen) -> None:
        super().__init__(screen)
        self._suite_screen, self._suite = screen, screen.suite

    @property
    def at_work(self) -> bool:
        """Whether an engine is at work on the suite."""
        return self._suite_screen.root.live and self._suite.end is None

    @property
    def max_concurrent(self) -> int | None:
        """Rollouts in flight at most, of all evaluations; 0 for no limit, None for not known."""
        return self._suite.started.max_concurrent if self._suite.started is not None else None

    @property
    def is_gate_open(self) -> bool:
        """Whether the engine begins rollouts."""
        return self._suite.gate_open

    @property
    def is_finishing(self) -> bool:
        """Whether all is done and the engine has not said so yet."""
        return self._suite.over == len(self._suite.evaluations)

    @property
    def is_saved(self) -> bool:
        """Whether all runs are kept without being asked for."""
        return self._suite_screen.saved and all(one.last.saved for one in self._suite.evaluations)

    @property
    def on_disk(self) -> str:
        """How much of them is kept, as a sentence."""
        return rollouts_on_disk(self._suite)


class SuiteRerun(RerunFlow):
    """Reruns of the evaluation that is shown while it goes on, of all once the suite is over."""

    def __init__(self, screen: SuiteScreen) -> None:
        super().__init__(screen)
        self._suite_screen, self._suite = screen, screen.suite

    @property
    def word(self) -> str:
        """What the key does, in a word; empty where it does nothing."""
        if self._suite_screen.status.is_live:
            return super().word
        again = "" if self._suite_screen.status.at_work or why_not(self._suite) else "rerun"
        return again if errored(self._suite) else again and "resume"

    def why_not(self) -> str:
        """Why nothing can run again; empty where something can."""
        status = self._suite_screen.status
        if status.is_live:
            return super().why_not()
        if status.at_work:
            one = self._suite.evaluations[self._suite_screen.evaluations.cursor]
            has_rows = one.is_over or self._suite_screen.state.run is not None
            return NOT_YET if has_rows else "Nothing of this evaluation has begun."
        return why_not(self._suite)

    def prompt(self, row: int) -> Prompt:
        """Which rollouts are to run again."""
        status = self._suite_screen.status
        is_run = status.is_live or status.at_work
        return super().prompt(row) if is_run else prompt_of(self._suite)

    def answered(self, command: Rerun | str | None) -> None:
        """Has them run again."""
        screen = self._suite_screen
        if command == ALL:
            if (request := request_of(self._suite)) is not None:
                screen.post_message(screen.RunAgain(request))
        elif command is not None and not screen.status.is_live:  # it ended meanwhile
            screen.say(self.why_not())
        else:
            super().answered(command)


class SuiteZoom(Zoom):
    """Gives the whole screen to the list, or to a pane of the evaluation that is shown."""

    def __init__(self, screen: SuiteScreen) -> None:
        super().__init__(screen, screen.grid, screen.update_keys, screen.say)
        self._suite_screen = screen

    @property
    def _has_list(self) -> bool:
        return self._suite_screen.focused is self._suite_screen.evaluations

    @property
    def can_zoom(self) -> bool:
        """Whether there is a pane that would have the place of the list, or the list all of it."""
        return self._has_list or not self._suite_screen.is_blank

    @property
    def is_zoomed(self) -> bool:
        """Whether the list or a pane has the whole screen."""
        if self._has_list:
            return self._suite_screen.has_class("-list")
        return self.grid.has_class("-zoomed")

    def action_zoom(self) -> None:
        """Gives the whole screen to the list or the pane with the focus, or takes it back."""
        if self._has_list:
            self._suite_screen.toggle_class("-list")
            self.changed()
        elif not self._suite_screen.is_blank:
            self._suite_screen.set_class(not self.grid.has_class("-zoomed"), "-pane")
            super().action_zoom()
