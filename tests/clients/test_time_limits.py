"""Time limits of requests, which one timer looks at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tui_eval.clients import time_limits
from tui_eval.clients.time_limits import TimeLimits


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limits, "LOOKS_EVERY_S", 0.02)
    monkeypatch.setattr(time_limits, "SHORT_S", 0.01)


def limits() -> TimeLimits:
    return TimeLimits(asyncio.get_running_loop())


async def endless() -> None:
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("seconds", [0.001, 0.03])
async def test_a_block_that_takes_longer_is_ended(looks_often: None, seconds: float) -> None:
    async with asyncio.timeout(20):
        with pytest.raises(TimeoutError), limits().of(seconds):
            await endless()
    task = asyncio.current_task()
    assert task is not None and not task.cancelling(), "nothing of it is left"
    await asyncio.sleep(0)


async def test_the_longer_of_two_continues(looks_often: None) -> None:
    both, ended = limits(), list[str]()

    async def request(name: str, seconds: float) -> None:
        with pytest.raises(TimeoutError), both.of(seconds):
            await endless()
        ended.append(name)

    late = asyncio.create_task(request("late", 0.2))
    early = asyncio.create_task(request("early", 0.02))
    await early
    assert ended == ["early"] and not late.done()
    await late


async def test_a_cancellation_from_outside_is_no_time_out(looks_often: None) -> None:
    async def request() -> None:
        with limits().of(20):
            await endless()

    task = asyncio.create_task(request())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("seconds", [0.001, 0.02])
async def test_one_that_comes_at_the_same_time_wins(looks_often: None, seconds: float) -> None:
    both = limits()

    async def request() -> None:
        with both.of(seconds):
            try:
                await endless()
            finally:
                task.cancel()

    task = asyncio.create_task(request())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_time_limit_around_it_ends_it_first(looks_often: None) -> None:
    async with asyncio.timeout(20):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                with limits().of(20):
                    await endless()


async def test_long_ones_have_a_timer_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, made = asyncio.get_running_loop(), list[float]()
    call_later: Callable[..., asyncio.TimerHandle] = loop.call_later

    def counted(delay: float, *args: object) -> asyncio.TimerHandle:
        made.append(delay)
        return call_later(delay, *args)

    monkeypatch.setattr(loop, "call_later", counted)
    every = limits()
    for _ in range(3):
        with every.of(600), every.of(60):
            await asyncio.sleep(0)
    assert made == [time_limits.LOOKS_EVERY_S]
