"""Tells an observer each message of a conversation once, in order."""

from __future__ import annotations

from collections.abc import Sequence

from tui_eval.messages import Message, Messages
from tui_eval.state import State


class Telling:
    """Knows which messages of one rollout its observer has heard of."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._told: set[int] = set()
        # A message is known by its identity, so none that was told may be freed.
        self._kept: Messages = []

    def tell(self, messages: Sequence[Message]) -> None:
        """Tells these messages."""
        if messages:
            self._told.update(map(id, messages))
            self._kept.extend(messages)
            self._state.observer.messages_added(messages)

    def tell_new(self, messages: Sequence[Message]) -> Messages:
        """Tells the messages that stand after the last one told already, and returns them.

        A conversation may come back rewritten: shortened, or as new objects that say the same.
        """
        newest = self._kept[-1] if self._kept else None
        start = len(messages)
        while start > 0 and not self._is_known(messages[start - 1], newest):
            start -= 1
        new = list(messages[start:])
        self.tell(new)
        return new

    def _is_known(self, message: Message, newest: Message | None) -> bool:
        if id(message) in self._told:
            return True
        return newest is not None and message.role == newest.role and message == newest
