"""Requested state columns that no rollout's state had."""

from __future__ import annotations

from collections.abc import Iterable

from tui_eval.errors import nearest
from tui_eval.runs.row import COLUMN_NAMES, SCHEMA_KEYS
from tui_eval.state import State


class ColumnsSeen:
    """Looks at the states of finished rollouts; those with an error say nothing.

    Args:
        columns: What was requested; what every row has is always there.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self._unseen = [name for name in columns if name not in SCHEMA_KEYS | COLUMN_NAMES]
        self._keys: set[str] = set()

    def look(self, state: State) -> None:
        """Takes in a state of which a row is written."""
        if not self._unseen or state.get("error") is not None:
            return
        self._keys = {*state, *(state.get("metrics") or ())}
        self._unseen = [name for name in self._unseen if name not in self._keys]

    def missing(self) -> dict[str, str]:
        """The columns that no state had, each with the nearest key as a sentence or nothing."""
        if not self._keys:
            return {}
        return {name: nearest(name, self._keys, most=1) for name in self._unseen}
