"""Model calls of one rollout that are in flight together: each is counted as what it is."""

from __future__ import annotations

import asyncio
from typing import Any

from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.engine.transport.hub import Hub
from tui_eval.events import Stage
from tui_eval.worker.engine_ports import EngineHeld, EnginePort
from tui_eval.worker.gate import Gate
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.to_engine import Refused

CODE = """
import asyncio

import tui_eval as vf

class Parallel(vf.SingleTurnEnv):
    async def rollout(self, input, client, model, sampling_args=None):
        state = await self.init_state(input, client, model, sampling_args)
        calls = [self.get_model_response(state, state["prompt"]) for _ in range(2)]
        await asyncio.gather(*calls)
        return state

def load_environment():
    rubric = vf.Rubric(funcs=[lambda completion: 1.0])
    return Parallel(dataset=[{"question": "q"}], rubric=rubric)
"""


async def test_each_reports_when_it_was_sent() -> None:
    sent: list[Any] = []
    engine = EnginePort(sent.append)
    observer = RolloutObserver(7, 0, Hub(), Gate(), EngineHeld(engine, 7, True, 0))
    began: list[float] = []
    answers, refuses = asyncio.Event(), asyncio.Event()

    async def call(continues: asyncio.Event) -> None:
        await observer.model_call("m", {}, ())
        began.append(asyncio.get_running_loop().time())
        await continues.wait()
        if continues is refuses:
            observer.request_sleeps(1.0, "status 429")
        else:
            observer.model_answered(1, 1)

    first, second = (asyncio.create_task(call(one)) for one in (answers, refuses))
    while len(began) < 2:
        await asyncio.sleep(0)
    answers.set()
    await first
    (answered,) = engine.answered
    assert answered[1] <= began[0]
    assert observer.stage_of_call is Stage.MODEL
    refuses.set()
    await second
    (refused,) = [one for one in sent if isinstance(one, Refused)]
    assert began[0] <= refused.requested_at <= began[1]


def test_one_that_is_not_answered_in_time_is_the_endpoints_error(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("parallel", CODE)
    script = [Reply(body=chat_answer("yes")), Reply(hang=True)]
    fault_server.script("/v1/chat/completions", script)
    url = f"{fault_server.url}/v1"
    done = run_here(program, "parallel", "-m", "m", "-b", url, "-s", "-r", "1", "--timeout", "1")
    (row,) = program.only_run().rows
    assert row["error"]["error"] == "RolloutTimeoutError", done
    assert row["error"]["class"] == "endpoint"
