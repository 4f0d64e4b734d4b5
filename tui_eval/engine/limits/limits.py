"""The limits of a run: rollouts in flight, generated, scored, and at each endpoint.

An endpoint's limit gives way while the endpoint refuses requests.

Slots are always taken in the same order (endpoint, generation, in flight, scoring), also after a
sleep, so that no two rollouts wait for each other. Where evaluations share slots, each takes its
own before the shared ones: nobody keeps a shared slot while waiting for one of its own. A rollout
that begins waits for those that sleep only at its endpoint.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import msgspec

from tui_eval import clock
from tui_eval.config.plan import RunPlan
from tui_eval.engine.limits.adaptive import Concurrency
from tui_eval.engine.limits.slots import Share, Slots, lent
from tui_eval.errors import Notice, warning
from tui_eval.events import ConcurrencyMoved
from tui_eval.open_files import file_limit, room_for_rollouts

PUBLISHED_EVERY_S = 0.25


class Phases(NamedTuple):
    """Limits as a user sets them, each 0 for none: one for all, and those that replace it.

    Args:
        each: Bounds every phase that has no limit of its own; without any it bounds rollouts in
            flight, those that are generated and those that are scored together.
    """

    each: int
    generation: int = 0
    scoring: int = 0

    @classmethod
    def of(cls, plan: RunPlan, total: int) -> Phases:
        """Limits of a run of so many rollouts: its plan's, as far as open files allow them."""
        own = map(within_open_files, (plan.max_concurrent_generation, plan.max_concurrent_scoring))
        return cls(within_open_files(plan.max_concurrent, total), *own)

    def bounds(self) -> tuple[int, int, int]:
        """Limits of rollouts in flight, generated and scored at once; 0 for none."""
        if self.generation <= 0 and self.scoring <= 0:
            return self.each, 0, 0
        return 0, self._of(self.generation), self._of(self.scoring)

    def _of(self, own: int) -> int:
        return own if own > 0 else self.each


def within_open_files(max_concurrent: int, total: int = 0) -> int:
    """`max_concurrent`, lowered where there are not enough open files for so many.

    Args:
        max_concurrent: 0 or less for no limit.
        total: Rollouts of the whole run; no more than these can be in flight. 0 if not known.
    """
    max_concurrent, room = max(max_concurrent, 0), room_for_rollouts()
    wanted = min(max_concurrent, total) if max_concurrent and total else max_concurrent or total
    return room if wanted > room else max_concurrent


def open_file_notices(max_concurrent: int, total: int = 0, name: str = "-c") -> list[Notice]:
    """A notice where a limit is lowered: see `within_open_files`.

    Args:
        name: Of the limit where it was given.
    """
    room = within_open_files(max_concurrent, total)
    if room == max(max_concurrent, 0):
        return []
    is_limited = max_concurrent > 0
    requested = f"{name} {max_concurrent}" if is_limited else "no limit of rollouts in flight"
    text = (
        f"{requested}: at most {room:,} rollouts are in flight, as a process may open "
        f"{file_limit():,} files here. Raise that before the start: "
        "ulimit -Hn, or the system's own setting"
    )
    return [warning(text)]


