"""Reward functions that take too long, and the threads that they leave behind."""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import sys
import threading
import time

import pytest
from made_states import PATIENCE_S, rollout, until

from tui_eval.errors import ErrorChain, ScoringError
from tui_eval.plain_calls import call, threads
from tui_eval.plain_calls.threads import Threads
from tui_eval.rubrics.rubric import Rubric


async def test_a_plain_function_out_of_time_is_an_error_that_names_it_and_its_limit(release):
    def hangs(answer):
        release.wait(PATIENCE_S)
        return 1.0

    rubric = Rubric([hangs, lambda answer: 0.5], timeout_seconds=0.05)
    state = rollout()
    await rubric.score_rollout(state)
    assert isinstance(state["error"], ScoringError)
    assert "'hangs'" in str(state["error"])
    assert "longer than its time limit of 0.05 s" in str(state["error"])
    assert state["metrics"] == {"<lambda>": 0.5}
    assert "release.wait(PATIENCE_S)" in state.scores[0]["error"]


async def test_an_async_function_out_of_time_is_cancelled():
    left = []

    async def hangs(answer):
        try:
            await asyncio.Event().wait()
        finally:
            left.append(True)

    state = rollout()
    await Rubric([hangs], timeout_seconds=0.05).score_rollout(state)
    assert left == [True]
    assert "longer than its time limit of 0.05 s" in state.scores[0]["error"].splitlines()[0]
    chain = str(ErrorChain(state["error"]))
    # asyncio's time-out has a cause since a later release of 3.11.
    assert chain.removesuffix(" -> CancelledError") == "ScoringError -> TimeoutError"


async def test_a_function_that_makes_a_number_of_its_cancellation_is_out_of_time_too():
    async def swallows(answer):
        try:
            await asyncio.Event().wait()
        except BaseException:
            return 0.0

    state = rollout()
    await Rubric([swallows], timeout_seconds=0.05).score_rollout(state)
    assert state["metrics"] == {}
    assert "TimeoutError" in state.scores[0]["error"]


async def test_a_time_out_of_the_function_itself_is_its_own():
    async def gives_up(answer):
        raise TimeoutError("the sandbox did not answer")

    state = rollout()
    await Rubric([gives_up]).score_rollout(state)
    assert state.scores[0]["error"].startswith("TimeoutError: the sandbox did not answer")


async def test_a_function_may_have_a_limit_of_its_own(release):
    def hangs(answer):
        return float(release.wait(PATIENCE_S))

    def patient(answer):
        time.sleep(0.1)
        return 1.0

    rubric = Rubric([patient], timeout_seconds=math.inf)
    rubric.add_reward_func(hangs, 1.0, timeout_seconds=0.05)
    state = rollout()
    await rubric.score_rollout(state)
    assert state["metrics"] == {"patient": 1.0}
    assert "0.05 s" in state.scores[1]["error"]


async def test_a_subclass_may_have_names_and_signatures_like_ours():
    class Limited(Rubric):
        def __init__(self):
            super().__init__()
            self.timeout_seconds = None

        def add_reward_func(self, func, weight=1.0):
            super().add_reward_func(func, weight)

    rubric = Limited()
    rubric.add_metric(lambda answer: 1.0)
    state = rollout()
    await rubric.score_rollout(state)
    assert state["metrics"] == {"<lambda>": 1.0}


async def test_a_group_function_out_of_time_is_an_error_of_every_member(release):
    def hangs(states):
        release.wait(PATIENCE_S)
        return [1.0, 1.0]

    states = [rollout(), rollout()]
    await Rubric([hangs], timeout_seconds=0.05).score_group(states)
    assert all("0.05 s" in str(state["error"]) for state in states)


@pytest.mark.parametrize("limit", [0, -1, math.nan])
def test_a_limit_that_is_not_positive_is_refused(limit):
    with pytest.raises(ValueError, match="positive number of seconds"):
        Rubric(timeout_seconds=limit)
    with pytest.raises(ValueError, match="positive number of seconds"):
        Rubric().add_reward_func(lambda answer: 1, timeout_seconds=limit)


async def test_waiting_for_a_thread_is_not_counted():
    def short(answer):
        time.sleep(0.1)
        return 1.0

    pool = Threads(1)
    calls = (pool.run(functools.partial(short, ""), 0.9) for _ in range(12))
    assert await asyncio.gather(*calls) == [1.0] * 12


async def test_an_endless_loop_ends_soon_after_its_time_is_up():
    ended = threading.Event()

    def spins(answer):
        try:
            while True:
                pass
        finally:
            ended.set()

    state = rollout()
    await Rubric([spins], timeout_seconds=0.05).score_rollout(state)
    assert "TimeoutError" in state.scores[0]["error"]
    await until(ended.is_set)


async def test_a_function_that_ends_while_it_is_given_up_is_given_up_silently(monkeypatch):
    ends, ended, died = threading.Event(), [], []
    monkeypatch.setattr(threading, "excepthook", died.append)

    def waits():
        ended.append(threading.current_thread())
        ends.wait(PATIENCE_S)

    def place_of(thread):
        ends.set()
        while sys._current_frames()[thread.ident].f_code.co_name != "work":
            time.sleep(0.001)
        return "at its end"

    monkeypatch.setattr(call, "_place_of", place_of)
    with pytest.raises(TimeoutError):
        await Threads(1).run(waits, 0.05)
    await asyncio.to_thread(ended[0].join, PATIENCE_S)
    assert not ended[0].is_alive()
    assert died == []


async def test_threads_left_behind_are_counted_and_limited(monkeypatch, caplog, release):
    monkeypatch.setattr(threads, "MOST_LEFT_BEHIND", 2)

    def hangs():
        release.wait(PATIENCE_S)

    pool = Threads(1)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await pool.run(hangs, 0.02)
    assert sum("left behind" in record.message for record in caplog.records) == 2
    with pytest.raises(RuntimeError, match="2 functions that ran out of time still run"):
        await pool.run(lambda: 1)
    release.set()

    async def works_again():
        try:
            return await pool.run(lambda: 1)
        except RuntimeError:
            return None

    async with asyncio.timeout(PATIENCE_S):
        while await works_again() is None:
            await asyncio.sleep(0.005)


async def test_those_that_wait_continue_when_a_thread_is_left_behind(release):
    pool = Threads(1)
    hanging = asyncio.create_task(pool.run(lambda: release.wait(PATIENCE_S), 0.05))
    await asyncio.sleep(0)
    assert await pool.run(lambda: 7) == 7
    with pytest.raises(TimeoutError):
        await hanging
