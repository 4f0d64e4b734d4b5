"""Evaluations whose rollouts are cancelled and run again, and what is on disk of them."""

from __future__ import annotations

from typing import Any

from engine_listener import EngineListener
from program import Run, chat_answer
from servers import Reply

from tui_eval.events import CommandAnswered
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import saved_events

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
BAD = Reply(400, {"error": {"message": "bad"}})
HANG = Reply(hang=True)
WAITS = """
import asyncio
import time
from pathlib import Path

import tui_eval as vf


async def until(name):
    while not Path(name).exists():
        await asyncio.sleep(0.01)


def hold():  # its whole worker: nothing else of it runs
    Path("held").touch()
    while not Path("let_go").exists():
        time.sleep(0.01)
"""
"""The beginning of an environment's code that waits for files of a test."""
PLAIN = """
    import asyncio
    import pathlib
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        @vf.cleanup
        async def leave_a_mark(self, state):
            pathlib.Path(f"cleaned-{state['example_id']}").touch()

    async def scored(completion):
        if completion[-1]["content"] == "slow":
            await asyncio.sleep(60)
        return 1.0

    def load_environment():
        return Env(
            dataset=[{"question": str(i)} for i in range(10)],
            rubric=vf.Rubric(funcs=[scored]),
        )
"""
GROUPED = """
    import asyncio
    import tui_eval as vf

    async def compared(states, completions):
        if any(c[-1]["content"] == "slow" for c in completions):
            await asyncio.sleep(60)
        return [len(states) + len(c[-1]["content"]) / 10 for c in completions]

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{"question": "a"}, {"question": "b"}],
            rubric=vf.Rubric(funcs=[compared]),
        )
"""


def answers(*texts: str) -> list[Reply]:
    return [Reply(body=chat_answer(text)) for text in texts]


def errors_of(run: Run) -> dict[tuple[Any, int], str | None]:
    return {
        (row["example_id"], row["tui_eval"]["rollout"]): row["error"] and row["error"]["error"]
        for row in run.rows
    }


def as_on_disk(run: Run) -> RunState:
    state = RunState()
    for event in saved_events(RunDir(run.path)):
        state.apply(event)
    return state


def figures(state: RunState) -> dict[str, Any]:
    return {
        "counts": state.by_stage,
        "places": [*state.offset, *state.length],
        "errors": (state.errors, state.outcomes.errors, state.outcomes.stops),
        "tokens": (
            state.usage.tokens_in,
            state.usage.tokens_out,
            state.usage.lost_in,
            state.usage.lost_out,
        ),
        "mean": state.reward_mean.result().mean,
    }


async def answered(one: EngineListener, count: int = 1) -> CommandAnswered:
    await one.until(lambda: len(one.of(CommandAnswered)) >= count, "an answer")
    found: CommandAnswered = one.of(CommandAnswered)[count - 1]
    return found
