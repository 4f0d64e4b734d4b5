"""A rollout that ended a worker is run alone, away from its group: whatever becomes of it there."""

from __future__ import annotations

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CODE = """
import asyncio
import os
from pathlib import Path

import tui_eval as vf


class Env(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if state.observer.row == 0:
            if not Path("ended").exists():
                Path("ended").touch()
                os._exit(9)
            while LATER and not Path("others").exists():
                await asyncio.sleep(0.01)
            raise ValueError("no")
        return state

    @vf.cleanup
    async def counts(self, state):
        with open("generated", "a") as file:
            file.write("one\\n")
        if Path("generated").read_text().count("one") == 2:
            Path("others").touch()


async def best(states):
    return [float(len(states)) for _ in states]


def load_environment(later=False):
    globals().update(LATER=later)
    return Env(dataset=[{"question": "q"}], rubric=vf.Rubric([best]))
"""


@pytest.mark.parametrize("later", ["false", "true"], ids=["before-the-others", "as-the-last-one"])
def test_the_others_are_compared_without_one_that_errors_there(
    program: Program, fault_server: FaultServer, later: str
) -> None:
    program.environment("ends", CODE)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "3", "-s", "-c", "3")
    done = run_here(program, "ends", *to, "-a", f'{{"later": {later}}}')
    rows = sorted(program.only_run().rows, key=lambda row: row["tui_eval"]["rollout"])
    assert [row["reward"] for row in rows if not row["error"]] == [2.0, 2.0], done
    assert [row["error"] and row["error"]["error"] for row in rows] == ["ValueError", None, None]
    assert done.code == 3, done
