"""Asking people something that may change while they think about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tui_eval.tui.base.dialogs.leave_question import Asked
from tui_eval.tui.base.terminal.drawing import DrawnScreen

if TYPE_CHECKING:
    from tui_eval.tui.base.dialogs.question import Question


class AskingScreen(DrawnScreen[None]):
    """A screen whose questions follow what they are about, and close by an answer alone.

    One that closed by itself would leave the key of its answer to the screen below.
    """

    _question: Question | None = None

    def ask(self, ask: Callable[[], Asked], answered: Callable[[Any], None]) -> None:
        """Asks something.

        Args:
            ask: See `Question`.
            answered: Is given the answer.
        """
        from tui_eval.tui.base.dialogs.question import Question

        self._question = Question(ask)
        self.app.push_screen(self._question, answered)

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        return self._question is not None and self._question.is_active

    def follow_question(self) -> None:
        """Asks what is to be asked now."""
        if self._question is not None and self.is_asking:
            self._question.follow()
