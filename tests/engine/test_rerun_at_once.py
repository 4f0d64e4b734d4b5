"""A rollout that is run again the moment its row is there, while its worker is not done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine_listener import listening
from program import Program
from servers import FaultServer
from steered_runs import BAD, CHAT, GOOD, HANG, WAITS, answered, errors_of

from tui_eval.commands import Cancel, Rerun
from tui_eval.engine.transport.launcher import Launch
from tui_eval.feeds.live_feed import LiveFeed

CODE = (
    WAITS
    + """
import logging


class HoldsOnce(logging.Handler):
    def emit(self, record):
        if not Path("held").exists():
            Path("held").touch()
            asyncio.get_running_loop().call_soon(hold)


def load_environment():
    logging.getLogger("tui_eval.rollout").addHandler(HoldsOnce(logging.WARNING))
    rows = [{"question": f"q{n}"} for n in range(2)]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([lambda completion: 1.0]))
"""
)


async def test_it_runs_from_its_beginning_to_its_end(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("holds", CODE)
    fault_server.script(CHAT, [BAD, HANG])
    async with listening(
        LiveFeed(Launch(request_of("holds", num_examples="2", max_concurrent="3")))
    ) as one:
        await one.until(lambda: one.state.errored == 1, "its row is there")
        (row,) = one.state.errors
        one.feed.send(Rerun())
        await answered(one)
        fault_server.script(CHAT, [GOOD])
        (program.folder / "let_go").touch()
        await one.until(lambda: one.state.finished and not one.state.errored, "it has run again")
        one.feed.send(Cancel(1 - row))
        await one.until(lambda: one.state.end, "the run ends")
    assert (program.folder / "held").exists()
    assert errors_of(program.only_run())[row, 0] is None
