"""A rollout that ended a worker once is scored at the end, as all others are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine_listener import listening
from program import Program
from servers import FaultServer
from steered_runs import CHAT, GOOD, WAITS

from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import Stage
from tui_eval.feeds.live_feed import LiveFeed

CODE = (
    WAITS
    + """
import os


class Env(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if state["example_id"] == 0 and not Path("ended").exists():
            Path("ended").touch()
            os._exit(9)
        if state["example_id"] == 1:
            await until("goes_on")
        return state


async def at_the_end(completion):
    return float(Path("goes_on").exists())


def load_environment():
    return Env(dataset=[{"question": "q"}, {"question": "r"}], rubric=vf.Rubric([at_the_end]))
"""
)


async def test_it_waits_for_the_others(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("ends", CODE)
    fault_server.script(CHAT, [GOOD])
    request = request_of("ends", num_examples="2", max_concurrent="2", no_interleave_scoring=True)
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(
            lambda: one.state.finished or one.state.by_stage[Stage.GENERATED], "it is generated"
        )
        (program.folder / "goes_on").touch()
        await one.until(lambda: one.state.end, "the run ends")
    assert [row["reward"] for row in program.only_run().rows] == [1.0, 1.0]