class Held:
    """The slots that one rollout holds, in the order in which they were taken.

    While the rollout is generated, `endpoint` is the number of its endpoint and `concurrency` that
    one's limit.

    Args:
        refused: Counts the refusals of each endpoint.
    """

    def __init__(self, refused: Counter[int] | None = None) -> None:
        self.slots: list[Slots | Share] = []
        self.endpoint = 0
        self.concurrency: Concurrency | None = None
        self._refused = Counter[int]() if refused is None else refused
        self._is_lent = False

    def answered(self, requested_at: float) -> None:
        """Counts an answered request; see `Concurrency.answered`."""
        if self.concurrency is not None:
            self.concurrency.answered(requested_at, asyncio.get_running_loop().time())

    def refuse(self, requested_at: float, seconds: float, *, is_paced: bool = False) -> None:
        """Counts a refused request; see `Concurrency.refuse`."""
        if self.concurrency is not None:
            self._refused[self.endpoint] += 1
            self.concurrency.refuse(requested_at, seconds, is_paced=is_paced)

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Lends the slots during the block; further sleepers have none to lend."""
        if self._is_lent:
            yield
            return
        self._is_lent = True
        try:
            async with lent(list(self.slots)):
                yield
        finally:
            self._is_lent = False

    async def take(self, one: Slots) -> None:
        """Waits for one more slot."""
        await one.acquire()
        self.slots.append(one)

    def keep(self, kept: Sequence[Slots]) -> None:
        """Releases all slots but these."""
        for other in self.slots:
            if other not in kept:
                other.release()
        self.slots = [one for one in self.slots if one in kept]
        self.concurrency = None

    def release(self) -> None:
        """Releases all slots."""
        for one in self.slots:
            one.release()
        self.slots = []


class ScoringSlots:
    """Slots for scoring, which groups of rollouts take in turn.

    Args:
        limit: Rollouts that are scored at once; 0 or less for no limit.
    """

    def __init__(self, limit: int) -> None:
        self._slots = Slots(limit)
        self._is_limited = limit > 0
        self._turn = asyncio.Lock()

    def move(self, limit: int) -> None:
        """Moves the limit; rollouts that are being scored continue."""
        self._is_limited = self._is_limited or limit > 0
        self._slots.move(limit)

    @asynccontextmanager
    async def held(self, held: Held, count: int) -> AsyncIterator[None]:
        """Holds slots for a group during the block; one that is too large is scored alone."""
        if not self._is_limited:
            yield
            return
        share = Share(self._slots, int(min(count, self._slots.limit)), self._turn)
        await share.acquire()
        held.slots.append(share)
        try:
            yield
        finally:
            held.slots.remove(share)
            share.release()


class PhaseSlots:
    """The slots of each phase, as many as `phases` allow."""

    def __init__(self, phases: Phases) -> None:
        self.phases = phases
        in_flight, generation, scoring = phases.bounds()
        self.in_flight = Slots(in_flight, math.inf)
        self.generation = Slots(generation, math.inf)
        self.scoring = ScoringSlots(scoring)

    @property
    def ceilings(self) -> tuple[int, int]:
        """Limits on rollouts that are generated; 0 for none."""
        return self.phases.bounds()[:2]

    def move(self, each: int) -> None:
        """Moves the limit of phases that have none of their own."""
        self.phases = self.phases._replace(each=each)
        in_flight, generation, scoring = self.phases.bounds()
        self.in_flight.move(in_flight)
        self.generation.move(generation)
        self.scoring.move(scoring)


class Shared(msgspec.Struct, frozen=True):
    """The slots that an evaluation shares with others of its process.

    Args:
        endpoints: Slots of its own endpoints, in their order.
    """

    slots: PhaseSlots
    endpoints: list[Concurrency]


class Limits:
    """The limits of one run.

    Args:
        phases: Limits of rollouts in flight, generated and scored at once.
        endpoints: Limits of rollouts generated at once at each endpoint, in their order.
        shared: Further limits, shared with others; its endpoints replace `endpoints`.
        adaptive: Whether an endpoint's refusals lower its limit.
        publish: Gets the limit of each endpoint, a few times a second while it moves.
    """

    def __init__(
        self,
        phases: Phases,
        endpoints: Sequence[int],
        shared: Shared | None = None,
        *,
        adaptive: bool = False,
        publish: Callable[[ConcurrencyMoved], None] = lambda event: None,
    ) -> None:
        self._own = own = PhaseSlots(phases)
        every = [own] if shared is None else [own, shared.slots]
        self._in_flight = [one.in_flight for one in every]
        self._scoring = [one.scoring for one in every]
        before_endpoint, last = every[:-1], every[-1]
        self._before = [
            slots for one in before_endpoint for slots in (one.generation, one.in_flight)
        ]
        self._after = [last.generation, last.in_flight]
        self._owns_endpoints = shared is None
        if shared is None:
            self._endpoints = [Concurrency(n, own.ceilings, adapts=adaptive) for n in endpoints]
        else:
            self._endpoints = shared.endpoints
        self._refused = Counter[int]()
        self._publish = publish
        self._publishing: asyncio.TimerHandle | None = None
        for one in self._endpoints:
            one.on_move.add(self._publish_soon)

    @classmethod
    def of(
        cls,
        plan: RunPlan,
        total: int,
        replicas: int,
        publish: Callable[[ConcurrencyMoved], None],
        shared: Shared | None = None,
    ) -> Limits:
        """The limits of a run of so many rollouts that so many replicas serve: see `Phases.of`."""
        each = [one.max_concurrent for one in plan.endpoints]
        each = each if len(each) == replicas else [0] * replicas
        phases = Phases.of(plan, total)
        return cls(phases, each, shared, adaptive=plan.adaptive, publish=publish)

    @property
    def is_shared(self) -> bool:
        """Whether some of the slots are those of other runs, too."""
        return not self._owns_endpoints

    def nothing_held(self, row: int) -> Held:
        """The slots of a rollout that holds none."""
        return Held()

    async def begin(self, endpoints: Sequence[int]) -> tuple[Held, int]:
        """Waits until a rollout may begin.

        Args:
            endpoints: The endpoints that may serve it, the preferred one first.

        Returns:
            Its slots, and the endpoint that serves it.
        """
        held = Held(self._refused)
        try:
            for one in self._before:
                await held.take(one)
            held.endpoint = endpoint = await self._endpoint(endpoints)
            held.concurrency = self._endpoints[endpoint]
            held.slots.append(held.concurrency.slots)
            for one in self._after:
                await held.take(one)
        except BaseException:
            held.release()
            raise
        return held, endpoint

    async def begin_scoring(self, held: Held | None = None) -> Held:
        """Waits until a rollout that was generated earlier is in flight again.

        Args:
            held: Gets the slots; a new one by default.
        """
        held = Held() if held is None else held
        try:
            for one in self._in_flight:
                await held.take(one)
        except BaseException:
            held.release()
            raise
        return held

    def answered(self, endpoint: int, requested_at: float, answered_at: float) -> None:
        """Counts an endpoint's answered request; see `Concurrency.answered`."""
        self._endpoints[endpoint].answered(requested_at, answered_at)

    def move(self, each: int) -> None:
        """Moves the limit of phases that have none of their own.

        Rollouts in flight stay there. Shared endpoints stay as they are: their owner moves them.

        Args:
            each: 0 or less for no limit.
        """
        self._own.move(each)
        if self._owns_endpoints:
            for one in self._endpoints:
                one.move_ceilings(self._own.ceilings)

    def generated(self, held: Held) -> None:
        """Releases the slots for generation; the rollout stays in flight."""
        held.keep(self._in_flight)

    @asynccontextmanager
    async def scoring(self, held: Held, count: int) -> AsyncIterator[None]:
        """Holds slots during the scoring of `count` rollouts, by one that is in flight."""
        async with AsyncExitStack() as stack:
            for one in self._scoring:
                await stack.enter_async_context(one.held(held, count))
            yield

    def publish_now(self) -> None:
        """Publishes limits that have moved since the last time."""
        if self._publishing is None:
            return
        self._publishing.cancel()
        self._publishing = None
        for endpoint, one in enumerate(self._endpoints):
            limit, most = (int(n) if n < math.inf else 0 for n in (one.limit, one.max_concurrent))
            refused = self._refused[endpoint]
            self._publish(ConcurrencyMoved(0, clock.now(), endpoint, limit, most, refused))

    def publish_last(self) -> None:
        """Publishes them for the last time."""
        self.publish_now()
        for one in self._endpoints:
            one.on_move.discard(self._publish_soon)

    def _publish_soon(self) -> None:
        if self._publishing is None:
            loop = asyncio.get_running_loop()
            self._publishing = loop.call_later(PUBLISHED_EVERY_S, self.publish_now)

    async def _endpoint(self, endpoints: Sequence[int]) -> int:
        """Takes a slot at the first of these endpoints that has one."""
        every = [one.slots for one in self._endpoints]
        endpoint = next((one for one in endpoints if every[one].has_room), endpoints[0])
        if len(endpoints) == 1 or every[endpoint].has_room:
            await every[endpoint].acquire()
            return endpoint
        waiting = {
            asyncio.create_task(every[endpoint].acquire()): endpoint for endpoint in endpoints
        }
        taken = None
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            taken = next(task for task in waiting if task.done())
        finally:
            for task, endpoint in waiting.items():
                if task is not taken and not task.cancel():
                    every[endpoint].release()
        return waiting[taken]
