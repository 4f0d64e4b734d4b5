"""The ports of rollouts in a worker: reports go to the engine, which grants slots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from time import monotonic
from typing import Any

from tui_eval import clock
from tui_eval.events import MessagesAdded, RolloutStaged, TextAdded, ToolFinished
from tui_eval.runs.redaction import Redactor
from tui_eval.worker.ports import BATCH_S, ActiveRollout, until_next_stages
from tui_eval.worker.to_engine import (
    Answered,
    ColumnsFound,
    Forget,
    IgnoresEnd,
    KeepAnswer,
    KeepGenerated,
    Messages,
    Refused,
    Release,
    Request,
    Row,
    Staged,
    Withdraw,
)
from tui_eval.worker.vital_signs import VitalSigns
from tui_eval.worker.work import ColumnsSeen


class EnginePort:
    """Sends messages to the engine, and takes its grants."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self.send = send
        self._numbers = count(1)
        self._loop = asyncio.get_running_loop()
        self._pending: dict[int, asyncio.Future[None]] = {}
        self.answered: list[tuple[int, float, float]] = []
        """Answered requests, sent with the next stages: see `to_engine.Answered`."""

    def request(self, row: int, what: str, amount: int = 0) -> asyncio.Future[None]:
        """Sends a `to_engine.Request`; the future is done once it is granted."""
        number, granted = self.new_answer()
        granted.add_done_callback(
            lambda done: self._withdraw(number, row) if done.cancelled() else None
        )
        self.send(Request(number, row, what, amount))
        return granted

    def send_answered(self) -> None:
        """Sends the answered requests."""
        answered, self.answered = self.answered, []
        if answered:
            self.send(Answered(answered))

    def new_answer(self) -> tuple[int, asyncio.Future[None]]:
        """A number for a message, and the future that is done once it is answered."""
        number, future = next(self._numbers), self._loop.create_future()
        self._pending[number] = future
        return number, future

    def _withdraw(self, number: int, row: int) -> None:
        """Withdraws a request whose caller is cancelled."""
        if self._pending.pop(number, None) is not None:
            self.send(Withdraw(number, row))

    def granted(self, number: int) -> None:
        """Handles the grant of a request."""
        future = self._pending.pop(number, None)
        if future is not None and not future.done():  # or its caller was cancelled meanwhile
            future.set_result(None)


class EngineHub:
    """Sends stages, and messages of rollouts with subscribers.

    Messages go out every 30 ms, and so do the stages of up to 30 rollouts. Those of more go out
    less often: engine and screen take in each of them.

    The rollout whose code is called next is noted where the engine finds it if the worker dies.
    """

    def __init__(self, engine: EnginePort, signs: VitalSigns) -> None:
        self.active: dict[int, ActiveRollout] = {}
        self._engine = engine
        self._signs = signs
        self.before_foreign_code = self.code_runs = signs.code_runs
        self._subscribed: frozenset[int] = frozenset()
        self._changed: dict[int, ActiveRollout] = {}
        self._own: list[MessagesAdded | ToolFinished | TextAdded] = []
        self._stages_every_s = BATCH_S
        self._timer: asyncio.TimerHandle | None = None
        """The timer of stages."""
        self._own_timer: asyncio.TimerHandle | None = None

    def mark_changed(self, rollout: ActiveRollout) -> None:
        self._changed[rollout.row] = rollout
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._stages_every_s, self.flush)

    def call_runs(self, rollout: ActiveRollout, error_class: str, what: str) -> None:
        """Notes the rollout whose call runs, on the loop or in a thread."""
        self._signs.runs(rollout.row, error_class, what)

    def call_waits(self) -> None:
        """Notes that no call runs here."""
        self._signs.waits()

    def call_ignores_end(self, rollout: ActiveRollout, error_class: str, what: str) -> None:
        """Has the engine end this process: nothing else ends the call."""
        self._engine.send(IgnoresEnd(rollout.row, error_class, what))

    def is_subscribed(self, row: int) -> bool:
        return row in self._subscribed

    def publish_to_watchers(self, event: MessagesAdded | ToolFinished | TextAdded) -> None:
        self._own.append(event)
        if self._own_timer is None:
            self._own_timer = asyncio.get_running_loop().call_later(BATCH_S, self._flush_own)

    def subscribe(self, rows: Sequence[int]) -> None:
        """Watches these rollouts from now on, and sends their messages so far."""
        self._subscribed = frozenset(rows)
        for row in rows:
            if row in self.active:
                events: list[Any] = self.active[row].events_so_far()
                self._own += events
        self.flush()

    def finished(self, row: int) -> None:
        """Sends a rollout's messages before its row follows."""
        self.active.pop(row, None)
        self._changed.pop(row, None)
        if self._own:
            self._flush_own()

    def flush(self) -> None:
        """Sends pending stages and messages."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        changed, self._changed = self._changed, {}
        self._stages_every_s = until_next_stages(len(changed))
        if changed:
            self._engine.send_answered()
            now = clock.now()
            staged: list[RolloutStaged] = [one.staged_event(now) for one in changed.values()]
            self._engine.send(Staged(staged))
        self._flush_own()

    def flush_stage(self, row: int) -> None:
        """Sends the stage of one rollout."""
        rollout = self._changed.pop(row, None)
        if rollout is not None:
            self._engine.send(Staged([rollout.staged_event(clock.now())]))

    def _flush_own(self) -> None:
        if self._own_timer is not None:
            self._own_timer.cancel()
            self._own_timer = None
        own, self._own = self._own, []
        if own:
            self._engine.send(Messages(own))


class EngineHeld:
    """The slots of one rollout, which the engine holds for it.

    Args:
        slots: Whether it has any.
        endpoint: Of the endpoint that serves it; None while it is not generated.
    """

    def __init__(
        self, engine: EnginePort, row: int, slots: bool, endpoint: int | None = None
    ) -> None:
        self.slots = slots
        self.endpoint = endpoint
        self._engine = engine
        self._row = row
        self._is_lent = False

    def answered(self, requested_at: float) -> None:
        if self.endpoint is not None:
            self._engine.answered.append((self.endpoint, requested_at, monotonic()))

    def refuse(self, requested_at: float, seconds: float, *, is_paced: bool = False) -> None:
        self._engine.send_answered()
        self._engine.send(Refused(self._row, requested_at, seconds, is_paced))

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Lends the slots during the block; further sleepers have none to lend."""
        if self._is_lent:
            yield
            return
        self._is_lent = True
        self._engine.send(Release(self._row, "lent"))
        try:
            yield
            await self._engine.request(self._row, "slots")
        except BaseException:
            self._engine.send(Release(self._row, "unlent"))
            raise
        finally:
            self._is_lent = False

    def release(self) -> None:
        self.slots = False
        self._engine.send(Release(self._row, "all"))


