"""Commands that reach a worker together with the rollout that they are about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from engine_listener import listening
from program import Program, wait_until
from servers import FaultServer
from steered_runs import CHAT, GOOD, answered, as_on_disk, errors_of, figures
from tiers import first_always

from tui_eval.commands import Cancel, SetMaxConcurrent
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import Stage
from tui_eval.feeds.live_feed import LiveFeed

HOLDS = """
    import pathlib
    import time
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        async def setup_state(self, state):
            if state["example_id"] == 0:
                pathlib.Path("holds").touch()
                while not pathlib.Path("goes-on").exists():
                    time.sleep(0.01)
            return state

    def compared(states):
        return [float(len(states)) for _ in states]

    def load_environment(grouped=False):
        rubric = vf.Rubric([compared if grouped else lambda completion: 1.0])
        return Env(dataset=[{"question": str(i)} for i in range(2)], rubric=rubric)
"""


@pytest.mark.parametrize("grouped", first_always([True, False]))
async def test_a_rollout_that_has_just_begun_is_cancelled(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    grouped: bool,
) -> None:
    program.environment("holds", HOLDS)
    fault_server.script(CHAT, [GOOD])
    settings = {"env_args": '{"grouped": true}', "rollouts_per_example": "2"} if grouped else {}
    request = request_of("holds", num_examples="2", max_concurrent="1", num_workers="1", **settings)
    row = 1 + grouped
    async with listening(LiveFeed(Launch(request))) as one:
        held = program.folder / "holds"
        await asyncio.to_thread(wait_until, held.exists, "the worker is held")
        one.feed.send(SetMaxConcurrent(4))

        def is_led() -> bool:
            stages = one.state.stage  # none before the run has started
            return len(stages) > row and stages[row] == Stage.SETUP

        await one.until(is_led, "it is led")
        one.feed.send(Cancel(row))
        answer = await answered(one)
        assert answer.done and answer.text.startswith("Cancelled")
        (program.folder / "goes-on").touch()
        await one.until(lambda: one.state.end, "the run ends")
    run = program.only_run()
    errors = errors_of(run)
    assert errors.pop((1, 0)) == "CancelledByUserError" and set(errors.values()) == {None}
    rewards = [row["reward"] for row in run.rows if not row["error"]]
    assert sorted(rewards) == ([1.0, 2.0, 2.0] if grouped else [1.0]), run.rows
    assert len(fault_server.requests) == len(rewards), "no request is made for it"
    assert figures(one.state) == figures(as_on_disk(run))
