"""Plain code of environments, which holds up nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from stub_client import StubClient, answer

import tui_eval as vf
from tui_eval.plain_calls import functions, threads

PATIENCE_S = 30.0
ROW = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}
DATASET = [{"question": "q"}]


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def begin(env: vf.Environment, *calls: str) -> asyncio.Task[vf.State]:
    requested = [(f"c{place}", name, "{}") for place, name in enumerate(calls)]
    client = StubClient(*([answer(calls=requested)] if requested else []), answer("done"))
    return asyncio.create_task(env.rollout(dict(ROW), client, "m", {}))


async def until(event: threading.Event) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not event.is_set():
            await asyncio.sleep(0.002)


class Waits:
    """Plain code that waits until the test releases it."""

    def __init__(self, release: threading.Event) -> None:
        self.release = release
        self.inside = threading.Event()
        self.thread = 0

    def __call__(self) -> str:
        self.thread = threading.get_ident()
        self.inside.set()
        assert self.release.wait(PATIENCE_S)
        return "waited"


def with_tool(waits: Waits) -> vf.Environment:
    def tool() -> str:
        return waits()

    return vf.ToolEnv(dataset=DATASET, tools=[tool])


def with_arguments(waits: Waits) -> vf.Environment:
    class Env(vf.StatefulToolEnv):
        def update_tool_args(self, tool_name: str, tool_args: Any, *rest: Any, **more: Any) -> Any:
            waits()
            return tool_args

    async def tool() -> str:
        return "waited"

    return Env(dataset=DATASET, tools=[tool])


def with_cleanup(waits: Waits) -> vf.Environment:
    class Env(vf.ToolEnv):
        @vf.cleanup
        def close(self, state: vf.State) -> None:
            waits()

    return Env(dataset=DATASET, tools=[])


@pytest.mark.parametrize("kind", [with_tool, with_arguments, with_cleanup])
async def test_plain_code_of_an_environment_leaves_the_loop_free(
    kind: Any, release: threading.Event
) -> None:
    waits = Waits(release)
    calls = () if kind is with_cleanup else ("tool",)
    rollout = begin(kind(waits), *calls)
    await until(waits.inside)
    assert waits.thread != threading.get_ident()
    assert not rollout.done()
    release.set()
    state = await rollout
    assert state["error"] is None
    assert state["completion"][-1].content == "done"


async def test_a_plain_stop_condition_leaves_the_loop_free(release: threading.Event) -> None:
    inside = threading.Event()

    class Env(vf.ToolEnv):
        @vf.stop(priority=50)
        def said_enough(self, state: vf.State) -> bool:
            if not state["trajectory"]:
                return False
            inside.set()
            return release.wait(PATIENCE_S)

    rollout = begin(Env(dataset=DATASET, tools=[]))
    await until(inside)
    assert not rollout.done()
    release.set()
    state = await rollout
    assert state["stop_condition"] == "said_enough"


async def test_plain_tools_of_a_turn_run_in_their_order_though_async_ones_overlap() -> None:
    log: list[str] = []
    requested, notified = threading.Event(), asyncio.Event()

    def first() -> str:
        log.append("first")
        assert requested.wait(PATIENCE_S)
        log.append("first ended")
        return "1"

    async def meanwhile() -> str:
        requested.set()
        await notified.wait()
        return "2"

    def last() -> str:
        log.append("last")
        return "3"

    tools = [first, meanwhile, last]
    env = vf.ToolEnv(dataset=DATASET, tools=tools, concurrent_tool_calls=True)
    rollout = begin(env, "first", "meanwhile", "last")
    async with asyncio.timeout(PATIENCE_S):
        while "last" not in log:
            await asyncio.sleep(0.002)
    notified.set()
    state = await rollout
    assert log == ["first", "first ended", "last"]
    assert [m.content for m in state["completion"][1:]] == ["1", "2", "3", "done"]


async def test_an_environment_may_say_that_its_plain_functions_are_not_thread_safe() -> None:
    inside: list[int] = []
    most: list[int] = []

    def counts() -> str:
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.003)
        inside.pop()
        return "ok"

    env = vf.ToolEnv(dataset=DATASET, tools=[counts], thread_safe=False)
    await asyncio.gather(*(begin(env, "counts") for _ in range(8)))
    assert most == [1] * 8


async def test_a_tool_that_cannot_be_called_any_more_is_no_matter_of_the_models(
    release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "MOST_LEFT_BEHIND", 0)

    def tool() -> str:
        return "never"

    env = vf.ToolEnv(dataset=DATASET, tools=[tool])
    for crews in (functions.THREADS, functions.ONE_THREAD):
        waits = Waits(release)
        hanging = asyncio.create_task(crews.attempt(waits))
        await until(waits.inside)
        hanging.cancel()
        await asyncio.wait([hanging])
    state = await begin(env, "tool")
    assert isinstance(state["error"], threads.TooManyLeftBehindError)
    assert state["completion"][-1].role == "assistant"