class EngineLimits:
    """Requests slots of the engine for scoring."""

    def __init__(self, engine: EnginePort, limits_scoring: bool) -> None:
        self._engine = engine
        self._limits_scoring = limits_scoring

    def nothing_held(self, row: int) -> EngineHeld:
        return EngineHeld(self._engine, row, False)

    async def begin_scoring(self, held: EngineHeld) -> None:
        await self._engine.request(held._row, "in_flight")
        held.slots = True

    def generated(self, held: EngineHeld) -> None:
        held.endpoint = None
        self._engine.send(Release(held._row, "generated"))

    def scoring(self, held: EngineHeld, amount: int) -> AbstractAsyncContextManager[None] | None:
        return self._scoring(held, amount) if self._limits_scoring else None

    @asynccontextmanager
    async def _scoring(self, held: EngineHeld, amount: int) -> AsyncIterator[None]:
        try:
            await self._engine.request(held._row, "scoring", amount)
            yield
        finally:
            self._engine.send(Release(held._row, "scored"))


class EngineRows:
    """Sends the lines of finished rollouts, without secrets."""

    def __init__(
        self, engine: EnginePort, hub: EngineHub, redact: Redactor, columns: ColumnsSeen
    ) -> None:
        self._engine = engine
        self._hub = hub
        self._redact = redact
        self._columns = columns
        self._sent = columns.unseen, False

    def write(self, row: int, number: int, line: bytes) -> bytes:
        line = self._redact.line(line)
        self._hub.finished(row)
        found = self._columns.unseen, bool(self._columns.keys)
        if found != self._sent:
            self._sent = found
            self._engine.send(ColumnsFound(self._columns.unseen, sorted(self._columns.keys)))
        self._engine.send(Row(row, number, line))
        return line


class EngineJournal:
    """Has the engine keep rollouts in flight; it redacts secrets as it writes."""

    def __init__(self, engine: EnginePort) -> None:
        self._engine = engine

    def add(self, row: int, line: bytes) -> None:
        self._engine.send(KeepGenerated(row, line))

    def add_answer(self, row: int, line: bytes) -> Awaitable[None]:
        number, written = self._engine.new_answer()
        self._engine.send(KeepAnswer(number, row, line))
        return written

    def forget(self, row: int) -> None:
        self._engine.send(Forget(row))


class EngineGuard:
    """Has the engine let the model calls of one rollout through as they fit into its budgets."""

    def __init__(
        self,
        engine: EnginePort,
        hub: EngineHub,
        row: int,
        longest: Callable[[Mapping[str, Any]], int],
    ) -> None:
        self._engine = engine
        self._hub = hub
        self._row = row
        self.longest = longest

    def takes(self, tokens: int) -> bool:
        """Always false: whether a call fits at once is not known here."""
        return False

    async def wait(self, tokens: int, owner: object, park: Callable[[], None]) -> None:
        self._hub.flush_stage(self._row)  # what it used so far counts
        passed = self._engine.request(self._row, "budget", tokens)
        try:
            await passed
        except asyncio.CancelledError:
            if passed.done() and not passed.cancelled():  # both came in one turn of the loop
                self.give_back(tokens)
            raise

    def give_back(self, tokens: int) -> None:
        self._hub.flush_stage(self._row)
        self._engine.send(Release(self._row, "budget", tokens))
