"""A group whose last member has errored, or was cancelled, is scored as any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from engine_listener import listening
from program import Program
from servers import FaultServer
from steered_runs import CHAT, GOOD, WAITS, errors_of

from tui_eval.commands import Cancel
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import Stage
from tui_eval.feeds.live_feed import LiveFeed

CODE = (
    WAITS
    + """

class Env(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if state.observer.row == 2:
            await until("errs")
            raise ValueError("no")
        return state


async def compared(states):
    if states[0]["example_id"] == 1:
        Path("holds").touch()
        await until("goes_on")
    if FAILS and not Path("failed").exists():
        Path("failed").touch()
        raise vf.InfraError("not now")
    return [float(len(states)) for _ in states]


def load_environment(fails=False):
    globals()["FAILS"] = fails
    rows = [{"question": "q"}, {"question": "r"}]
    return Env(dataset=rows, rubric=vf.Rubric([compared]))
"""
)


async def test_one_that_is_cancelled_while_they_wait_for_a_slot_leaves_it_to_the_others(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("last", CODE)
    fault_server.script(CHAT, [GOOD])
    request = request_of(
        "last", num_examples="2", rollouts_per_example="3", max_concurrent="6",
        max_concurrent_scoring="1",
    )  # fmt: skip
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until((program.folder / "holds").exists, "another group has the slots")
        (program.folder / "errs").touch()
        await one.until(lambda: one.state.errored == 1, "the last one has errored")
        await one.until(lambda: one.state.by_stage[Stage.SCORING] == 5, "its group waits")
        one.feed.send(Cancel(0))
        await one.until(lambda: one.state.errored == 2, "it has its row")
        (program.folder / "goes_on").touch()
        await one.until(lambda: one.state.end, "the run ends")
    errors = errors_of(program.only_run())
    assert {place for place, error in errors.items() if error} == {(0, 0), (0, 2)}
    assert len(errors) == 6


@pytest.mark.slow
async def test_what_fails_as_it_is_scored_is_tried_again_where_the_last_one_was_cancelled(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("last", CODE)
    fault_server.script(CHAT, [GOOD])
    request = request_of(
        "last", num_examples="1", rollouts_per_example="3", max_concurrent="3", max_retries="3",
        env_args='{"fails": true}',
    )  # fmt: skip
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: one.state.by_stage[Stage.GENERATED] == 2, "two wait")
        one.feed.send(Cancel(2))
        await one.until(lambda: one.state.end, "the run ends")
    rows = {row["tui_eval"]["rollout"]: row["reward"] for row in program.only_run().rows}
    assert rows == {0: 2.0, 1: 2.0, 2: 0.0}, errors_of(program.only_run())
