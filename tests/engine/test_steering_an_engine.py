"""What people ask of a running engine: one rollout, a limit, its files."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from program import Program, Run, chat_answer
from run_here import run_here
from seat import Seat, seat
from servers import FaultServer, Reply

from tui_eval.commands import Cancel, MoveLimit, Rerun, SaveNow
from tui_eval.events import CommandAnswered, Stage
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.opening import saved_events

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
BAD = Reply(400, {"error": {"message": "bad"}})
HANG = Reply(hang=True)
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


@pytest.fixture
def request_of(
    program: Program, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    program.environment("plain", PLAIN)
    program.environment("grouped", GROUPED)
    monkeypatch.chdir(program.folder)
    for name, value in program.env.items():
        monkeypatch.setenv(name, value)

    def make(env_id: str = "plain", **raw: str) -> dict[str, Any]:
        base = {"model": "m", "api_base_url": f"{fault_server.url}/v1", "save_results": True}
        return {"env_id": env_id, "raw": {"rollouts_per_example": "1", **base, **raw}}

    return make


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


async def told(one: Seat, count: int = 1) -> CommandAnswered:
    await one.until(lambda: len(one.of(CommandAnswered)) >= count, "an answer")
    found: CommandAnswered = one.of(CommandAnswered)[count - 1]
    return found


@pytest.mark.parametrize("num_workers", [None, "1"], ids=["here", "in-a-worker"])
async def test_a_cancelled_rollout_is_cleaned_up_and_written_and_its_slot_is_free(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    num_workers: str | None,
) -> None:
    fault_server.script(CHAT, [HANG, GOOD])
    async with seat(
        LiveFeed(request_of(num_examples="4", max_concurrent="1", num_workers=num_workers))
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


async def test_what_has_finished_cannot_be_cancelled(
    fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [GOOD, HANG])
    async with seat(LiveFeed(request_of(num_examples="2", max_concurrent="1"))) as one:
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 1, "the second one is at it")
        await one.until(lambda: one.state.finished, "the first one is done")
        one.feed.send(Cancel(0))
        answer = await told(one)
        assert not answer.done and "has finished" in answer.text
        one.feed.send(Rerun())
        answer = await told(one, 2)
        assert not answer.done and "nothing to run again" in answer.text


@pytest.mark.parametrize("num_workers", [None, "1"], ids=["here", "in-a-worker"])
@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "scored"])
async def test_the_others_of_its_group_go_on_without_a_cancelled_one(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    waits: bool,
    num_workers: str | None,
) -> None:
    fault_server.script(CHAT, [*answers("a"), HANG] if waits else answers("bb", "slow", "a"))
    asked = request_of(
        "grouped",
        num_examples="1",
        rollouts_per_example="3",
        max_concurrent="1",
        num_workers=num_workers,
    )
    async with seat(LiveFeed(asked)) as one:
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


@pytest.mark.parametrize("num_workers", [None, "1"], ids=["here", "in-a-worker"])
async def test_a_rollout_that_waits_for_its_scores_can_be_cancelled(
    program: Program,
    fault_server: FaultServer,
    request_of: Callable[..., dict[str, Any]],
    num_workers: str | None,
) -> None:
    fault_server.script(CHAT, [GOOD, GOOD, HANG])
    asked = request_of(
        num_examples="4", max_concurrent="1", no_interleave_scoring=True, num_workers=num_workers
    )
    async with seat(LiveFeed(asked)) as one:
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
    async with seat(LiveFeed(request_of(num_examples="2", max_concurrent="1"))) as one:
        await one.until(lambda: one.state.by_stage[Stage.SCORING] == 1, "the first one is scored")
        one.feed.send(Cancel(0))
        await one.until(lambda: one.state.end, "the run ends")
    assert errors_of(program.only_run()) == {(0, 0): "CancelledByUserError", (1, 0): None}


@pytest.mark.parametrize("num_workers", [None, "1"], ids=["here", "in-a-worker"])
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
    asked = request_of(
        num_examples="1",
        max_concurrent="1",
        max_retries="50",
        no_preflight=True,
        num_workers=num_workers,
    )
    async with seat(LiveFeed(asked)) as one:
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


async def test_a_rollout_that_has_slept_and_has_no_slot_says_what_it_waits_for(
    fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    busy = Reply(429, {"error": {"message": "later"}}, {"retry-after-ms": "20"})
    fault_server.script(CHAT, [busy, HANG])
    asked = request_of(num_examples="2", max_concurrent="1", no_preflight=True)
    async with seat(LiveFeed(asked)) as one:
        await one.until(
            lambda: one.state.notes == {0: "status 429: later, waits for a slot"},
            "the other one has it",
        )
        assert (one.state.sleeping, one.state.again_at, one.state.next_try_at) == (1, {}, 0.0)
        one.feed.send(Cancel(1))
        await one.until(lambda: not one.state.notes, "it is tried again")


async def test_errored_rollouts_run_again_while_the_others_go_on(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [BAD, GOOD, BAD, GOOD, BAD, HANG])
    async with seat(LiveFeed(request_of(num_examples="6", max_concurrent="1"))) as one:
        await one.until(lambda: one.state.errored == 3, "three have errored")
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 1, "the last one hangs")
        async with seat(LiveFeed(socket_path=str(one.feed.engine.socket_path))) as other:
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
    async with seat(LiveFeed(request_of(num_examples="4", max_concurrent="1"))) as one:
        await one.until(lambda: one.state.finished == 3, "three have rows")
    run = program.only_run()
    asked = len(fault_server.requests)
    fault_server.script(CHAT, [GOOD])
    again = {"env_id": None, "raw": {"resume": str(run.path)}, "again": [1]}
    async with seat(LiveFeed(again)) as one:
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end is not None and one.state.end.status == "interrupted"
    assert len(fault_server.requests) == asked + 1
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
    asked = request_of(
        "grouped",
        num_examples="2",
        rollouts_per_example="3",
        max_concurrent="1",
        num_workers=num_workers,
    )
    async with seat(LiveFeed(asked)) as one:
        await one.until(lambda: one.state.finished == 3, "the first group is over")
        assert one.state.errored == 1
        await one.until(lambda: one.state.by_stage[Stage.MODEL] == 1, "the second one hangs")
        fault_server.script(CHAT, answers("cccc"))
        one.feed.send(Rerun())
        await told(one)
        one.feed.send(Cancel(3))
        await one.until(lambda: one.state.end, "the run ends")
    run = program.only_run()
    rows = {(one["example_id"], one["tui_eval"]["rollout"]): one["reward"] for one in run.rows}
    assert [rows[0, n] for n in range(3)] == pytest.approx([2.1, 3.4, 2.2])
    assert [rows[1, n] for n in (1, 2)] == pytest.approx([2.4, 2.4])


async def test_the_limit_moves_while_the_run_goes_on(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    fault_server.script(CHAT, [HANG] * 4 + [GOOD])
    async with seat(LiveFeed(request_of(num_examples="10", max_concurrent="2"))) as one:
        await one.until(lambda: len(fault_server.requests) == 2, "two calls in flight")
        one.feed.send(MoveLimit(4))
        await one.until(lambda: len(fault_server.requests) == 4, "four calls in flight")
        assert one.state.run is not None and one.state.run.max_concurrent == 4
        assert one.state.limit_moved is not None and one.state.limit_moved.before == 2
        one.feed.send(MoveLimit(1))
        await one.until(lambda: one.state.run.max_concurrent == 1, "it is lowered")
        assert one.state.by_stage[Stage.MODEL] == 4, "those in flight stay"
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
    async with seat(LiveFeed(request_of(num_examples="3", max_concurrent="1"))) as one:
        await one.until(lambda: one.state.finished == 2, "two are done")
        one.feed.send(SaveNow())
        answer = await told(one)
        assert answer.done and "2 of 3" in answer.text
        assert program.only_run().metadata["n_used"] == 2
