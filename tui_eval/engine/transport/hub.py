"""The hub gathers, numbers, folds and publishes the engine's events.

Batches of 30 ms keep the cost of an event independent of how many listeners there are: each batch
is encoded once. The engine folds the events that it sends, so that its own numbers and those of
every screen are the same. It never waits for a listener: one that is slow gets less, and an event
that has it read the rest from disk.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from tui_eval import clock
from tui_eval.engine.transport.listener import Listener
from tui_eval.event_frames import encode_events, frame
from tui_eval.events import (
    PROTOCOL,
    CommandAnswered,
    Event,
    GateMoved,
    Hello,
    MessagesAdded,
    Noticed,
    RolloutFinished,
    RolloutStaged,
    Stage,
    TextAdded,
    ToolFinished,
)
from tui_eval.fold.run_state import RunState
from tui_eval.runs.redaction import Redactor
from tui_eval.worker.ports import BATCH_S, ActiveRollout, until_next_stages

HELD_S = 0.2
"""Seconds that a batch is late by where people's code holds the loop."""
REMEMBERED_S = 60.0
"""Seconds that the hub is on its guard after such a hold."""
EARLY_AT_MOST = 8
"""Batches that may go out early in a row; more only as often as batches are due."""


class Hub:
    """Batches events and publishes them about thirty times a second.

    A stage that changes several times within a batch is published once, as it is at the end; those
    of very many rollouts go out less often than other events. The engine's own numbers come from
    the same fold over the same events.

    `before_publishing` is called before a batch goes out, and writes lines that its listeners may
    read then. `on_event` is called with every event for everyone at once. `on_subscribed` gets all
    rows with subscribers, whenever these change. `extra_events` makes further events for a late
    listener.
    """

    def __init__(self) -> None:
        self.state = RunState(keeps_texts=False)
        self.on_event: Callable[[Event], None] | None = None
        self.before_publishing: Callable[[], None] = lambda: None
        self.on_subscribed: Callable[[Iterable[int]], None] = lambda rows: None
        self.extra_events: Callable[[], Iterable[Event]] = tuple
        self.redact = Redactor()
        self.path = ""
        self.pid = 0
        self.gate_open = True
        self.active: dict[int, ActiveRollout] = {}
        self.listeners: set[Listener] = set()
        self.somebody_listens = asyncio.Event()
        self._subscribed: Counter[int] = Counter()
        self._seq = 0
        self._pending: list[Event] = []
        self._changed: dict[int, ActiveRollout] = {}
        self._stages_at = 0.0
        """Time of the next publishing of changed stages, in seconds of `time.monotonic`."""
        self._published_in_flight = 0
        self._timer: asyncio.TimerHandle | None = None
        self._changed_at = 0.0
        self._on_guard_until = 0.0
        self._early_from = 0.0

    def publish(self, event: Event) -> None:
        """Takes in one event for everyone."""
        self._pending.append(event)
        self._schedule()
        if self.on_event is not None:
            self.on_event(event)

    def notice(self, level: str, text: str) -> None:
        """Publishes a notice for people."""
        self.publish(Noticed(0, clock.now(), level, text))

    def answer(self, text: str, done: bool = True) -> None:
        """Publishes the result of a command."""
        self.publish(CommandAnswered(0, clock.now(), text, done))

    def mark_changed(self, rollout: ActiveRollout) -> None:
        """Notes that a rollout's stage or counts changed."""
        self._changed[rollout.row] = rollout
        self._schedule()

    def before_foreign_code(self, row: int, stage: Stage) -> None:
        """Publishes pending events before their batch is due: people's code may hold the loop.

        If there are few, all but stages; where code has held the loop lately, those as well.
        """
        if self._changed_at < self._on_guard_until:
            self.flush()
        elif self._pending and self._changed_at >= self._early_from and self.listeners:
            earliest = self._changed_at - (EARLY_AT_MOST - 1) * BATCH_S
            self._early_from = max(self._early_from, earliest) + BATCH_S
            self.flush()
            self._schedule()  # a hold is seen by the batch that is late

    def code_runs(self, row: int, stage: Stage) -> None:
        """Does nothing: in the engine's own process nobody watches whose code runs."""

    def call_runs(self, rollout: ActiveRollout, error_class: str, what: str) -> None:
        """Does nothing: nobody could end a call that holds this process."""

    def call_waits(self) -> None:
        """Does nothing, likewise."""

    def call_ignores_end(self, rollout: ActiveRollout, error_class: str, what: str) -> None:
        """Does nothing: a call cannot be ended in this process."""

    def finished(self, event: RolloutFinished) -> None:
        """Publishes that a rollout's row is on disk."""
        self.active.pop(event.row, None)
        self._changed.pop(event.row, None)
        self.publish(event)

    def is_subscribed(self, row: int) -> bool:
        """Whether a listener has subscribed to this rollout."""
        return row in self._subscribed

    def publish_to_watchers(self, event: MessagesAdded | ToolFinished | TextAdded) -> None:
        """Takes in one event for the subscribers of its rollout."""
        for listener in self.listeners:
            if event.row in listener.rows:
                listener.add_own(event)
        self._schedule()

    def subscribe(self, listener: Listener, rows: list[int]) -> None:
        """Subscribes a listener to rollouts; it gets their messages so far at once."""
        self._subscribed.subtract(listener.rows)
        listener.rows = set(rows)
        self._subscribed.update(listener.rows)
        self._subscribed += Counter()
        self._replay_to(listener)
        self._schedule()

    def _replay_to(self, listener: Listener) -> None:
        active = [self.active[row] for row in listener.rows if row in self.active]
        listener.own = [event for rollout in active for event in rollout.events_so_far()]
        listener.missed_own = False
        self.on_subscribed(self._subscribed)

    def join(self, listener: Listener) -> None:
        """Adds a listener: it gets the events that are not on disk, then all that follow."""
        self.flush()
        now = clock.now()
        events: list[Event] = [Hello(self._seq, PROTOCOL, self.path, self.pid)]
        events += self.extra_events()
        if self.state.run is not None:
            reported = {"lost": self.state.usage.lost, "limits": list(self.state.limits)}
            events.append(replace(self.state.run, **reported))
            events.append(GateMoved(0, now, self.gate_open, self._in_flight()))
            if self.state.refusal is not None:
                events.append(self.state.refusal)
            events += self.state.concurrency.values()
            events += self.state.out.values()
            for row, rollout in self.active.items():  # a first event is taken for the beginning
                events.append(rollout.staged_event(now - self.state.passed_s(row, now)))
                if self.state.is_held(row):
                    events.append(rollout.staged_event(now))
        if self.state.end is not None:
            events.append(self.state.end)
        self.listeners.add(listener)
        self.somebody_listens.set()
        listener.write(frame(self.redact(encode_events(events))))

    def leave(self, listener: Listener) -> None:
        """Removes a listener."""
        self.subscribe(listener, [])
        self.listeners.discard(listener)

    def _in_flight(self) -> int:
        return self.state.by_stage[Stage.MODEL] if self.state.run is not None else 0

    def _schedule(self) -> None:
        now = time.monotonic()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_S, self._flush_due)
        elif now - self._changed_at > BATCH_S + HELD_S:
            self._on_guard_until = now + REMEMBERED_S
        self._changed_at = now

    def flush(self) -> None:
        """Publishes all pending events."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = clock.now()
        staged = [one.staged_event(now) for one in self._changed.values()]
        if staged:
            self._stages_at = time.monotonic() + until_next_stages(len(staged))
        self._changed.clear()
        self._publish(now, staged)

    def _flush_due(self) -> None:
        """Publishes pending events, and stages where it is time for them."""
        if not self._changed or time.monotonic() >= self._stages_at - BATCH_S / 2:
            self.flush()
            return
        self._timer = None
        self._publish(clock.now(), [])
        self._schedule()

    def _publish(self, now: float, staged: Sequence[RolloutStaged]) -> None:
        pending, self._pending = self._pending, []
        for event in (*pending, *staged):
            self._seq += 1
            event.seq = self._seq
            self.state.apply(event)
        if not self.gate_open and self._in_flight() != self._published_in_flight:
            pending.append(self._gate_moved(now))
        self.before_publishing()
        reported = [*pending, *staged] if self.listeners else []
        shared = frame(self.redact(encode_events(reported))) if reported else b""
        for listener in self.listeners:
            if listener.missed_own and not listener.is_full:
                self._replay_to(listener)
            listener.offer(shared, pending, staged, self.redact)

    def move_gate(self, is_open: bool) -> None:
        """Publishes that the gate opened or closed."""
        self.flush()
        self.gate_open = is_open
        self.publish(self._gate_moved(clock.now()))

    def _gate_moved(self, now: float) -> GateMoved:
        self._published_in_flight = self._in_flight()
        return GateMoved(self._seq, now, self.gate_open, self._published_in_flight)
