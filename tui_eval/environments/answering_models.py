"""Models that answered where another was asked for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tui_eval.model_names import is_same_model

if TYPE_CHECKING:
    from tui_eval.types import State

_logger = logging.getLogger(__name__)


class AnsweringModels:
    """Notes on steps who answered them, and warns of each name once."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def note(self, state: State, asked: str, answered: str) -> None:
        """Writes the name that an answer gives into its step, the last one of a rollout.

        A snapshot of the model that was requested is kept too; only another model is a warning.
        """
        if not answered:
            return
        state.steps[-1]["model"] = answered
        state.models[answered] = state.models.get(answered, 0) + 1
        if (asked, answered) not in self._told:
            self._told.add((asked, answered))
            level = logging.INFO if is_same_model(asked, answered) else logging.WARNING
            _logger.log(level, "%s was asked for, and %s answered", asked, answered)
