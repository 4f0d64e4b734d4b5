"""Slots of rollouts in flight, and the order in which they are taken."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

LEAST_ASLEEP = 2
"""Least number of sleepers at which nothing new begins: so that also a single slot is lent while
its rollout sleeps."""


@asynccontextmanager
async def lent(slots: Sequence[Slots | Share]) -> AsyncIterator[None]:
    """Lends slots during the block, and takes them again in their order.

    A rollout that waits for one of them no longer counts as asleep at the later ones: there it
    would keep away those who hold the one that it waits for.
    """
    for one in reversed(slots):
        one.lend()
    asleep, away = deque(slots), deque(slots)
    try:
        yield
        while away:
            one = away[0]
            if asleep:
                asleep.popleft().rise()
            if not one.can_come_back:
                while asleep:
                    later = asleep.popleft()
                    later.rise()
                    later.wake()
            await one.come_back()
            away.popleft()
    except BaseException:
        for one in asleep:
            one.rise()
        for one in away:
            one.keep()
        raise


class Slots:
    """A slot for each rollout in flight.

    A rollout whose request sleeps before it is tried again gives its slot back and takes one
    again afterwards, ahead of rollouts that have not begun.

    Args:
        limit: Maximum number of concurrent rollouts; 0 or less for no limit.
        most_asleep: Sleepers at which nothing new begins, so that an endpoint that refuses work is
            not flooded; `limit` if left out, and `LEAST_ASLEEP` at least.
    """

    def __init__(self, limit: int, most_asleep: float | None = None) -> None:
        self.limit: float = limit if limit > 0 else math.inf
        self.most_asleep = self.limit if most_asleep is None else most_asleep
        self.used = 0
        self.sleeping = 0
        self._returning: deque[asyncio.Future[None]] = deque()
        self._starting: deque[asyncio.Future[None]] = deque()

    @property
    def has_room(self) -> bool:
        """Whether a rollout may begin at once."""
        return self.used < self.limit and self._lets_begin and not self._returning

    @property
    def _lets_begin(self) -> bool:
        return self.sleeping < max(self.most_asleep, LEAST_ASLEEP)

    def move(self, limit: float) -> None:
        """Moves the limit, 0 for none; rollouts in flight stay there."""
        self.limit = limit if limit > 0 else math.inf
        self.wake()

    async def acquire(self) -> None:
        """Waits for a slot for a rollout that begins."""
        if self.has_room:
            self.used += 1
            return
        await self._wait(self._starting)

    def release(self) -> None:
        """Releases a slot."""
        self.used -= 1
        self.wake()

    def lend(self) -> None:
        """Lends a slot while its rollout sleeps."""
        self.sleeping += 1
        self.release()

    def rise(self) -> None:
        """Notes that a rollout woke; it takes its slot with `come_back`."""
        self.sleeping -= 1

    @property
    def can_come_back(self) -> bool:
        """Whether a rollout that slept gets its slot at once."""
        return self.used < self.limit and not self._returning

    async def come_back(self) -> None:
        """Waits for a slot for a rollout that slept, ahead of those that have not begun."""
        if self.can_come_back:
            self.used += 1
            self.wake()
        else:
            await self._wait(self._returning)

    def keep(self) -> None:
        """Counts a lent slot as taken again: its rollout fails, and releases it now."""
        self.used += 1

    async def _wait(self, queue: deque[asyncio.Future[None]]) -> None:
        waiter = asyncio.get_running_loop().create_future()
        queue.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()
            elif waiter in queue:  # otherwise `wake` came upon it before this task ran again
                queue.remove(waiter)
            raise

    def wake(self) -> None:
        """Gives free slots to those that wait."""
        while self.used < self.limit:
            if self._returning:
                waiter = self._returning.popleft()
            elif self._starting and self._lets_begin:
                waiter = self._starting.popleft()
            else:
                return
            if not waiter.done():
                self.used += 1
                waiter.set_result(None)


class Share:
    """Several slots of the same kind, taken together, with no other taker in between."""

    can_come_back = False

    def __init__(self, slots: Slots, count: int, turn: asyncio.Lock) -> None:
        self._slots = slots
        self._count = count
        self._turn = turn

    async def acquire(self) -> None:
        """Waits until all are taken."""
        async with self._turn:
            for taken in range(self._count):
                try:
                    await self._slots.acquire()
                except BaseException:
                    for _ in range(taken):
                        self._slots.release()
                    raise

    come_back = acquire

    def release(self) -> None:
        """Releases them."""
        for _ in range(self._count):
            self._slots.release()

    lend = release

    def rise(self) -> None:
        """Does nothing: a share that sleeps keeps nobody away."""

    wake = rise

    def keep(self) -> None:
        """See `Slots.keep`."""
        self._slots.used += self._count
