"""A rollout that ended a worker is run alone, away from its group: whatever becomes of it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from engine_listener import listening
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply
from steered_runs import CHAT, GOOD, HANG, WAITS, answered, errors_of
from tiers import first_always

from tui_eval.commands import Cancel, Rerun
from tui_eval.engine.transport.launcher import Launch
from tui_eval.feeds.live_feed import LiveFeed

CODE = (
    WAITS
    + """
import os


class Env(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if state.observer.row == 0:
            if not Path("ended").exists():
                Path("ended").touch()
                os._exit(9)
            if LATER:
                await until("others")
            raise ValueError("no")
        if state.observer.row == 3 and LATER:
            while not any(one.stat().st_size for one in Path("outputs").rglob("results.jsonl")):
                await asyncio.sleep(0.01)
        if ALL and state.observer.row == 1 and not Path("mended").exists():
            raise ValueError("nor this one")
        return state

    @vf.cleanup
    async def counts(self, state):
        with open("generated", "a") as file:
            file.write("one\\n")
        if Path("generated").read_text().count("one") == 2:
            Path("others").touch()


async def best(states):
    return [float(len(states)) for _ in states]


def load_environment(later=False, all=False):
    globals().update(LATER=later, ALL=all)
    return Env(dataset=[{"question": "q"}, {"question": "r"}], rubric=vf.Rubric([best]))
"""
)


@pytest.mark.parametrize(
    ("later", "others"),
    first_always([("false", 2), ("true", 3), ("true", 2)], 2),
    ids=["before-the-others", "between-them", "as-the-last-one"],
)
def test_the_others_are_compared_without_one_that_errors_there(
    program: Program, fault_server: FaultServer, later: str, others: int
) -> None:
    program.environment("ends", CODE)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-s", "-c", "4")
    done = run_here(program, "ends", *to, "-r", f"{others + 1}", "-a", f'{{"later": {later}}}')
    rows = sorted(program.only_run().rows, key=lambda row: row["tui_eval"]["rollout"])
    rewards = [row["reward"] for row in rows if not row["error"]]
    assert rewards == [float(others)] * others, done
    errors = [row["error"] and row["error"]["error"] for row in rows]
    assert errors == ["ValueError", *[None] * others]
    assert done.code == 3, done


@pytest.mark.slow
async def test_where_all_have_errored_one_that_is_run_again_is_compared_with_the_others(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("ends", CODE)
    fault_server.script(CHAT, [HANG])
    request = request_of(
        "ends", num_examples="2", rollouts_per_example="2", max_concurrent="4",
        env_args='{"all": true}',
    )  # fmt: skip
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: one.state.errored == 2, "a group has errored")
        await one.until(lambda: len(fault_server.requests) >= 2, "the others are at the model")
        fault_server.script(CHAT, [GOOD])
        (program.folder / "mended").touch()
        one.feed.send(Rerun([1]))
        await answered(one)
        await one.until(lambda: one.state.errored == 1 and one.state.finished == 2, "its row")
        one.feed.send(Cancel(2))
        one.feed.send(Cancel(3))
        await one.until(lambda: one.state.end, "the run ends")
    assert errors_of(program.only_run())[0, 1] is None
