"""The open prompt of a screen; what draws it is loaded when it opens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui_eval.tui.base.dialogs.prompts import Prompt
    from tui_eval.tui.base.dialogs.question import Question


class Prompts:
    """The prompts of a screen; one that is open follows what it is about.

    A prompt closes by an answer alone: one that closed by itself would leave the key of its
    answer to the screen below.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._question: Question | None = None

    def open(self, prompt: Callable[[], Prompt], answered: Callable[[Any], None]) -> None:
        """Shows a prompt.

        Args:
            prompt: Makes it, as things are now.
            answered: Gets the answer.
        """
        from tui_eval.tui.base.dialogs.question import Question

        self._question = Question(prompt)
        self._screen.app.push_screen(self._question, answered)

    @property
    def is_open(self) -> bool:
        """Whether a prompt waits for its answer."""
        return self._question is not None and self._question.is_active

    def update(self) -> None:
        """Shows the open prompt as things are now."""
        if self._question is not None and self._question.is_active:
            self._question.follow()
