"""Beats at a real server, and what a server that does not like them can do to a run: nothing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Received, Reply
from tiers import first_always

from tui_eval.engine.execution.heartbeat import Heartbeat
from tui_eval.events import RolloutFinished, RunFinished, RunStarted

CHAT = "/v1/chat/completions"
PING = "/ping/abc"


def beats(server: FaultServer) -> list[Received]:
    return [one for one in server.requests if one.path == PING]


def run(program: Program, server: FaultServer, *more: str, url: str = "") -> Any:
    server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    return run_here(
        program,
        *("reverse-text", "-m", "m", "-b", f"{server.url}/v1", "-r", "2", "-c", "1", "-s"),
        *("--heartbeat-url", url or f"{server.url}{PING}?key=1", *more),
    )


def test_every_finished_group_beats_once_and_plainly(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(PING, [Reply(503), Reply(), Reply(404)])
    done = run(program, fault_server, "-n", "3")
    assert done.code == 0, done
    found = beats(fault_server)
    assert [one.query for one in found] == ["key=1"] * 3
    assert {one.body for one in found} == {b""}
    assert not any("Content-Length" in one.headers for one in found)


@pytest.mark.slow
def test_start_and_end_are_sent_where_that_is_requested(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(PING, [Reply()])
    assert run(program, fault_server, "-n", "1", "--heartbeat-status").code == 0
    queries = [one.query for one in beats(fault_server)]
    assert sorted(queries) == ["key=1", "key=1&status=finished", "key=1&status=started"]


@pytest.mark.parametrize("fault", first_always(["refused", "reset", "hang"]))
def test_a_heart_that_cannot_beat_stops_nothing(
    program: Program, fault_server: FaultServer, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    fault_server.script(PING, [Reply(hang=fault == "hang", reset=fault == "reset")])
    url = "http://127.0.0.1:9/x" if fault == "refused" else ""
    done = run(program, fault_server, "-n", "2", "--heartbeat-status", url=url)
    assert done.code == 0, done
    assert len(program.only_run().rows) == 4
    if fault != "hang":
        assert "heartbeat failed" in caplog.text


def finished(row: int) -> RolloutFinished:
    return RolloutFinished(
        *(0, 1.0, row, row // 2, row % 2, 1, 0, 9, 1.0, None, None, False, 1, 0, 10, 4, 1.0, 1.0),
        *(1.0, 2.0, {}),
    )


def prepared(*, examples: int, independent: bool = False, done: tuple[int, ...] = ()) -> Any:
    class Examples:
        def __len__(self) -> int:
            return examples

        def example(self, row: int) -> int:
            return row // 2

        def size(self, example: int) -> int:
            return 2

    return SimpleNamespace(
        examples=Examples(),
        plan=SimpleNamespace(independent_scoring=independent),
        done=[finished(row) for row in done],
    )


async def beats_of(server: FaultServer, of: Any, rows: list[int], *, at_once: bool = False) -> int:
    async with Heartbeat(f"{server.url}{PING}", of) as heart:
        for row in rows:
            heart.handle(finished(row))
            while not at_once and len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)
    return len(beats(server))


async def test_groups_that_end_at_once_beat_once(fault_server: FaultServer) -> None:
    fault_server.script(PING, [Reply(delay=0.1)])
    assert await beats_of(fault_server, prepared(examples=10), list(range(20)), at_once=True) == 1


async def test_a_group_of_which_a_part_was_there_beats_with_its_last_rollout(
    fault_server: FaultServer,
) -> None:
    fault_server.script(PING, [Reply()])
    of = prepared(examples=2, done=(0,))
    assert await beats_of(fault_server, of, [2, 1]) == 1


async def test_independent_rollouts_beat_one_by_one(fault_server: FaultServer) -> None:
    fault_server.script(PING, [Reply()])
    of = prepared(examples=2, independent=True)
    assert await beats_of(fault_server, of, [0, 1, 2]) == 3


async def test_without_a_url_nothing_is_sent() -> None:
    async with Heartbeat("", prepared(examples=1), sends_status=True) as heart:
        heart.handle(finished(0))
        heart.handle(RunFinished(0, 1.0, "finished", 0))
        heart.handle(RunStarted(0, 1.0, "/x", "e", "m", "u", 1, 2, 2, 0, True, {}, {}))
        await asyncio.sleep(0)
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
