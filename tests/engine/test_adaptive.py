"""An endpoint that refuses requests gets fewer at a time, and as many as it can serve."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from tiers import first_always

from bench.virtual_time import run_in_virtual_time
from tui_eval.engine.limits.limits import Held, Limits, Phases
from tui_eval.events import ConcurrencyMoved

MOST = 64


@dataclass
class Endpoint:
    """A token bucket, and the time that an answer takes.

    `wait` is what Retry-After says, in seconds; None for the whole seconds until there is a token.
    """

    rate: float = math.inf
    burst: float = math.inf
    latency: float = 0.2
    wait: float | None = None
    answered: list[float] = field(default_factory=list)
    refused: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    tokens: float = math.inf
    filled_at: float = 0.0
    draw: random.Random = field(default_factory=lambda: random.Random(1))

    def admit(self) -> float | None:
        """None, or the seconds after which a refused request may come again."""
        now = asyncio.get_running_loop().time()
        gained = (now - self.filled_at) * self.rate if now > self.filled_at else 0.0
        self.tokens = min(self.tokens + gained, self.burst)
        self.filled_at = now
        if self.tokens >= 1:
            self.tokens -= 1
            return None
        self.refused += 1
        missing = (1 - self.tokens) / self.rate
        return self.wait if self.wait is not None else max(math.ceil(missing), 1)

    async def answer(self) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self.draw.expovariate(1 / self.latency))
        self.in_flight -= 1
        self.answered.append(asyncio.get_running_loop().time())

    def rate_between(self, start: float, end: float) -> float:
        return sum(start < at <= end for at in self.answered) / (end - start)


async def roll_out(endpoint: Endpoint, held: Held, turns: int) -> None:
    loop = asyncio.get_running_loop()
    try:
        for _ in range(turns):
            requested_at = loop.time()
            while (wait := endpoint.admit()) is not None:
                held.refuse(requested_at, wait)
                async with held.lent():
                    await asyncio.sleep(wait)
                requested_at = loop.time()
            await endpoint.answer()
            held.answered(requested_at)
    finally:
        held.release()


def work(
    endpoint: Endpoint,
    seconds: float,
    turns: int = 1,
    adaptive: bool = True,
    meanwhile: Callable[[float], None] = lambda now: None,
    moves: Mapping[int, int] | None = None,
) -> list[ConcurrencyMoved]:
    """Gives an endpoint as much work as it lets us, for so long; returns the events.

    Args:
        moves: At which second the limit of the run becomes another one.
    """
    published: list[ConcurrencyMoved] = []

    async def main() -> None:
        limits = Limits(Phases(MOST), [0], adaptive=adaptive, publish=published.append)
        tasks: set[asyncio.Task[None]] = set()

        async def begin() -> None:
            while True:
                held, _ = await limits.begin([0])
                task = asyncio.create_task(roll_out(endpoint, held, turns))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

        beginning = asyncio.create_task(begin())
        for second in range(int(seconds)):
            meanwhile(second)
            if moves and second in moves:
                limits.move(moves[second])
            await asyncio.sleep(1)
        limits.publish_last()
        for task in (beginning, *tasks):
            task.cancel()
        await asyncio.gather(beginning, *tasks, return_exceptions=True)

    run_in_virtual_time(main())
    return published


@pytest.mark.slow
@pytest.mark.parametrize(
    ("endpoint", "turns"),
    first_always(
        [
            (Endpoint(rate=150, burst=15), 1),
            (Endpoint(rate=150, burst=150), 1),
            (Endpoint(rate=150, burst=15, wait=0.1), 1),
            (Endpoint(rate=5, burst=5, latency=0.5), 1),
            (Endpoint(rate=20, burst=10, latency=0.5, wait=10), 1),
            (Endpoint(rate=8, burst=480, latency=6), 1),
            (Endpoint(rate=100, burst=20), 10),
            (Endpoint(rate=5, burst=10, latency=4), 10),
        ],
        3,
    ),
)
def test_a_bucket_of_tokens_is_used_up_as_it_fills(endpoint: Endpoint, turns: int) -> None:
    seconds = 120 + 40 * endpoint.latency + 4 * (endpoint.wait or 0)
    published = work(endpoint, seconds, turns)
    assert endpoint.rate_between(seconds / 2, seconds) > 0.85 * min(
        endpoint.rate, MOST / endpoint.latency
    )
    assert all(1 <= event.limit <= event.max_concurrent == MOST for event in published)
    assert published[-1].refused == endpoint.refused
    assert endpoint.most_in_flight <= MOST


def test_it_continues_to_give_way_below_a_limit_that_is_moved() -> None:
    endpoint = Endpoint(rate=20, burst=10, latency=0.5)
    published = work(endpoint, 120, moves={40: 4, 80: 128})
    lowered = next(at for at, one in enumerate(published) if one.max_concurrent == 4)
    raised = next(at for at, one in enumerate(published) if one.max_concurrent == 128)
    assert all(one.limit <= 4 for one in published[lowered:raised])
    assert published[raised].limit <= 4, "what gave way does not jump"
    assert 4 < published[-1].limit < 64, "it finds out again what the endpoint serves"
    assert endpoint.rate_between(50, 80) < 10 < 0.8 * 20 < endpoint.rate_between(100, 120)


def test_where_nothing_was_refused_a_moved_limit_holds_at_once() -> None:
    endpoint = Endpoint(latency=0.5)
    assert work(endpoint, 30, moves={10: 8, 20: 96}) == []
    assert endpoint.rate_between(12, 20) < 25 < 150 < endpoint.rate_between(22, 30)
    assert MOST < endpoint.most_in_flight <= 96


def test_an_endpoint_that_refuses_nothing_gets_all_that_was_requested() -> None:
    endpoint = Endpoint()
    assert work(endpoint, 10) == []
    assert endpoint.rate_between(1, 10) == pytest.approx(MOST / 0.2, rel=0.1)


def test_the_limit_comes_back_when_the_endpoint_recovers() -> None:
    endpoint = Endpoint(rate=20, burst=5)

    def recover(now: float) -> None:
        endpoint.rate = 20 if now < 30 else 1e6
        endpoint.burst = 5 if now < 30 else 1e6

    published = work(endpoint, 60, meanwhile=recover)
    assert min(event.limit for event in published) < 12
    assert published[-1].limit == MOST


def test_an_endpoint_that_refuses_everything_for_a_while_gets_requests_one_by_one() -> None:
    endpoint = Endpoint(rate=100, burst=100, wait=2)

    def fail(now: float) -> None:
        endpoint.rate = 1e-9 if 10 <= now < 40 else 100

    published = work(endpoint, 100, meanwhile=fail)
    assert min(event.limit for event in published) == 1
    assert endpoint.rate_between(70, 100) > 85


def test_a_concurrency_that_does_not_adapt_only_counts_refusals() -> None:
    endpoint = Endpoint(rate=150, burst=15)
    published = work(endpoint, 10, adaptive=False)
    assert {(event.limit, event.max_concurrent) for event in published} == {(MOST, MOST)}
    assert published[-1].refused == endpoint.refused > 0
