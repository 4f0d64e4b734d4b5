"""Model calls under a budget: reserved before they begin, given back once they are answered."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tui_eval.clients.wire.longest_answer import longest_answer
from tui_eval.engine.limits.budget import Budget, CallGuard

PRICES = (2.0, 10.0)
"""Of prompts and answers."""


class NotedBudget(Budget):
    """Says when a call is let through, which is some time before its task continues."""

    let_through: Callable[[], None]

    def take(self, tokens: int, cost: float) -> None:
        super().take(tokens, cost)
        self.let_through()


class Spending:
    """Counts what calls use, and how many tokens of prompts were in flight at most."""

    def __init__(self, max_cost: float | None, max_total_tokens: int | None) -> None:
        self.requested: deque[int] = deque()
        """Prompts of calls that are not let through yet; that happens in their order."""
        self.tokens = self.prompts = self.most_prompts = 0
        self.cost = 0.0
        self.why = ""
        self.ended = asyncio.Event()
        self.budget = NotedBudget(max_cost, max_total_tokens, lambda: (self.tokens, self.cost))
        self.budget.let_through = self._let_through

    def _let_through(self) -> None:
        self.prompts += self.requested.popleft() if self.requested else 0
        self.most_prompts = max(self.most_prompts, self.prompts)

    def guard(self, *shared: Budget) -> CallGuard:
        def exhausted(why: str) -> None:
            self.why = why
            self.ended.set()

        return CallGuard(
            [self.budget, *shared],
            PRICES[1],
            0,
            exhausted=exhausted,
            parked_more=lambda: None,
            warn=lambda text: None,
        )

    async def call(self, guard: CallGuard, call: tuple[int, int, int, int]) -> None:
        prompt, longest, unused, steps = call
        self.requested.append(prompt)
        if not guard.takes(longest):
            await guard.wait(longest, call, lambda: None)
        for _ in range(steps):
            await asyncio.sleep(0)
        self.prompts -= prompt
        written = longest - min(unused, longest)
        self.tokens += prompt + written
        self.cost += (prompt * PRICES[0] + written * PRICES[1]) / 1e6
        guard.give_back(longest)

    async def run(self, rollouts: list[list[tuple[int, int, int, int]]]) -> bool:
        """Runs rollouts, each of calls one after the other; whether all came to their end."""
        guard = self.guard()

        async def rollout(calls: list[tuple[int, int, int, int]]) -> None:
            for call in calls:
                await self.call(guard, call)

        tasks = [asyncio.create_task(rollout(calls)) for calls in rollouts]
        ended = asyncio.create_task(self.ended.wait())
        everything = asyncio.gather(*tasks)
        waited: list[asyncio.Future[Any]] = [everything, ended]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        done = all(task.done() for task in tasks)
        everything.cancel()
        ended.cancel()
        await asyncio.gather(everything, ended, *tasks, return_exceptions=True)
        return done


CALLS = st.tuples(st.integers(1, 50), st.integers(1, 60), st.integers(0, 60), st.integers(0, 4))
ROLLOUTS = st.lists(st.lists(CALLS, min_size=1, max_size=4), min_size=1, max_size=8)


@given(ROLLOUTS, st.integers(1, 600))
@example([[(1, 1, 0, 3)], [(1, 20, 2, 2)], [(1, 1, 0, 1), (3, 22, 0, 1)]], 44)
def test_tokens_pass_a_limit_by_the_prompts_in_flight_at_most(rollouts: Any, limit: int) -> None:
    async def run() -> None:
        spending = Spending(None, limit)
        done = await spending.run(rollouts)
        assert spending.tokens <= limit + spending.most_prompts
        assert done != bool(spending.why), "it ends, or nothing fits any more"

    asyncio.run(run())


@pytest.mark.slow
@given(ROLLOUTS, st.floats(1e-6, 0.01))
def test_cost_passes_a_limit_by_the_prompts_in_flight_at_most(rollouts: Any, limit: float) -> None:
    async def run() -> None:
        spending = Spending(limit, None)
        done = await spending.run(rollouts)
        assert spending.cost <= limit + spending.most_prompts * PRICES[0] / 1e6 + 1e-9
        assert done != bool(spending.why)

    asyncio.run(run())


@given(ROLLOUTS)
def test_what_fits_is_never_stopped(rollouts: Any) -> None:
    whole = sum(prompt + longest for calls in rollouts for prompt, longest, _, _ in calls)

    async def run() -> None:
        assert await Spending(None, whole + 1).run(rollouts)

    asyncio.run(run())


async def test_calls_that_wait_begin_in_their_order_once_others_used_less() -> None:
    spending = Spending(None, 100)
    guard, begun = spending.guard(), list[int]()

    async def waits(number: int) -> None:
        await guard.wait(60, number, lambda: None)
        begun.append(number)

    assert guard.takes(60)
    tasks = [asyncio.create_task(waits(number)) for number in range(2)]
    await asyncio.sleep(0)
    assert begun == [] and not guard.takes(1), "nobody goes before those that wait"
    spending.tokens += 20
    guard.give_back(60)
    await asyncio.sleep(0)
    assert begun == [0]
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    spending.tokens += 10
    guard.give_back(60)
    assert guard.takes(60), "what a cancelled call waited for is free"


async def test_a_shared_budget_ends_all_that_wait_for_it_once_no_call_is_in_flight() -> None:
    reasons: list[str] = []
    shared = Budget(None, 100, lambda: (0, None), reasons.append)
    one, other = Spending(None, None), Spending(None, None)
    first, second = one.guard(shared), other.guard(shared)
    parked: list[str] = []
    assert first.takes(80)
    task = asyncio.create_task(second.wait(90, "b", lambda: parked.append("b")))
    await asyncio.sleep(0)
    assert (second.parked, reasons) == (0, []), "it may fit once the other call is over"
    late = asyncio.create_task(first.wait(110, "a", lambda: parked.append("a")))
    await asyncio.sleep(0)
    first.give_back(80)
    await asyncio.sleep(0)
    assert task.done() or parked, "one fits or none ever will"
    if not task.done():
        task.cancel()
    else:
        second.give_back(90)
    assert (first.parked, parked) == (1, ["a"])
    assert (
        one.why == reasons[0] == ("0 tokens are used and an answer may have 110, the limit is 100")
    )
    late.cancel()
    await asyncio.gather(task, late, return_exceptions=True)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, 0),
        ({"max_tokens": 7}, 7),
        ({"max_completion_tokens": 9, "max_tokens": 7}, 9),
        ({"max_output_tokens": 3}, 3),
        ({"max_tokens": None}, 0),
        ({"max_tokens": True}, 0),
        ({"max_tokens": -1}, 0),
        ({"max_tokens": "9"}, 0),
    ],
)
def test_the_longest_answer_is_what_the_call_says(args: dict[str, Any], expected: int) -> None:
    assert longest_answer(args) == expected
    assert longest_answer(args, 4096) == (expected or 4096)
