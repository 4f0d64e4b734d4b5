"""Environments with one question and one answer."""

from __future__ import annotations

from typing import Any

from tui_eval.environments.multi_turn import MultiTurnEnv
from tui_eval.messages import Messages
from tui_eval.state import State


class SingleTurnEnv(MultiTurnEnv):
    """The model answers once, and that answer is scored.

    Args:
        kwargs: As for `Environment`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_turns=1, **kwargs)

    async def env_response(self, messages: Messages, state: State, **kwargs: Any) -> Any:
        """Never called: there is no second turn."""
        raise NotImplementedError("A SingleTurnEnv has one turn; use MultiTurnEnv for more")
