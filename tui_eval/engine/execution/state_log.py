"""What an environment keeps in the state of a rollout, logged as it changes."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator

from tui_eval.state import State

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxdict = _SHORT.maxlist = 20


class StateLog:
    """Keeps what was logged of the keys that are the environment's own.

    Args:
        state: As it is when the rollout begins: what it has then is every state's.
    """

    def __init__(self, state: State) -> None:
        self._of_every_state = frozenset(state)
        self._logged: dict[str, str] = {}

    def changes(self, state: State) -> Iterator[tuple[str, str]]:
        """Keys with a new value, and that value as short text."""
        for key, value in list(state.items()):
            if key in self._of_every_state:
                continue
            text = _SHORT.repr(value)
            if self._logged.get(key) != text:
                self._logged[key] = text
                yield key, text
