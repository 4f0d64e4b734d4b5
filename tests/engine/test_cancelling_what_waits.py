"""A rollout that waits is cancelled: for its slot, for its score, or as the last of its group."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from engine_listener import listening
from program import Program, chat_answer
from servers import FaultServer, Reply
from steered_runs import BAD, CHAT, GOOD, WAITS, answered, errors_of

from tui_eval.commands import Cancel, Rerun
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import Stage
from tui_eval.feeds.live_feed import LiveFeed

CANCELLED = "CancelledByUserError"
CODE = (
    WAITS
    + """

async def hold_later():
    await until("holds")
    hold()


class Env(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if self.what == "alone" and state["example_id"] == 1:
            self.holding = asyncio.create_task(hold_later())
        if self.what == "pairs" and not Path("last").exists():
            Path("last").touch()
            await until("goes_on")
        return state


async def scored(state):
    if state["example_id"] == 0:
        await until("scores")
    return 1.0


async def compared(states):
    return [float(len(states)) for _ in states]


async def compared_later(states):
    await until("scores")
    return [float(len(states)) for _ in states]


def load_environment(what=""):
    func = {"alone": scored, "pairs": compared_later}.get(what, compared)
    rows = [{"question": f"q{n}"} for n in range(3)]
    env = Env(dataset=rows, rubric=vf.Rubric([func]))
    env.what = what
    return env
"""
)


def held() -> tuple[Reply, threading.Event]:
    event = threading.Event()
    return Reply(body=chat_answer("yes"), hold=(1, event)), event


@pytest.mark.slow
async def test_the_slot_of_a_group_whose_last_one_never_began_is_free_again(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("waits", CODE)
    (fifth, continues), (again, is_answered) = held(), held()
    fault_server.script(CHAT, [BAD, GOOD, GOOD, GOOD, fifth, again, GOOD])
    three = {"num_examples": "3", "rollouts_per_example": "3", "max_concurrent": "1"}
    async with listening(LiveFeed(Launch(request_of("waits", **three)))) as one:
        await one.until(lambda: one.state.stage and one.state.stage[4] == Stage.MODEL, "the fifth")
        one.feed.send(Rerun())
        await answered(one)
        continues.set()
        await one.until(lambda: one.state.stage[0] == Stage.MODEL, "the first one goes before")
        one.feed.send(Cancel(5))
        await one.until(lambda: one.state.errored == 1, "the last one of its group has its row")
        is_answered.set()
        await one.until(lambda: one.state.end, "those that wait for the slot come to their end")
    errors = errors_of(program.only_run())
    assert {place for place, error in errors.items() if error} == {(1, 2)}
    assert len(errors) == 9


async def test_one_that_is_to_be_scored_just_then_has_its_row(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("waits", CODE)
    fault_server.script(CHAT, [GOOD])
    request = request_of(
        "waits", num_examples="2", max_concurrent="1", no_interleave_scoring=True,
        num_workers="2", env_args='{"what": "alone"}',
    )  # fmt: skip
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: one.state.by_stage[Stage.SCORING], "the first one is scored")
        (program.folder / "holds").touch()
        await one.until((program.folder / "held").exists, "the worker of the second one is held")
        one.feed.send(Cancel(1))
        await answered(one)
        (program.folder / "scores").touch()
        await one.until(lambda: one.state.finished, "the first one has its row")
        (program.folder / "let_go").touch()
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end is not None and one.state.end.status == "finished", one.state.end
    assert errors_of(program.only_run()) == {(0, 0): None, (1, 0): CANCELLED}


@pytest.mark.slow
async def test_a_restored_one_leaves_the_others_of_its_group_to_be_scored(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("waits", CODE)
    fault_server.script(CHAT, [GOOD])
    request = request_of(
        "waits", num_examples="2", rollouts_per_example="2", max_concurrent="4",
        no_interleave_scoring=True, env_args='{"what": "pairs"}',
    )  # fmt: skip
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: one.state.by_stage[Stage.GENERATED] == 3, "one waits")
        (program.folder / "goes_on").touch()
        await one.until(lambda: one.state.by_stage[Stage.SCORING] == 4, "all are scored")
    run = program.only_run()
    again = {"env_id": None, "raw": {"resume": str(run.path), "max_concurrent": "1"}}
    async with listening(LiveFeed(Launch(again))) as one:
        await one.until(lambda: one.state.by_stage[Stage.SCORING] == 2, "one group is scored")
        one.feed.send(Cancel(0))
        await one.until(lambda: one.state.errored == 1, "it has its row")
        (program.folder / "scores").touch()
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end is not None and one.state.end.status == "finished", one.state.end
    assert errors_of(run) == {(0, 0): CANCELLED, (0, 1): None, (1, 0): None, (1, 1): None}
