"""Memory of finished rollouts: numbers alone."""

from __future__ import annotations

import asyncio
import gc
import socket
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from program import chat_answer
from run_events import finished, started
from servers import FaultServer, Reply
from tiers import first_always

import tui_eval as vf
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.transport.listener import Listener
from tui_eval.engine.transport.server import listen
from tui_eval.engine.transport.sockets import bind_socket
from tui_eval.engine.transport.worker import Worker
from tui_eval.events import HEAD, RolloutFinished
from tui_eval.stats.quantiles import EXACT_UP_TO
from tui_eval.worker.rollout_observer import RolloutObserver

ROLLOUTS = 300
"""A loop keeps a hundred timers that were cancelled, and what was at work when they were made."""
WARM = EXACT_UP_TO + 2
"""From here on no times are kept one by one."""
ROWS = WARM + 6_000
MOST_BYTES_A_ROW = 150
"""An hour's rows are little beside the process itself then."""


@pytest.fixture
def no_collections() -> Iterator[None]:
    """No garbage collection: what is freed is freed because nobody holds it."""
    gc.collect()
    gc.disable()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


class Remembering(vf.SingleTurnEnv):
    """Says which states there were, without holding them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.states: list[weakref.ref[vf.State]] = []

    async def setup_state(self, state: vf.State) -> vf.State:
        self.states.append(weakref.ref(state))
        return state


async def one(completion: Any) -> float:
    return 1.0


def each(completions: list[Any]) -> list[float]:
    return [1.0] * len(completions)


@pytest.mark.parametrize("func", first_always([one, each]))
@pytest.mark.usefixtures("folder", "no_collections")
async def test_a_finished_rollout_is_freed_without_a_garbage_collection(func: Any) -> None:
    examples = [{"question": f"q{n}"} for n in range(ROLLOUTS // 2)]
    env = Remembering(dataset=examples, rubric=vf.Rubric([func]))
    with FaultServer() as server:
        server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))] * ROLLOUTS)
        config = vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="")
        await env.evaluate(config, "m", rollouts_per_example=2, max_concurrent=2)
    assert len(env.states) == ROLLOUTS
    assert [state() for state in env.states] == [None] * ROLLOUTS
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    assert not [found for found in gc.garbage if isinstance(found, RolloutObserver)]


def reported(row: int) -> RolloutFinished:
    """A row's event as it is decoded: nothing in it is shared with another one."""
    texts = {"question": f"{row} {'q' * HEAD}"[:HEAD], "answer": f"{row} {'a' * HEAD}"[:HEAD]}
    event = finished(row, (row % 7) / 7, total_ms=row / 3, model_ms=[row / 9], **texts)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=RolloutFinished)


@pytest.mark.usefixtures("no_collections")
async def test_a_worker_that_has_ended_is_freed() -> None:
    worker = await Worker.start()
    worker.kill()
    assert await worker.lost == "signal 9 (Killed)"
    await asyncio.sleep(0)  # its connection is closed in the next turn
    freed = weakref.ref(worker)
    del worker
    assert freed() is None


@pytest.mark.usefixtures("no_collections")
async def test_a_listener_that_left_is_freed() -> None:
    hub, gone = Hub(), asyncio.Event()
    path = f"/tmp/tui-eval-test-{id(hub)}.sock"
    server = await listen(bind_socket(path), hub, lambda command: None, gone.set)
    try:
        for _ in range(3):  # each is gone before the first write to it
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
            await asyncio.wait_for(gone.wait(), 30)
            gone.clear()
        async with asyncio.timeout(10):  # their connections are closed in later turns
            while any(isinstance(one, Listener) for one in gc.get_objects()):
                await asyncio.sleep(0.01)
    finally:
        server.close()
        Path(path).unlink()


@pytest.mark.slow
async def test_an_engine_keeps_numbers_of_a_finished_rollout_and_no_texts() -> None:
    hub = Hub()
    hub.publish(started(ROWS // 2))
    hub.flush()
    tracemalloc.start()
    try:
        for row in range(ROWS):
            if row == WARM:
                hub.flush()
                gc.collect()
                before, _ = tracemalloc.get_traced_memory()
            hub.publish(reported(row))
            if row % 100 == 99:
                hub.flush()
        hub.flush()
        gc.collect()
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert hub.state.finished == ROWS
    assert (now - before) / (ROWS - WARM) < MOST_BYTES_A_ROW
