"""Output, logs and errors of tools, reward functions and environments, in whole runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from program import Program, Run, chat_answer, tool_call
from servers import FaultServer, Reply

from tui_eval.fold.log_records import WARNING, LogParser

CHAT = "/v1/chat/completions"
CALLS = Reply(body=chat_answer("", tool_calls=[tool_call("lookup", '{"city": "Ulm"}')]))

NOISY = """
    import asyncio, logging, sys, threading, time
    from concurrent.futures import ThreadPoolExecutor
    import tui_eval as vf

    log = logging.getLogger("noisy")
    POOL = ThreadPoolExecutor(1)

    def lookup(city: str) -> str:
        "Look a city up."
        print("looks for", city)
        log.info("logs %s", city)
        print("aside", file=sys.stderr)
        thread = threading.Thread(target=print, args=("in a thread",))
        thread.start()
        thread.join()
        POOL.submit(print, "in a pool").result()
        asyncio.run(asyncio.to_thread(print, "in another"))
        return deeper(city)

    def deeper(city):
        raise KeyError(city)

    def right(completion):
        print("rates")
        return 1.0

    class Env(vf.ToolEnv):
        async def setup_state(self, state):
            print("prepares", state["example_id"], "sk-of-a-test-123")
            return state

    def load_environment(n=2):
        return Env(
            tools=[lookup],
            dataset=[{"question": f"q{i}"} for i in range(n)],
            rubric=vf.Rubric(funcs=[right]),
        )
"""


@pytest.fixture
def run(program: Program, fault_server: FaultServer) -> Run:
    program.environment("noisy", NOISY)
    fault_server.script(CHAT, [CALLS, Reply(body=chat_answer("done"))] * 2)
    program.env["NOISY_KEY"] = "sk-of-a-test-123"
    url = f"{fault_server.url}/v1"
    done = program.run(
        *("noisy", "-m", "m", "-b", url, "-k", "NOISY_KEY", "-n", "2", "-r", "1", "-c", "1")
    )
    assert done.code == 0, done
    assert "prepares" not in done.out + done.err
    return program.only_run()


def own(run: Run) -> list[dict[str, Any]]:
    rows = sorted(run.rows, key=lambda row: row["example_id"])
    return [row["tui_eval"] for row in rows]


def test_what_was_printed_stands_with_the_call_that_printed_it(run: Run) -> None:
    for example, ours in enumerate(own(run)):
        assert ours["output"] == f"prepares {example} ****************"
        (call,) = ours["tool_calls"]
        assert call["output"].splitlines() == [
            "looks for Ulm",
            "INFO noisy: logs Ulm",
            "aside",
            "in a thread",
            "in a pool",
            "in another",
        ]
        assert ours["scores"][0]["output"] == "rates"
        assert all("output" not in score for score in ours["scores"][1:])


def test_a_tool_that_raises_has_its_traceback_from_its_own_code_on(run: Run) -> None:
    for ours in own(run):
        (call,) = ours["tool_calls"]
        assert call["error"] == "KeyError: 'Ulm'"
        places = re.findall(r'File ".*?([\w.]+)", line \d+, in (\w+)', call["traceback"])
        assert places == [("noisy.py", "lookup"), ("noisy.py", "deeper")]
        assert call["traceback"].rstrip().endswith("KeyError: 'Ulm'")


@pytest.mark.slow
def test_lines_of_the_log_know_their_rollout(run: Run) -> None:
    _, records = LogParser().parse((run.path / "engine.log").read_bytes(), 0)
    for row in (0, 1):
        mine = [record for record in records if record.row == row]
        printed = [record.lines[0] for record in mine if not record.name]
        assert printed == [
            f"prepares {row} ****************",
            "looks for Ulm",
            "aside",
            "in a thread",
            "in a pool",
            "in another",
            "rates",
        ]
        (failed,) = [record for record in mine if record.level == WARNING]
        assert failed.lines[0].endswith("tool lookup failed: KeyError: 'Ulm'")
        assert failed.lines[-1] == "KeyError: 'Ulm'"
        assert ("noisy", "logs Ulm") in [(record.name, record.lines[0]) for record in mine]


HANGS = """
    import time
    import tui_eval as vf

    def lookup(city: str) -> str:
        "Look a city up."
        while True:
            try:
                time.sleep(0.02)
            except BaseException:
                pass

    def right(completion):
        return 1.0

    def load_environment():
        return vf.ToolEnv(
            tools=[lookup],
            dataset=[{"question": f"q{i}"} for i in range(3)],
            rubric=vf.Rubric(funcs=[right]),
        )
"""


@pytest.mark.slow
def test_a_time_limit_ends_a_rollout_whose_tool_catches_everything(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("hangs", HANGS)
    fault_server.script(CHAT, [CALLS])
    url = f"{fault_server.url}/v1"
    done = program.run("hangs", "-m", "m", "-b", url, "-n", "3", "-r", "1", "--timeout", "1")
    run = program.only_run()
    assert [row["error"]["error"] for row in run.rows] == ["RolloutTimeoutError"] * 3, done
    assert {row["error"]["class"] for row in run.rows} == {"tool"}
