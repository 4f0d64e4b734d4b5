"""An endpoint that refuses requests gets as many as it lets through, spaced, and none too early."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bench.virtual_time import run_in_virtual_time
from tui_eval.clients import pacing
from tui_eval.clients.pacing import Pace

PATIENCE = 900.0


@pytest.fixture(autouse=True)
def virtual_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pace goes by the loop's time, which jumps."""
    monkeypatch.setattr(pacing, "now", lambda: asyncio.get_running_loop().time())
    monkeypatch.setattr(random, "uniform", random.Random(7).uniform)


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Bucket:
    """Lets `burst` requests through at once, and `rate` a second; returns the wait."""

    rate: float
    burst: float
    latency: float = 0.0
    reported: Callable[[float], float] = field(default=lambda missing: missing)
    tokens: float = math.nan
    filled_at: float = 0.0
    refused_at: list[float] = field(default_factory=list)
    served_at: list[float] = field(default_factory=list)
    too_early: int = 0
    not_before: float = 0.0

    def admit(self) -> float | None:
        gained = (now() - self.filled_at) * self.rate
        self.tokens = min((self.burst if math.isnan(self.tokens) else self.tokens) + gained,
                          self.burst)  # fmt: skip
        self.filled_at = now()
        self.too_early += now() < self.not_before - 1e-6
        if self.tokens >= 1 - 1e-9:
            self.tokens -= 1
            return None
        self.refused_at.append(now())
        wait = self.reported((1 - self.tokens) / self.rate)
        self.not_before = max(self.not_before, now() + wait)
        return wait


async def ask(bucket: Bucket, pace: Pace, slots: asyncio.Semaphore) -> None:
    async with slots:
        sent_at = -math.inf
        while True:
            if pace.is_limited:
                await pace.turn()
                sent_at = now()
            wait = bucket.admit()
            if wait is None:
                await asyncio.sleep(bucket.latency)
                bucket.served_at.append(now())
                pace.let_through()
                return
            pace.refuse(sent_at, wait, "status 429")
            assert not pace.is_given_up


def work(bucket: Bucket, requests: int, max_concurrent: int) -> float:
    """Seconds that so many requests take."""

    async def main() -> float:
        pace, slots = Pace(PATIENCE), asyncio.Semaphore(max_concurrent)
        await asyncio.gather(*(ask(bucket, pace, slots) for _ in range(requests)))
        return now()

    return run_in_virtual_time(main())


@pytest.mark.parametrize("reported", [lambda s: s, math.ceil], ids=["exact", "whole seconds"])
@pytest.mark.parametrize("latency", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("max_concurrent", [4, 32, 256])
def test_a_limit_of_sixty_a_minute_is_used_up(
    max_concurrent: int, latency: float, reported: Callable[[float], float]
) -> None:
    bucket = Bucket(1, 60, latency, reported)
    assert 60 <= work(bucket, 120, max_concurrent) <= 1.1 * 60
    first_burst = min(max_concurrent, 60)
    assert len(bucket.refused_at) <= first_burst + 30
    assert bucket.too_early == 0, "nobody sends before the time that was told"


def test_a_bucket_that_fills_fast_is_used_though_the_wait_is_reported_in_whole_seconds() -> None:
    bucket = Bucket(150, 100, 0.2, math.ceil)
    assert 4500 / work(bucket, 4500, 64) >= 0.85 * 150
    assert len(bucket.refused_at) < 64 + 30


def test_the_rate_is_kept_after_a_burst() -> None:
    bucket = Bucket(5, 20, 0.05)
    work(bucket, 400, 32)
    later = [at for at in bucket.refused_at if at > 20]
    assert len(later) < 0.2 * 5 * (bucket.served_at[-1] - 20)


def test_an_endpoint_that_recovers_is_used_as_fast_as_before_within_a_minute() -> None:
    bucket = Bucket(1, 5)

    async def main() -> None:
        pace, slots = Pace(PATIENCE), asyncio.Semaphore(64)
        first = asyncio.gather(*(ask(bucket, pace, slots) for _ in range(30)))
        await first
        bucket.rate = bucket.burst = 1e6
        began = now()
        await asyncio.gather(*(ask(bucket, pace, slots) for _ in range(2000)))
        assert now() - began < 90

    run_in_virtual_time(main())


def test_the_latest_of_several_waits_holds_for_everybody() -> None:
    async def main() -> None:
        pace = Pace(PATIENCE)
        for wait in (3.0, 10.0, 1.0):
            pace.refuse(-math.inf, wait, "status 429")
        await pace.turn()
        assert now() == 10

    run_in_virtual_time(main())


def test_a_wait_that_is_put_off_meanwhile_is_waited_to_its_end() -> None:
    async def main() -> None:
        pace = Pace(PATIENCE)
        pace.refuse(-math.inf, 3.0, "status 429")
        waiting = asyncio.create_task(pace.turn())
        await asyncio.sleep(2)
        pace.refuse(-math.inf, 9.0, "status 429")
        await waiting
        assert now() == 11

    run_in_virtual_time(main())


def test_it_is_given_up_after_its_patience_and_then_nobody_waits() -> None:
    async def main() -> None:
        pace, tries = Pace(100.0), 0
        while not pace.is_given_up:
            await pace.turn()
            pace.refuse(now(), 10.0, "status 429")
            tries += 1
        assert 100 < now() < 200
        before = now()
        await pace.turn()
        assert now() == before
        pace.let_through()
        assert not pace.is_given_up, "an answer is a new beginning"

    run_in_virtual_time(main())


def test_a_pause_without_requests_is_no_refusal() -> None:
    async def main() -> None:
        pace = Pace(300.0)
        pace.refuse(-math.inf, 5.0, "status 429")
        await asyncio.sleep(3600)
        pace.refuse(now(), 5.0, "status 429")
        assert not pace.is_given_up

    run_in_virtual_time(main())


def test_two_loops_one_after_the_other_share_a_pace() -> None:
    pace = Pace(PATIENCE)

    async def main() -> None:
        pace.refuse(-math.inf, 1.0, "status 429")
        await asyncio.gather(*(pace.turn() for _ in range(3)))

    run_in_virtual_time(main())
    run_in_virtual_time(main())
