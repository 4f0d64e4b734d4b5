"""What a finished rollout leaves behind in memory: nothing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf


@pytest.fixture
def no_collections() -> Iterator[None]:
    """No garbage collection: what is freed is freed because nobody holds it."""
    gc.collect()
    gc.disable()
    yield
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


@pytest.mark.parametrize("func", [one, each])
@pytest.mark.usefixtures("folder", "no_collections")
async def test_a_finished_rollout_is_freed_without_a_garbage_collection(func: Any) -> None:
    examples = [{"question": f"q{n}"} for n in range(4)]
    env = Remembering(dataset=examples, rubric=vf.Rubric([func]))
    with FaultServer() as server:
        server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))] * 8)
        config = vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="")
        await env.evaluate(config, "m", rollouts_per_example=2)
    assert len(env.states) == 8
    assert [state() for state in env.states] == [None] * 8
