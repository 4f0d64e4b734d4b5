"""How a run is left: at once, after a question, or as soon as its engine has finished it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tui_eval.tui.base.dialogs.leave_question import Asked, Leave, leave_question
from tui_eval.tui.run.annotating import AnnotatingScreen


class LeavableScreen(AnnotatingScreen):
    """A screen of something that an engine may be at work on."""

    noun: ClassVar[str]
    now: Callable[[], float]
    over_home: bool
    joined: bool
    _pending: Leave | None = None

    @property
    def at_work(self) -> bool:
        """Whether an engine is at work that leaving would concern."""
        raise NotImplementedError

    @property
    def _is_finishing(self) -> bool:
        """Whether all is done and the engine has not said so yet."""
        raise NotImplementedError

    @property
    def _is_saved(self) -> bool:
        """Whether it is kept without being asked for."""
        raise NotImplementedError

    @property
    def _on_disk(self) -> str:
        """How much of it is kept, as a sentence."""
        raise NotImplementedError

    def leave_with(self, leave: Leave) -> None:
        """Leaves it."""
        raise NotImplementedError

    @property
    def waits_for_end(self) -> bool:
        """Whether the screen is left as soon as the engine has finished the run."""
        return self._pending is not None

    def follow_question(self) -> None:
        """Asks what is to be asked now; leaves where only the end was waited for."""
        super().follow_question()
        if self._pending is not None and not self.at_work and not self.is_asking:
            self._answered(self._pending)
            self._pending = None

    @property
    def _leave_word(self) -> str:
        if self.over_home and (self.joined or not self.at_work):
            return "home"
        return "leave" if self.at_work else "quit"

    @property
    def leaving(self) -> str:
        """What leaving does, for the help."""
        if self._leave_word == "home":
            return "Back home; what runs goes on" if self.at_work else "Back home"
        if self.at_work:
            return "Stop (resumable), detach, or stay"
        return "Quit" if self._standing[1] else "Quit; unsaved, it is kept 14 days"

    def action_leave(self) -> None:
        """Leaves at once where nothing is lost, asks otherwise."""
        if self.over_home and self.joined and self.at_work:
            self._answered(Leave("detach"))
        else:
            self.ask_to_leave()

    def ask_to_leave(self) -> None:
        """Asks how to leave where it would go on; what has ended is left at once."""
        if self._standing[0]:
            self.ask(self._leave_asked, self._answered)
        else:
            self._answered(Leave("closed"))

    @property
    def _standing(self) -> tuple[bool, bool]:
        """Whether it goes on after leaving, and whether it is kept."""
        goes_on = self.at_work and not (self._is_finishing and self._pending is None)
        return goes_on, self._is_saved or (self.over_home and not goes_on)

    def _leave_asked(self) -> Asked:
        return leave_question(*self._standing, self._on_disk, self.noun)

    def _answered(self, leave: Leave | None) -> None:
        """Leaves as was answered; a run that is all but over is waited for."""
        if leave is not None and leave.action == "closed" and self.at_work:
            self._pending = leave
            self.keys.say(f"The engine finishes the {self.noun}…", self.now())
        elif leave is not None:
            self.leave_with(leave)
