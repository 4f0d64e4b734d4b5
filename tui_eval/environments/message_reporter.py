"""Reports each message of a conversation to its observer once, in order."""

from __future__ import annotations

from collections.abc import Sequence

from tui_eval.messages import Message, Messages
from tui_eval.state import State


class MessageReporter:
    """Knows which messages of one rollout its observer has received."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._reported: set[int] = set()
        # A message is known by its identity, so none that was reported may be freed.
        self._kept: Messages = []

    def report(self, messages: Sequence[Message]) -> None:
        """Reports these messages."""
        if messages:
            self._reported.update(map(id, messages))
            self._kept.extend(messages)
            self._state.observer.messages_added(messages)

    def report_new(self, messages: Sequence[Message]) -> Messages:
        """Reports the messages that stand after the last one reported, and returns them.

        A conversation may come back rewritten: shortened, or as new objects that say the same.
        """
        newest = self._kept[-1] if self._kept else None
        start = len(messages)
        while start > 0 and not self._is_known(messages[start - 1], newest):
            start -= 1
        new = list(messages[start:])
        self.report(new)
        return new

    def _is_known(self, message: Message, newest: Message | None) -> bool:
        if id(message) in self._reported:
            return True
        return newest is not None and message.role == newest.role and message == newest
