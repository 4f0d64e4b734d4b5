"""A rollout in a worker, for its engine: its stage, and the slots and tokens that it holds."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, suppress

import msgspec
from msgspec.structs import replace

from tui_eval import clock
from tui_eval.engine.limits.limits import Held, Limits
from tui_eval.engine.transport.worker import Worker
from tui_eval.events import Event, RolloutStaged, Stage
from tui_eval.token_kinds import Tokens
from tui_eval.worker.ports import CallGuard

A_WORKER = "a worker"
"""The wait of a rollout that no worker has."""


class RemoteRollout:
    """A rollout in a worker, for the hub: its last reported stage."""

    def __init__(self, row: int, number: int, lost: Tokens) -> None:
        self.row = row
        self.number = number
        self.is_over = False
        """Whether its worker is done with it, and its row waits to be written."""
        self.worker = 0
        """The process that runs it; 0 before it has reported anything."""
        lost_input, lost_output, *kinds = lost or (0, 0)
        self.reported = RolloutStaged(
            *(0, clock.now(), row, int(Stage.SETUP), 1, 0, 0, 0, 0, "", 0.0),
            *(lost_input, lost_output, (), tuple(kinds), A_WORKER, clock.now()),
        )

    def waits_for_worker(self) -> None:
        """Notes that its worker has ended, and no other one has it yet."""
        now, self.worker = clock.now(), 0
        what = {"stage": int(Stage.SETUP), "note": "", "again_at": 0.0, "waits_for": A_WORKER}
        self.reported = replace(self.reported, at=now, since=now, **what)

    @property
    def stage(self) -> Stage:
        """Its stage."""
        return Stage.HELD if self.is_over else Stage(self.reported.stage)

    def staged_event(self, at: float) -> RolloutStaged:
        """An event of its stage."""
        return replace(self.reported, at=at, worker=self.worker, stage=int(self.stage))

    def events_so_far(self) -> list[Event]:
        """None: its worker sends them once somebody subscribes."""
        return []


class Lease(msgspec.Struct, eq=False):
    """Slots and tokens that the engine holds for a rollout while a worker is at it.

    Args:
        began_at: When it began there, in seconds of the loop; time in which other code held the
            worker is added.
        is_done: Done once the worker has nothing more to do for it at present.
        is_scored: It is generated, and its worker is to score it.
        reserved: Tokens, by the number of the request for them.
        requests: Pending requests, by number.
    """

    row: int
    held: Held
    began_at: float
    is_done: asyncio.Future[None]
    worker: Worker | None = None
    is_scored: bool = False
    reserved: dict[int, int] = msgspec.field(default_factory=dict)
    requests: dict[int, asyncio.Task[None]] = msgspec.field(default_factory=dict)
    _lent: AbstractAsyncContextManager[None] | None = None
    _scoring: AbstractAsyncContextManager[None] | None = None

    async def lend(self) -> None:
        """Lends its slots."""
        self._lent = self.held.lent()
        await self._lent.__aenter__()

    async def come_back(self) -> None:
        """Waits until it has its lent slots again."""
        lent, self._lent = self._lent, None
        if lent is not None:
            await lent.__aexit__(None, None, None)

    async def stay_away(self) -> None:
        """Counts lent slots as taken again: it is over."""
        lent, self._lent = self._lent, None
        if lent is not None:
            gone = asyncio.CancelledError()
            with suppress(asyncio.CancelledError):
                await lent.__aexit__(type(gone), gone, None)

    async def begin_scoring(self, limits: Limits, count: int) -> None:
        """Waits for slots for scoring."""
        scoring = limits.scoring(self.held, count)
        await scoring.__aenter__()
        self._scoring = scoring

    async def end_scoring(self) -> None:
        """Releases the slots for scoring."""
        scoring, self._scoring = self._scoring, None
        if scoring is not None:
            await scoring.__aexit__(None, None, None)

    async def reserve(self, guard: CallGuard, number: int, tokens: int) -> None:
        """Waits until a call fits into the budgets, and reserves its tokens."""
        if not guard.takes(tokens):
            await guard.wait(tokens, self, self.held.release)
        self.reserved[number] = tokens

    def call_over(self, guard: CallGuard | None, tokens: int) -> None:
        """Releases the tokens of a call that is over."""
        numbers = (number for number, one in self.reserved.items() if one == tokens)
        if guard is not None and (number := next(numbers, None)) is not None:
            guard.give_back(self.reserved.pop(number))

    def withdraw(self, guard: CallGuard | None, number: int) -> None:
        """Withdraws the request of a number."""
        if (task := self.requests.pop(number, None)) is not None:
            task.cancel()
        elif guard is not None and number in self.reserved:  # it was granted meanwhile
            guard.give_back(self.reserved.pop(number))

    @property
    def has_more_slots(self) -> bool:
        """Whether it has lent slots, or has some for scoring: see `return_slots`."""
        return self._lent is not None or self._scoring is not None

    async def return_slots(self) -> None:
        """Returns those."""
        await self.end_scoring()
        await self.stay_away()

    def give_up_requests(self, guard: CallGuard | None) -> None:
        """Ends its requests and reservations: its worker is gone, or is done with it."""
        for task in [*self.requests.values()]:
            task.cancel()
        self.requests.clear()
        reserved, self.reserved = self.reserved, {}
        for tokens in reserved.values():
            if guard is not None:
                guard.give_back(tokens)
