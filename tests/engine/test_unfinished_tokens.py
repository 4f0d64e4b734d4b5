"""Tokens of rollouts that a run was stopped in: they were paid for, whoever reads the run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from program import Run, chat_answer
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import saved_events

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
BAD = Reply(400, {"error": {"message": "no"}})
HANG = Reply(hang=True)
FRUIT = [
    {"question": name, "example_id": id_} for id_, name in ((7, "pear"), (5, "fig"), (3, "plum"))
]


class TwoTurns(vf.MultiTurnEnv):
    """Asks once more: 20 tokens in and 10 out for each rollout."""

    replayable = False

    async def env_response(self, messages: Any, state: vf.State, **_: Any) -> Any:
        return [{"role": "user", "content": "and?"}]


def alone(completion: Any) -> float:
    return 1.0


def together(completions: Any) -> list[float]:
    return [1.0] * len(completions)


def environment(reward: Any = alone) -> vf.Environment:
    return TwoTurns(dataset=FRUIT, rubric=vf.Rubric([reward]), max_turns=2)


async def evaluated(env: vf.Environment, server: FaultServer, path: Path, each: int = 1) -> None:
    client = vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="", max_retries=0)
    await env.evaluate(client, "m", max_concurrent=1, rollouts_per_example=each, results_path=path)


async def stopped(
    env: vf.Environment, server: FaultServer, path: Path, script: list[Reply], each: int = 1
) -> None:
    """A run that is cancelled while it waits for the last of these answers."""
    before = len(server.requests)
    server.script(CHAT, script)
    task = asyncio.create_task(evaluated(env, server, path, each))
    async with asyncio.timeout(20):
        while len(server.requests) < before + len(script):
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def tokens_of(path: Path) -> tuple[tuple[int, int], tuple[int, int]]:
    """Tokens of a run on disk, in and out, and which of them were spent for nothing so far."""
    state = RunState()
    for event in saved_events(RunDir(path)):
        state.apply(event)
    return (state.usage.tokens_in, state.usage.tokens_out), (
        state.usage.lost_in,
        state.usage.lost_out,
    )


async def test_they_are_reported_of_the_stopped_run_and_counted_on_when_it_continues(
    folder: Path, fault_server: FaultServer
) -> None:
    env, path = environment(), folder / "run"
    await stopped(env, fault_server, path, [GOOD, GOOD, GOOD, HANG])
    assert tokens_of(path) == ((30, 15), (10, 5))
    await stopped(env, fault_server, path, [GOOD, HANG])
    assert tokens_of(path) == ((40, 20), (20, 10))
    assert Run(path).metadata["unfinished"] == [
        {"example_id": 5, "rollout": 0, "input_tokens": 20, "output_tokens": 10}
    ]
    fault_server.script(CHAT, [GOOD])
    await evaluated(env, fault_server, path)
    assert tokens_of(path) == ((80, 40), (20, 10))
    lost = [row["tui_eval"].get("lost_usage") for row in Run(path).rows]
    assert lost == [None, {"input_tokens": 20, "output_tokens": 10}, None]
    assert "unfinished" not in Run(path).metadata


async def test_they_stay_with_their_rollout_where_examples_get_more_of_them(
    folder: Path, fault_server: FaultServer
) -> None:
    env, path = environment(), folder / "run"
    await stopped(env, fault_server, path, [GOOD, GOOD, GOOD, HANG])
    fault_server.script(CHAT, [GOOD])
    await evaluated(env, fault_server, path, each=2)
    lost = {
        (row["example_id"], row["tui_eval"]["rollout"])
        for row in Run(path).rows
        if "lost_usage" in row["tui_eval"]
    }
    assert lost == {(5, 0)}
    assert tokens_of(path) == ((6 * 20 + 10, 6 * 10 + 5), (10, 5))


async def test_a_generated_rollout_that_waits_for_its_group_is_counted_once(
    folder: Path, fault_server: FaultServer
) -> None:
    env, path = environment(together), folder / "run"
    await stopped(env, fault_server, path, [GOOD, GOOD, GOOD, HANG], each=2)
    assert tokens_of(path)[0] == (30, 15)
    await stopped(env, fault_server, path, [GOOD, HANG], each=2)
    assert tokens_of(path)[0] == (40, 20)
    fault_server.script(CHAT, [GOOD])
    await evaluated(env, fault_server, path, each=2)
    assert tokens_of(path) == ((6 * 20 + 20, 6 * 10 + 10), (20, 10))


async def test_an_errored_rollout_that_was_to_run_again_is_counted_before_it_does(
    folder: Path, fault_server: FaultServer
) -> None:
    env, path = environment(), folder / "run"
    fault_server.script(CHAT, [GOOD, BAD, GOOD, BAD, GOOD])
    await evaluated(env, fault_server, path)
    assert tokens_of(path) == ((40, 20), (0, 0))
    await stopped(env, fault_server, path, [HANG])
    assert tokens_of(path) == ((40, 20), (20, 10))


@pytest.mark.parametrize(
    "nonsense", ["none", 7, [7], [{}], [{"example_id": 5, "rollout": 0, "input_tokens": "x"}]]
)
async def test_metadata_with_nonsense_of_them_says_nothing(
    folder: Path, fault_server: FaultServer, nonsense: Any
) -> None:
    env, path = environment(), folder / "run"
    await stopped(env, fault_server, path, [GOOD, GOOD, GOOD, HANG])
    metadata = Run(path).metadata | {"unfinished": nonsense}
    (path / "metadata.json").write_text(json.dumps(metadata))
    assert tokens_of(path) == ((20, 10), (0, 0))
