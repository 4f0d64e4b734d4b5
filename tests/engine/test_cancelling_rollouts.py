"""One rollout of a running engine is cancelled, whatever it waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from engine_listener import listening
from program import Program
from run_here import run_here
from servers import FaultServer, Reply
from steered_runs import CHAT, GOOD, HANG, answered, answers, as_on_disk, errors_of, figures
from tiers import first_always

from tui_eval.commands import Cancel, Rerun
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import Stage
from tui_eval.feeds.live_feed import LiveFeed


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", first_always(["1", None]), ids=["in-a-worker", "here"])
async def test_a_cancelled_rollout_is_cleaned_up_and_written_and_its_slot_is_free(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    num_workers: str | None,
) -> None:
    fault_server.script(CHAT, [HANG, GOOD])
    async with listening(
        LiveFeed(Launch(request_of(num_examples="4", max_concurrent="1", num_workers=num_workers)))
    ) as one:
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 1, "a call that hangs")
        one.feed.send(Cancel(3))
        await one.until(lambda: one.state.errored == 1, "the one that waits has its row")
        assert len(fault_server.requests) == 1
        one.feed.send(Cancel(0))
        await one.until(lambda: one.state.end, "the others are run")
        one.feed.send(Cancel(0))
    run = program.only_run()
    assert one.state.end is not None and one.state.end.exit_code == 3
    cancelled = "CancelledByUserError"
    assert errors_of(run) == {(0, 0): cancelled, (1, 0): None, (2, 0): None, (3, 0): cancelled}
    assert {row["stop_condition"] for row in run.rows if row["error"]} == {"cancelled"}
    assert len(fault_server.requests) == 3
    assert {path.name for path in program.folder.glob("cleaned-*")} == {
        "cleaned-0", "cleaned-1", "cleaned-2",
    }  # fmt: skip
    again = await asyncio.to_thread(run_here, program, "run", "--resume", str(run.path))
    assert again.code == 0, again
    assert set(errors_of(run).values()) == {None}


@pytest.mark.slow
async def test_what_has_finished_cannot_be_cancelled(
    fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [GOOD, HANG])
    async with listening(LiveFeed(Launch(request_of(num_examples="2", max_concurrent="1")))) as one:
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 1, "the second one is at it")
        await one.until(lambda: one.state.finished, "the first one is done")
        one.feed.send(Cancel(0))
        answer = await answered(one)
        assert not answer.done and "has finished" in answer.text
        one.feed.send(Rerun())
        answer = await answered(one, 2)
        assert not answer.done and "nothing to run again" in answer.text


@pytest.mark.parametrize("num_workers", first_always(["1", None]), ids=["in-a-worker", "here"])
@pytest.mark.parametrize("waits", first_always([True, False]), ids=["waiting", "scored"])
async def test_the_others_of_its_group_continue_without_a_cancelled_one(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    waits: bool,
    num_workers: str | None,
) -> None:
    fault_server.script(CHAT, [*answers("a"), HANG] if waits else answers("bb", "slow", "a"))
    request = request_of(
        "grouped",
        num_examples="1",
        rollouts_per_example="3",
        max_concurrent="1",
        num_workers=num_workers,
    )
    async with listening(LiveFeed(Launch(request))) as one:
        if waits:  # one waits for its group, one is at the model, one has not begun
            await one.until(
                lambda: one.state.by_stage[Stage.GENERATED] == one.state.by_stage[Stage.MODEL] == 1,
                "a rollout waits for the others",
            )
            one.feed.send(Cancel(0))
            await one.until(lambda: one.state.errored == 1, "its row is there")
            fault_server.script(CHAT, answers("cccc"))
            one.feed.send(Cancel(1))
        else:
            await one.until(lambda: one.state.by_stage[Stage.SCORING] == 3, "the group is scored")
            one.feed.send(Cancel(1))
        await one.until(lambda: one.state.end, "the run ends")
    run = program.only_run()
    rewards = {row["tui_eval"]["rollout"]: row["reward"] for row in run.rows if not row["error"]}
    assert len(run.rows) == 3
    assert rewards == pytest.approx({2: 1.4} if waits else {0: 2.2, 2: 2.1})


@pytest.mark.parametrize("num_workers", first_always(["1", None]), ids=["in-a-worker", "here"])
async def test_a_rollout_that_waits_for_its_scores_can_be_cancelled(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    num_workers: str | None,
) -> None:
    fault_server.script(CHAT, [GOOD, GOOD, HANG])
    request = request_of(
        num_examples="4", max_concurrent="1", no_interleave_scoring=True, num_workers=num_workers
    )
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(
            lambda: one.state.by_stage[Stage.GENERATED] == 2 and one.state.by_stage[Stage.MODEL],
            "two wait until all are generated",
        )
        one.feed.send(Cancel(0))
        await one.until(lambda: one.state.errored == 1, "its row is there")
        assert one.state.finished == 1, "the other one is not scored yet"
        fault_server.script(CHAT, [GOOD])
        one.feed.send(Cancel(2))
        await one.until(lambda: one.state.end, "the run ends")
    run, cancelled = program.only_run(), "CancelledByUserError"
    assert errors_of(run) == {(0, 0): cancelled, (1, 0): None, (2, 0): cancelled, (3, 0): None}
    assert figures(one.state) == figures(as_on_disk(run))


async def test_a_rollout_that_is_being_scored_can_be_cancelled(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, answers("slow", "a"))
    async with listening(LiveFeed(Launch(request_of(num_examples="2", max_concurrent="1")))) as one:
        await one.until(lambda: one.state.by_stage[Stage.SCORING] == 1, "the first one is scored")
        one.feed.send(Cancel(0))
        await one.until(lambda: one.state.end, "the run ends")
    assert errors_of(program.only_run()) == {(0, 0): "CancelledByUserError", (1, 0): None}


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", first_always(["1", None]), ids=["in-a-worker", "here"])
@pytest.mark.parametrize("slow", ["request", "rollout"])
async def test_a_rollout_that_sleeps_between_two_tries_can_be_cancelled(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    slow: str,
    num_workers: str | None,
) -> None:
    busy = Reply(429, {"error": {"message": "later"}}, {"Retry-After": "50"})
    broken = Reply(body=b"{}")
    fault_server.script(CHAT, [busy if slow == "request" else broken])
    request = request_of(
        num_examples="1",
        max_concurrent="1",
        max_retries="50",
        no_preflight=True,
        num_workers=num_workers,
    )
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(
            lambda: one.state.sleeping and one.state.again_at[0] - time.time() > 1.5,
            "it sleeps for long",
        )
        one.feed.send(Cancel(0))
        await one.until(lambda: one.state.end, "the run ends")
        assert (one.state.sleeping, one.state.notes, one.state.again_at) == (0, {}, {})
    run = program.only_run()
    assert errors_of(run) == {(0, 0): "CancelledByUserError"}
    assert figures(one.state) == figures(as_on_disk(run))


@pytest.mark.slow
async def test_a_rollout_that_has_slept_and_has_no_slot_says_what_it_waits_for(
    fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    busy = Reply(429, {"error": {"message": "later"}}, {"retry-after-ms": "20"})
    fault_server.script(CHAT, [busy, HANG])
    request = request_of(num_examples="2", max_concurrent="1", no_preflight=True)
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(
            lambda: one.state.notes == {0: "status 429: later, waits for a slot"},
            "the other one has it",
        )
        assert (one.state.sleeping, one.state.again_at, one.state.next_try_at) == (1, {}, 0.0)
        one.feed.send(Cancel(1))
        await one.until(lambda: not one.state.notes, "it is tried again")
