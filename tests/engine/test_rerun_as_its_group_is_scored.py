"""A member is run again while its group is being scored without it, and nobody knows that yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine_listener import listening
from program import Program
from servers import FaultServer
from steered_runs import CHAT, GOOD, WAITS, answered, errors_of

from tui_eval.commands import Rerun
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import CommandAnswered
from tui_eval.feeds.live_feed import LiveFeed

CODE = (
    WAITS
    + """

class Env(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if state.observer.row == 0 and not Path("mended").exists():
            raise ValueError("no")
        await until("errored")
        return state


async def compared(states):
    hold()
    return [float(len(states)) for _ in states]


def load_environment():
    return Env(dataset=[{"question": "q"}], rubric=vf.Rubric([compared]))
"""
)


async def test_it_is_compared_with_those_who_were_scored(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("holds", CODE)
    fault_server.script(CHAT, [GOOD])
    request = request_of("holds", num_examples="1", rollouts_per_example="2", max_concurrent="2")
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: one.state.errored == 1, "its row is there")
        (program.folder / "mended").touch()
        (program.folder / "errored").touch()
        await one.until((program.folder / "held").exists, "the other one is scored")
        one.feed.send(Rerun())
        one.feed.send(Rerun())
        await one.until(lambda: one.of(CommandAnswered), "the first one is at work")
        (program.folder / "let_go").touch()
        await answered(one, 2)
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end is not None and one.state.end.status == "finished", one.state.end
    assert errors_of(program.only_run()) == {(0, 0): None, (0, 1): None}
    rewards = {row["tui_eval"]["rollout"]: row["reward"] for row in program.only_run().rows}
    assert rewards == {0: 2.0, 1: 1.0}
