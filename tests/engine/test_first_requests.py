"""Of many rollouts that begin at once the first have sent their requests before the last begin."""

from __future__ import annotations

import asyncio
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_runs import CHAT, GOOD, config, until
from multi_turn_runs import at
from program import PATIENCE_S, Program
from servers import FaultServer, Reply

import tui_eval as vf

ROLLOUTS = 300
SOURCE = f"""
    import time
    from pathlib import Path

    import tui_eval as vf

    class Last(vf.SingleTurnEnv):
        async def setup_state(self, state):
            deadline = time.monotonic() + 10
            while state["prompt"][0]["content"] == "last" and not Path("requested").exists():
                assert time.monotonic() < deadline, "nobody has sent anything yet"
                time.sleep(0.01)  # nobody else goes on meanwhile
            return state

    def load_environment():
        rows = [{{"question": "q"}}] * {ROLLOUTS - 1} + [{{"question": "last"}}]
        return Last(dataset=rows, rubric=vf.Rubric([lambda completion: 1.0]))
"""

SIMPLE = f"""
    import tui_eval as vf

    def load_environment():
        rows = [{{"question": str(n)}} for n in range({ROLLOUTS})]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([lambda completion: 1.0]))
"""


def as_soon_as(condition: Callable[[], object], do: Callable[[], object]) -> threading.Thread:
    def look() -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)
        do()

    thread = threading.Thread(target=look)
    thread.start()
    return thread


def test_of_a_worker(program: Program, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [GOOD])
    program.environment("talk", SOURCE)
    looking = as_soon_as(lambda: fault_server.requests, (program.folder / "requested").touch)
    done = program.run(*at(fault_server, "-d", "-n", str(ROLLOUTS), "-c", str(ROLLOUTS), "-r", "1"))
    looking.join()
    assert done.code == 0, done
    assert len(program.only_run().rows) == ROLLOUTS


async def test_a_run_that_is_cancelled_meanwhile_runs_the_others_later(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(hang=True)])
    (folder / "environments").mkdir()
    (folder / "environments" / "led.py").write_text(textwrap.dedent(SIMPLE))
    env = vf.load_environment("led")
    kwargs: dict[str, Any] = {"workers": 1, "results_path": folder / "run"}
    kwargs["max_concurrent"] = ROLLOUTS
    run = asyncio.create_task(env.evaluate(config(fault_server), "m", **kwargs))
    await until(lambda: fault_server.requests)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    fault_server.script(CHAT, [GOOD])
    results = await env.evaluate(config(fault_server), "m", **kwargs)
    assert [one["reward"] for one in results["outputs"]] == [1.0] * ROLLOUTS


async def test_of_a_program_that_runs_them_itself(folder: Path, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [GOOD])

    class Last(vf.SingleTurnEnv):
        async def setup_state(self, state: Any) -> Any:
            deadline = time.monotonic() + 10
            is_last = state["prompt"][0]["content"] == "last"
            while is_last and not fault_server.requests:
                assert time.monotonic() < deadline, "nobody has sent anything yet"
                time.sleep(0.01)  # nobody else goes on meanwhile
            return state

    rows = [{"question": "q"}] * (ROLLOUTS - 1) + [{"question": "last"}]
    env = Last(dataset=rows, rubric=vf.Rubric([lambda completion: 1.0]))
    results = await env.evaluate(config(fault_server), "m", max_concurrent=ROLLOUTS)
    assert [one["error"] for one in results["outputs"]] == [None] * ROLLOUTS
