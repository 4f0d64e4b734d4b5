"""Code of an environment that cancels tasks which are not its own: each rollout has its row."""

from __future__ import annotations

import json

import pytest
from program import Program, chat_answer
from servers import FaultServer, Reply
from tiers import some_slow

CODE = """
import asyncio

import tui_eval as vf


def own():
    asyncio.current_task().cancel()


def every():
    for task in asyncio.all_tasks():
        task.cancel()


def loop():
    asyncio.get_running_loop().stop()


async def cancels(state, where):
    if where == WHERE and state["example_id"] == 1:
        WHAT()
        if WAITS:
            await asyncio.sleep(0)


class Env(vf.SingleTurnEnv):
    async def setup_state(self, state):
        await cancels(state, "setup")
        return state

    @vf.cleanup
    async def cleans(self, state):
        await cancels(state, "cleanup")


async def right(completion, state):
    await cancels(state, "reward")
    return 1.0


def best(states):
    return [1.0 for _ in states]


def load_environment(where="", what="", waits=True, grouped=False):
    globals().update(WHERE=where, WHAT=globals()[what], WAITS=waits)
    rubric = vf.Rubric([right, best] if grouped else [right])
    return Env(dataset=[{"question": str(n)} for n in range(3)], rubric=rubric)
"""

CASES = [
    ("setup", "own", True, False, "the environment cancelled its own rollout"),
    ("setup", "own", False, True, "the environment cancelled its own rollout"),
    ("cleanup", "own", True, False, "ancel"),
    ("reward", "own", True, False, "ancel"),
    ("reward", "own", True, True, "ancel"),
    ("reward", "own", False, False, ""),
    ("setup", "every", True, False, "It ended its worker: exit status 1, twice"),
    ("reward", "loop", True, True, "It ended its worker: exit status 1, twice"),
]


IDS = ["-".join(map(str, case[:4])) for case in CASES]


@pytest.mark.parametrize(
    ("where", "what", "waits", "grouped", "says"),
    some_slow(CASES, IDS, "setup-own-True-False", "reward-own-False-False"),
)
def test_every_rollout_has_its_row(
    program: Program,
    fault_server: FaultServer,
    where: str,
    what: str,
    waits: bool,
    grouped: bool,
    says: str,
) -> None:
    program.environment("cancels", CODE)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    args = {"where": where, "what": what, "waits": waits, "grouped": grouped}
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "-1", "-r", "1", "-s", "-w", "1")
    started = program.start("cancels", *to, "-a", json.dumps(args))
    done = program.finish(started, 60)
    rows = {row["example_id"]: row for row in program.only_run().rows}
    assert sorted(rows) == [0, 1, 2], done
    assert done.code in (0, 3), done
    others = {rows[n]["reward"] for n in (0, 2)}
    assert others == {2.0 if grouped else 1.0}, rows
    error = rows[1]["error"]
    if says:
        assert error and says in error["error_chain_repr"], rows[1]
