"""A clock that is slow where nothing happens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, count, repeat

from bench.virtual_time import run_in_virtual_time
from tui_eval.tui.base.ticker import QUIET_S, REST_S, RESTS_AFTER_S, Ticking

EVERY_S = 0.1


async def ticks(values: Iterator[int], seconds: float, at_work: bool = False) -> list[float]:
    """When it ticked, of so many seconds; somebody does something after all but the last two."""
    loop, ticked = asyncio.get_running_loop(), []

    def tick() -> int:
        ticked.append(loop.time())
        return next(values)

    ticking = Ticking(lambda do: do(), EVERY_S, tick, lambda: at_work)
    ticking.start()
    await asyncio.sleep(seconds - 2)
    ticking.wake()
    await asyncio.sleep(2)
    ticking.stop()
    stopped_at = len(ticked)
    await asyncio.sleep(10)
    assert len(ticked) == stopped_at
    return ticked


def between(ticked: list[float], first: float, last: float) -> int:
    return sum(first < at <= last for at in ticked)


def test_it_rests_until_somebody_does_something() -> None:
    ticked = run_in_virtual_time(ticks(repeat(0), 32))
    assert between(ticked, 0, RESTS_AFTER_S) >= RESTS_AFTER_S / EVERY_S - 1
    assert between(ticked, 5, 30) <= 25 / REST_S
    assert between(ticked, 30, 32) >= 2 / EVERY_S - 1


def test_it_does_not_rest_while_something_is_new() -> None:
    ticked = run_in_virtual_time(ticks(count(), 32))
    assert between(ticked, 5, 30) >= 25 / EVERY_S - 1


def test_it_looks_often_again_once_something_is_new() -> None:
    news = chain(repeat(0, 50), count())
    ticked = run_in_virtual_time(ticks(news, 60))
    assert between(ticked, 40, 58) >= 18 / EVERY_S - 1


def test_an_engine_that_says_nothing_is_looked_after_more_often() -> None:
    ticked = run_in_virtual_time(ticks(repeat(0), 32, at_work=True))
    assert 25 / QUIET_S - 1 <= between(ticked, 5, 30) <= 25 / QUIET_S + 1
