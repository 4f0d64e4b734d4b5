"""Values that a frame has no place for: they arrive all the same, or the run says why it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_listener import listening
from program import Program, chat_answer
from servers import FaultServer, Reply

from tui_eval.commands import Subscribe
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import MessagesAdded
from tui_eval.feeds.live_feed import LiveFeed

GOOD = Reply(body=chat_answer("42"))
WIDE = 2**70

CODE = """
import asyncio
import os
from pathlib import Path

import tui_eval as vf
from tui_eval.messages import to_messages
from tui_eval.worker import to_worker


def deep():
    found = []
    for _ in range(100_000):
        found = [found]
    return found


class Odd(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if self.what == "keys":
            state[2**80] = state[None] = 1
            state["metrics"] = 5
        if self.what == "sends":
            state.observer._hub._engine.send(to_worker.AddSaved(0, {"deep": deep()}))
        if self.what == "deep":
            said = {"role": "assistant", "content": "", "thinking_blocks": [{"deep": deep()}]}
            state["prompt"] = [*state["prompt"], *to_messages([said])]
            Path("begun").touch()
            while not Path("watched").exists():
                await asyncio.sleep(0.01)
        return state


async def right(completion, state):
    if os.path.exists("stops") and state["example_id"] == state["info"]["last"]:
        os.kill(os.getppid(), 2)
        await asyncio.sleep(60)
    return 1.0


def best(states):
    return [float(state["info"]["n"] == 2**80) for state in states]


def load_environment(what=""):
    rows = [
        {"question": f"q{n}", "answer": "", "example_id": n * 2**70, "info": INFO}
        for n in range(2)
    ]
    rubric = vf.Rubric([right, best] if what == "grouped" else [right])
    env = Odd(dataset=rows, rubric=rubric, sampling_args={"seed": 2**66} if what else {})
    env.what = what
    return env
""".replace("INFO", '{"n": 2**80, -(2**90): [True], "last": 2**70, "half": "\\ud800"}')


@pytest.fixture
def odd(program: Program, fault_server: FaultServer) -> Program:
    program.environment("odd", CODE)
    fault_server.script("/v1/chat/completions", [GOOD])
    return program


def request(server: FaultServer, *more: str, **env_args: Any) -> list[str]:
    said = ("-a", json.dumps(env_args)) if env_args else ()
    return ["odd", "-m", "m", "-b", f"{server.url}/v1", "-n", "-1", "-r", "2", "-s", *said, *more]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-w", "2")])
def test_numbers_of_any_size_come_to_the_results_as_they_are(
    odd: Program, fault_server: FaultServer, workers: tuple[str, ...]
) -> None:
    done = odd.finish(odd.start(*request(fault_server, *workers, what="plain")), 30)
    assert done.code == 0, done
    rows = odd.only_run().rows
    assert sorted(row["example_id"] for row in rows) == [0, 0, WIDE, WIDE]
    assert {row["info"]["n"] for row in rows} == {2**80}
    assert json.loads(fault_server.requests[0].body)["seed"] == 2**66


@pytest.mark.slow
def test_a_run_with_them_that_was_interrupted_is_resumed(
    odd: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    (tmp_path / "stops").touch()
    args = request(fault_server, "-w", "1", "-N", "-c", "2", what="grouped")
    odd.finish(odd.start(*args), 30)
    (tmp_path / "stops").unlink()
    run = odd.only_run()
    assert len(run.rows) < 4
    done = odd.finish(odd.start("run", "--resume", str(run.path)), 30)
    assert done.code == 0, done
    assert sorted(row["example_id"] for row in run.rows) == [0, 0, WIDE, WIDE]
    assert {row["reward"] for row in run.rows} == {2.0}


def test_what_cannot_be_sent_ends_the_run_and_says_why(
    odd: Program, fault_server: FaultServer
) -> None:
    done = odd.finish(odd.start(*request(fault_server, "-w", "1", what="sends")), 30)
    assert done.code == 1, done
    assert "RecursionError" in done.out + done.err, done


@pytest.mark.slow
async def test_what_is_nested_too_deeply_for_those_who_watch_ends_no_run(
    odd: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    request = request_of("odd", num_examples="1", env_args='{"what": "deep"}')
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until((odd.folder / "begun").exists, "its prompt is made")
        one.feed.send(Subscribe([0]))
        (odd.folder / "watched").touch()
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end is not None and one.state.end.status == "finished", one.state.end
    assert one.of(MessagesAdded) and len(odd.only_run().rows) == 1


@pytest.mark.slow
def test_keys_of_a_state_may_be_anything(odd: Program, fault_server: FaultServer) -> None:
    args = request(fault_server, "-C", "wanted", what="keys")
    done = odd.finish(odd.start(*args), 30)
    assert done.code == 0 and len(odd.only_run().rows) == 4, done
