"""Plain functions that work on the main thread only."""

from __future__ import annotations

import _signal
import asyncio
import logging
import signal
import threading

import pytest
from made_states import rollout

from tui_eval.rubrics.rubric import Rubric

PATIENCE_S = 30.0


def alarmed(answer):
    """A time limit as many environments have it."""

    def late(signum, frame):
        raise TimeoutError("late")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    try:
        return 1.0
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def alarmed_and_careless(answer):
    try:
        return alarmed(answer)
    except Exception:
        return 0.0


def unnoticed(answer):
    _signal.signal(signal.SIGUSR1, _signal.SIG_DFL)
    return 1.0


def needs_the_loop(answer):
    return asyncio.get_running_loop().is_running()


@pytest.mark.parametrize("func", [alarmed, alarmed_and_careless, unnoticed, needs_the_loop])
async def test_what_needs_the_main_thread_gets_it_with_one_warning(func, caplog):
    rubric = Rubric([func])
    states = [rollout() for _ in range(5)]
    with caplog.at_level(logging.WARNING):
        await rubric.score_group(states)
        await rubric.score_rollout(states[0])
    assert [state["reward"] for state in states] == [1.0] * 5
    assert [state["error"] for state in states] == [None] * 5
    (warning,) = [r.message for r in caplog.records if "main thread only" in r.message]
    assert repr(func.__name__) in warning


@pytest.mark.slow
async def test_math_verify_with_its_own_time_limits_works():
    from math_verify import parse, verify

    def correct(completion, answer):
        try:
            given = parse(f"\\boxed{{{completion[-1].content}}}")
            return float(verify(parse(f"\\boxed{{{answer}}}"), given))
        except Exception:
            return 0.0

    right, wrong = rollout("1/2", said="0.5"), rollout("1/2", said="0.6")
    await Rubric([correct]).score_group([right, wrong])
    assert (right["reward"], wrong["reward"]) == (1.0, 0.0)
    assert (right["error"], wrong["error"]) == (None, None)


def test_off_the_main_thread_such_a_function_is_an_error_and_no_zero():
    state = rollout()
    thread = threading.Thread(
        target=lambda: asyncio.run(Rubric([alarmed_and_careless]).score_rollout(state))
    )
    thread.start()
    thread.join(PATIENCE_S)
    assert "NeedsMainThreadError" in state.scores[0]["error"]
