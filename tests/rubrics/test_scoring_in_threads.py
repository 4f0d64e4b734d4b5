from __future__ import annotations

import asyncio
import contextvars
import functools
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from made_states import PATIENCE_S, rollout, until

from tui_eval.plain_calls.threads import Threads
from tui_eval.rubrics.rubric import Rubric


async def test_a_plain_function_that_waits_does_not_hold_the_loop():
    inside, leave = threading.Event(), threading.Event()

    def waits(answer):
        inside.set()
        return float(leave.wait(PATIENCE_S))

    state = rollout()
    scoring = asyncio.create_task(Rubric([waits]).score_rollout(state))
    await until(inside.is_set)
    leave.set()
    await scoring
    assert state["metrics"] == {"waits": 1.0}


async def test_plain_functions_of_different_rollouts_overlap():
    together = threading.Barrier(6)

    def meets(answer):
        together.wait(PATIENCE_S)
        return 1.0

    rubric = Rubric([meets])
    group = [rollout(), rollout(), rollout()]
    await asyncio.gather(
        rubric.score_group(group), *(rubric.score_rollout(rollout()) for _ in range(3))
    )
    assert [state["reward"] for state in group] == [1.0, 1.0, 1.0]


async def test_functions_of_one_rollout_run_in_their_order():
    order = []

    def first(answer):
        time.sleep(0.02)
        order.append("first")
        return 0

    async def second(answer):
        order.append("second")
        return 0

    def third(answer):
        order.append("third")
        return 0

    await Rubric([first, second, third]).score_rollout(rollout())
    assert order == ["first", "second", "third"]


async def test_a_group_function_begins_when_all_before_it_are_done():
    seen = []

    def slow(state):
        time.sleep(0.02 if state["answer"] == "late" else 0)
        seen.append(state["answer"])
        return 1.0

    def together(states):
        assert sorted(seen) == ["early", "late"]
        return [1.0, 2.0]

    states = [rollout("late"), rollout("early")]
    await Rubric([slow, together]).score_group(states)
    assert [state["reward"] for state in states] == [2.0, 3.0]


async def test_context_variables_are_seen_in_threads():
    who = contextvars.ContextVar("who", default="nobody")

    def looks(answer):
        assert threading.current_thread() is not threading.main_thread()
        return float(who.get() == "me")

    who.set("me")
    state = rollout()
    await Rubric([looks]).score_rollout(state)
    assert state["reward"] == 1.0


async def test_what_a_plain_function_returns_is_awaited_where_it_can_be():
    async def right(answer, bonus=0.0):
        await asyncio.sleep(0)
        return 1.0 + bonus

    class Judge:
        async def __call__(self, answer):
            return await right(answer)

        async def method(self, answer):
            return await right(answer)

    functions = [
        lambda answer: right(answer),
        functools.partial(right, bonus=1.0),
        Judge(),
        Judge().method,
    ]
    state = rollout()
    await Rubric(functions).score_rollout(state)
    assert state["metrics"] == {"<lambda>": 1.0, "right": 2.0, "Judge": 1.0, "method": 1.0}


async def test_a_plain_function_may_run_a_loop_of_its_own():
    async def right():
        return 1.0

    state = rollout()
    await Rubric([lambda answer: asyncio.run(right())]).score_rollout(state)
    assert state["reward"] == 1.0


async def test_our_own_counting_rubrics_stay_on_the_loop():
    class Counts(Rubric):
        on_loop = True

    def where(answer):
        return float(threading.current_thread() is threading.main_thread())

    state = rollout()
    await Counts([where]).score_rollout(state)
    assert state["reward"] == 1.0


# Cancellation and the end of the process


async def test_cancelling_goes_through_while_a_plain_function_runs(release):
    inside = threading.Event()

    def hangs(answer):
        inside.set()
        release.wait(PATIENCE_S)
        return 1.0

    state = rollout()
    scoring = asyncio.create_task(Rubric([hangs]).score_rollout(state))
    await until(inside.is_set)
    scoring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await scoring
    assert not release.is_set()
    assert state["error"] is None


async def test_what_was_cancelled_before_it_began_is_not_called(release):
    called = []
    pool = Threads(1)
    hanging = asyncio.create_task(pool.run(lambda: release.wait(PATIENCE_S)))
    waiting = asyncio.create_task(pool.run(lambda: called.append(1)))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    release.set()
    await hanging
    assert await pool.run(lambda: "next") == "next"
    assert called == []


@pytest.mark.parametrize("way", ["out of time", "cancelled", "unfinished"])
@pytest.mark.process
def test_a_process_ends_although_a_function_hangs(way):
    source = textwrap.dedent(
        """
        import asyncio, sys, threading
        from tui_eval.plain_calls.threads import Threads

        inside = threading.Event()

        def hangs():
            inside.set()
            threading.Event().wait()

        async def main(way):
            call = asyncio.create_task(Threads().run(hangs, 0.05 if way == "out of time" else 60))
            while not inside.is_set():
                await asyncio.sleep(0.001)
            if way == "cancelled":
                call.cancel()
            if way != "unfinished":
                await asyncio.wait([call])
            print(way)

        asyncio.run(main(sys.argv[1]))
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", source, way], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (ended.returncode, ended.stdout) == (0, f"{way}\n")


def test_threads_of_a_loop_that_is_gone_end():
    def names():
        return [t for t in threading.enumerate() if t.name == "tui-eval plain function"]

    pool = Threads(4)
    before = set(names())
    made = []

    async def score():
        both = threading.Barrier(2)
        await asyncio.gather(*(pool.run(lambda: both.wait(PATIENCE_S)) for _ in range(2)))
        made.extend(set(names()) - before)

    asyncio.run(score())
    assert len(made) == 2
    for thread in made:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


# What is raised


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit])
async def test_whatever_a_plain_function_raises_is_its_own_error(error):
    def raises(answer):
        raise error("mine")

    states = [rollout(), rollout()]
    await Rubric([raises, lambda answer: 1.0]).score_group(states)
    for state in states:
        assert f"{error.__name__}: mine" in str(state["error"])
        assert state["metrics"] == {"<lambda>": 1.0}
