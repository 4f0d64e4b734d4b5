"""How a run is left: at once, after a question, or as soon as its engine has finished it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.tui.base.dialogs.prompts import Leave, Prompt, leave_question

if TYPE_CHECKING:
    from tui_eval.tui.run.screen import RunScreen


class QuitFlow:
    """Leaving a screen of something that an engine may be at work on."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._pending: Leave | None = None

    @property
    def waits_for_end(self) -> bool:
        """Whether the screen is left as soon as the engine has finished the run."""
        return self._pending is not None

    def update(self) -> None:
        """Asks what is to be asked now; leaves where only the end was waited for."""
        self._screen.prompts.update()
        is_over = not self._screen.status.at_work
        if self._pending is not None and is_over and not self._screen.prompts.is_open:
            self._answered(self._pending)
            self._pending = None

    @property
    def word(self) -> str:
        """What leaving is called in the footer."""
        screen = self._screen
        if screen.over_home and (screen.joined or not screen.status.at_work):
            return "home"
        return "leave" if screen.status.at_work else "quit"

    @property
    def help_text(self) -> str:
        """What leaving does."""
        at_work = self._screen.status.at_work
        if self.word == "home":
            return "Back home; what runs goes on" if at_work else "Back home"
        if at_work:
            return "Stop (resumable), detach, or stay"
        return "Quit" if self._ends[1] else "Quit; unsaved, it is kept 14 days"

    def action_leave(self) -> None:
        """Leaves at once where nothing is lost, asks otherwise."""
        if self._screen.over_home and self._screen.joined and self._screen.status.at_work:
            self._answered(Leave("detach"))
        else:
            self.ask_to_leave()

    def ask_to_leave(self) -> None:
        """Asks how to leave where it would go on; what has ended is left at once."""
        if self._ends[0]:
            self._screen.prompts.open(self._prompt, self._answered)
        else:
            self._answered(Leave("closed"))

    @property
    def _ends(self) -> tuple[bool, bool]:
        """Whether it goes on after leaving, and whether it is kept."""
        status = self._screen.status
        is_over = status.is_finishing and self._pending is None
        goes_on = status.at_work and not is_over
        return goes_on, status.is_saved or (self._screen.over_home and not goes_on)

    def _prompt(self) -> Prompt:
        return leave_question(*self._ends, self._screen.status.on_disk, self._screen.noun)

    def _answered(self, leave: Leave | None) -> None:
        """Leaves as was answered; a run that is all but over is waited for."""
        if leave is not None and leave.action == "closed" and self._screen.status.at_work:
            self._pending = leave
            self._screen.say(f"The engine finishes the {self._screen.noun}…")
        elif leave is not None:
            self._screen.post_message(self._screen.Left(leave))
