"""A rollout that a worker runs, as its engine has it: where it is, and what it holds."""

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


class RemoteRollout:
    """A rollout in a worker, for the hub: its last stage as it was reported."""

    def __init__(self, row: int, number: int, lost: Tokens) -> None:
        self.row = row
        self.number = number
        self.is_over = False
        """Whether its worker is done with it: its row waits to be written."""
        self.worker = 0
        """The process that runs it; 0 before it has reported anything."""
        lost_input, lost_output, *kinds = lost or (0, 0)
        self.reported = RolloutStaged(
            *(0, clock.now(), row, int(Stage.SETUP), 1, 0, 0, 0, 0, "", 0.0),
            *(lost_input, lost_output, (), tuple(kinds), "a worker", clock.now()),
        )

    @property
    def stage(self) -> Stage:
        """Where it is."""
        return Stage.HELD if self.is_over else Stage(self.reported.stage)

    def staged_event(self, at: float) -> RolloutStaged:
        """Where the rollout is now."""
        return replace(self.reported, at=at, worker=self.worker, stage=int(self.stage))

    def events_so_far(self) -> list[Event]:
        """Nothing: its worker sends them once it hears that somebody watches."""
        return []


class Lease(msgspec.Struct, eq=False):
    """What the engine holds for a rollout while a worker is at it.

    Args:
        began_at: When it began there, in seconds of the loop; later by what others held its worker.
        is_done: Done once the worker has nothing more to do for it at present.
        is_scored: It is generated, and was given to its worker to be scored.
        reserved: Tokens, by the number of the request for them.
        requests: What waits to be granted, by number.
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
        """Gives its slots back for a while."""
        self._lent = self.held.lent()
        await self._lent.__aenter__()

    async def come_back(self) -> None:
        """Waits until it has them again."""
        lent, self._lent = self._lent, None
        if lent is not None:
            await lent.__aexit__(None, None, None)

    async def stay_away(self) -> None:
        """Counts slots that were lent as taken again: it is over."""
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
        """Gives those back."""
        scoring, self._scoring = self._scoring, None
        if scoring is not None:
            await scoring.__aexit__(None, None, None)

    async def reserve(self, guard: CallGuard, number: int, tokens: int) -> None:
        """Waits until a call fits into the budgets."""
        if not guard.takes(tokens):
            await guard.wait(tokens, self, self.held.release)
        self.reserved[number] = tokens

    def call_over(self, guard: CallGuard | None, tokens: int) -> None:
        """Gives back what a call that is over had reserved."""
        numbers = (number for number, one in self.reserved.items() if one == tokens)
        if guard is not None and (number := next(numbers, None)) is not None:
            guard.give_back(self.reserved.pop(number))

    def withdraw(self, guard: CallGuard | None, number: int) -> None:
        """Nobody needs what was requested under a number."""
        if (task := self.requests.pop(number, None)) is not None:
            task.cancel()
        elif guard is not None and number in self.reserved:  # it was granted meanwhile
            guard.give_back(self.reserved.pop(number))

    @property
    def has_more_slots(self) -> bool:
        """Whether it has lent some, or has others to be scored: see `return_slots`."""
        return self._lent is not None or self._scoring is not None

    async def return_slots(self) -> None:
        """Gives those back, too."""
        await self.end_scoring()
        await self.stay_away()

    def give_up_requests(self, guard: CallGuard | None) -> None:
        """Its worker is gone, or is done with it: what it asked for and reserved is given up."""
        for task in [*self.requests.values()]:
            task.cancel()
        self.requests.clear()
        reserved, self.reserved = self.reserved, {}
        for tokens in reserved.values():
            if guard is not None:
                guard.give_back(tokens)
