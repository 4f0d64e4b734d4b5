"""One connection of a listener: a bounded buffer that the engine never waits for.

A terminal over ssh may stop reading for minutes. Events that it misses are not queued: finished
rows are on disk, so that one event (`ReadAgain`) stands for any number of them, and only the last
stage of each rollout is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from tui_eval.event_frames import encode_events, frame
from tui_eval.events import (
    Event,
    ReadAgain,
    RolloutFinished,
    RolloutStaged,
    RowsTakenBack,
    TextAdded,
)
from tui_eval.runs.redaction import Redactor

FULL_BYTES = 2 << 20
"""Unsent bytes from which on a listener gets no more until it has read."""


class Listener:
    """A listener's subscriptions and pending events.

    `missed_own` says that messages of its subscriptions were left out.
    """

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self.rows: set[int] = set()
        self.own: list[Event] = []
        self.missed_own = False
        self.detached = False
        self._transport = transport
        self._late: list[Event] = []
        self._late_staged: dict[int, RolloutStaged] = {}
        self._missed_rows = False

    def write(self, data: bytes) -> None:
        """Sends bytes; ignores that a connection is gone."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Ends the connection once everything is sent."""
        self._transport.close()

    def add_own(self, event: Event) -> None:
        """Takes in one event of a subscription; joins text of one message.

        Where the listener does not read, text is left out: its message comes whole later.
        """
        if isinstance(event, TextAdded):
            if self.is_full:
                return
            last = self.own[-1] if self.own else None
            if isinstance(last, TextAdded) and _continues(last, event):
                text = last.text + event.text
                event = msgspec.structs.replace(event, text=text, first=last.first)
                self.own.pop()
        self.own.append(event)

    def offer(
        self,
        shared: bytes,
        pending: Sequence[Event],
        staged: Sequence[RolloutStaged],
        redact: Redactor,
    ) -> None:
        """Sends a batch, or keeps the least of it that the listener needs later."""
        if self.is_full:
            self._remember(pending, staged)
            self.missed_own = self.missed_own or bool(self.own)
            self.own = []
            return
        if self._late or self._late_staged or self._missed_rows:
            self._remember(pending, staged)
            events = [*self._late, *self._late_staged.values()]
            if self._missed_rows and not any(isinstance(one, RowsTakenBack) for one in events):
                events.insert(0, ReadAgain(0))
            self._late, self._late_staged, self._missed_rows = [], {}, False
            shared = frame(redact(encode_events(events)))
        if self.own:
            shared += frame(redact(encode_events(self.own)))
            self.own = []
        if shared:
            self.write(shared)

    def _remember(self, pending: Sequence[Event], staged: Sequence[RolloutStaged]) -> None:
        for event in pending:
            if isinstance(event, RolloutFinished):
                self._missed_rows = True
                self._late_staged.pop(event.row, None)
            else:
                self._late.append(event)
        self._late_staged.update((event.row, event) for event in staged)

    @property
    def is_full(self) -> bool:
        """Whether its buffer is full: it gets nothing more before it has read."""
        return self._transport.get_write_buffer_size() > FULL_BYTES

    @property
    def unsent(self) -> int:
        """Bytes that the listener has not read yet."""
        return 0 if self._transport.is_closing() else self._transport.get_write_buffer_size()

    @property
    def has_all(self) -> bool:
        """Whether nothing waits for the listener, neither as bytes nor remembered."""
        if self._transport.is_closing():
            return True
        return not (self.unsent or self._late or self._late_staged or self._missed_rows)


def _continues(last: TextAdded, event: TextAdded) -> bool:
    same = (last.row, last.call, last.kind) == (event.row, event.call, event.kind)
    return same and last.first + len(last.text) == event.first
