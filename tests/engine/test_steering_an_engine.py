"""Rollouts run again, the limit moves, and rows are saved while an engine runs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from engine_listener import listening
from program import Program
from run_here import run_here
from servers import FaultServer
from steered_runs import BAD, CHAT, GOOD, HANG, answered, answers, as_on_disk, errors_of, figures

from tui_eval.commands import Cancel, Rerun, Save, SetMaxConcurrent
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import Stage
from tui_eval.feeds.live_feed import LiveFeed


async def test_errored_rollouts_run_again_while_the_others_continue(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [BAD, GOOD, BAD, GOOD, BAD, HANG])
    async with listening(LiveFeed(Launch(request_of(num_examples="6", max_concurrent="1")))) as one:
        await one.until(lambda: one.state.errored == 3, "three have errored")
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 1, "the last one hangs")
        async with listening(LiveFeed(socket_path=str(one.feed.engine.socket_path))) as other:
            fault_server.script(CHAT, [GOOD])
            one.feed.send(Rerun([0, 1]))
            await one.until(lambda: one.state.taken_back == 1, "one is taken back")
            run = program.only_run()
            assert len((run.path / "superseded.jsonl").read_text().splitlines()) == 1
            one.feed.send(Rerun())
            one.feed.send(Cancel(5))
            await one.until(lambda: one.state.end, "the run ends")
            await other.until(lambda: other.state.end, "who joined hears it too")
    assert one.state.taken_back == 3
    kept = Counter(run.places())
    assert set(kept) == {(i, 0) for i in range(6)} and set(kept.values()) == {1}
    assert sorted(e or "" for e in errors_of(run).values()) == [""] * 5 + ["CancelledByUserError"]
    assert len((run.path / "superseded.jsonl").read_text().splitlines()) == 3
    assert figures(one.state) == figures(other.state) == figures(as_on_disk(run))
    assert run.metadata["n_errored"] == 1


async def test_of_a_saved_run_only_the_chosen_rollouts_run_again(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [BAD, BAD, GOOD, HANG])
    async with listening(LiveFeed(Launch(request_of(num_examples="4", max_concurrent="1")))) as one:
        await one.until(lambda: one.state.finished == 3, "three have rows")
    run = program.only_run()
    requests_before = len(fault_server.requests)
    fault_server.script(CHAT, [GOOD])
    again = {"env_id": None, "raw": {"resume": str(run.path)}, "again": [1]}
    async with listening(LiveFeed(Launch(again))) as one:
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end is not None and one.state.end.status == "interrupted"
    assert len(fault_server.requests) == requests_before + 1
    assert errors_of(run) == {(0, 0): "ModelError", (1, 0): None, (2, 0): None}
    assert figures(one.state) == figures(as_on_disk(run))


@pytest.mark.parametrize("num_workers", [None, "1"], ids=["here", "in-a-worker"])
async def test_a_rollout_that_runs_again_is_compared_with_its_group_on_disk(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    num_workers: str | None,
) -> None:
    fault_server.script(CHAT, [*answers("a"), BAD, *answers("bb"), HANG])
    request = request_of(
        "grouped",
        num_examples="2",
        rollouts_per_example="3",
        max_concurrent="1",
        num_workers=num_workers,
    )
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: one.state.finished == 3, "the first group is over")
        assert one.state.errored == 1
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 1, "the second one hangs")
        fault_server.script(CHAT, answers("cccc"))
        one.feed.send(Rerun())
        await answered(one)
        one.feed.send(Cancel(3))
        await one.until(lambda: one.state.end, "the run ends")
    run = program.only_run()
    rows = {(one["example_id"], one["tui_eval"]["rollout"]): one["reward"] for one in run.rows}
    assert [rows[0, n] for n in range(3)] == pytest.approx([2.1, 3.4, 2.2])
    assert [rows[1, n] for n in (1, 2)] == pytest.approx([2.4, 2.4])


async def test_the_limit_moves_while_the_run_continues(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [HANG] * 4 + [GOOD])
    async with listening(
        LiveFeed(Launch(request_of(num_examples="10", max_concurrent="2")))
    ) as one:
        await one.until(lambda: len(fault_server.requests) == 2, "two calls in flight")
        one.feed.send(SetMaxConcurrent(4))
        await one.until(lambda: len(fault_server.requests) == 4, "four calls in flight")
        assert one.state.run is not None and one.state.run.max_concurrent == 4
        assert (
            one.state.max_concurrent_changed is not None
            and one.state.max_concurrent_changed.before == 2
        )
        one.feed.send(SetMaxConcurrent(1))
        await one.until(lambda: one.state.run.max_concurrent == 1, "it is lowered")
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 4, "those in flight stay")
        for row in range(3):
            one.feed.send(Cancel(row))
        await one.until(lambda: one.state.errored == 3, "three are gone")
        assert len(fault_server.requests) == 4, "no other begins while one is in flight"
        one.feed.send(Cancel(3))
        await one.until(lambda: one.state.end, "the run ends")
    run = program.only_run()
    moves = [(one["before"], one["now"]) for one in run.metadata["max_concurrent_moves"]]
    assert moves == [(2, 4), (4, 1)]
    plan = (run.path / "run.toml").read_text()
    assert "max_concurrent = 2\n" in plan and plan.count('name = "max_concurrent"') == 2
    again = await asyncio.to_thread(run_here, program, "run", "--resume", str(run.path))
    assert again.code == 0, again
    assert len(run.metadata["max_concurrent_moves"]) == 2


async def test_saving_now_flushes_what_there_is_and_says_so(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [GOOD, GOOD, HANG])
    async with listening(LiveFeed(Launch(request_of(num_examples="3", max_concurrent="1")))) as one:
        await one.until(lambda: one.state.finished == 2, "two are done")
        one.feed.send(Save())
        answer = await answered(one)
        assert answer.done and "2 of 3" in answer.text
        assert program.only_run().metadata["n_used"] == 2
