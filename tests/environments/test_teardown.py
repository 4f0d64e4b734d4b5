"""When teardown handlers run, and for which environments."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest
from stub_client import StubClient, answer

import tui_eval as vf
from tui_eval.types import RolloutInput

ROW: RolloutInput = {"prompt": "q", "example_id": 0, "task": "t"}

DEFINED = """
import tui_eval as vf

class Env(vf.SingleTurnEnv):
    def __init__(self, name, fails=False):
        self.name = name
        super().__init__(dataset=[{"question": "q"}])
        if fails:
            raise OSError("no server")

    @vf.teardown
    async def close(self):
        print("closed", self.name)

class Client:
    async def get_response(self, *args, **kwargs):
        raise vf.ModelError("nobody is there")

def use(env):
    row = {"prompt": "q", "example_id": 0, "task": "t"}
    asyncio.run(env.run_rollout(None, row, Client(), "m"))

import asyncio, logging
logging.disable()
"""


class Counted(vf.SingleTurnEnv):
    def __init__(self) -> None:
        super().__init__(dataset=[{"question": "q"}])
        self.closed = 0

    @vf.teardown
    def close(self) -> None:
        self.closed += 1


async def use(env: vf.Environment) -> None:
    state = await env.run_rollout(None, ROW, StubClient(answer("a")), "m")
    assert state["error"] is None


async def test_an_environment_is_torn_down_again_after_it_was_used_again() -> None:
    env = Counted()
    await use(env)
    await env.run_teardown()
    await env.run_teardown()
    assert env.closed == 1
    await use(env)
    await env.run_teardown()
    assert env.closed == 2


async def test_a_member_of_a_group_is_torn_down_again_after_it_was_used_again() -> None:
    env = Counted()
    group = vf.EnvGroup([env], ["one"])
    for _ in range(2):
        state = await group.run_rollout(None, {**ROW, "task": "one"}, StubClient(answer()), "m")
        assert state["error"] is None
        assert await group.run_teardown() == []
    assert env.closed == 2


def test_an_environment_that_was_not_used_is_not_kept_alive() -> None:
    env = weakref.ref(Counted())
    gc.collect()
    assert env() is None


async def test_an_environment_that_was_torn_down_is_not_kept_alive() -> None:
    made = Counted()
    await use(made)
    await made.run_teardown()
    env = weakref.ref(made)
    del made
    gc.collect()
    assert env() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("env = Env('made')", ["closed made"]),
        ("use(Env('used and dropped'))", ["closed used and dropped"]),
        ("env = Env('once'); use(env); asyncio.run(env.run_teardown())", ["closed once"]),
        (
            "try:\n    Env('half made', fails=True)\nexcept OSError:\n    print('failed')",
            ["failed"],
        ),
    ],
)
def test_what_is_left_is_torn_down_when_the_interpreter_exits(
    program: str, said: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DEFINED + program], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (said, "", 0)
