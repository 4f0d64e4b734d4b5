"""A run whose every rollout ends its worker ends, and can be resumed once that is mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Program, chat_answer, tool_call
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.engine.workers.replacement import MOST_CULPRITS, WorkerDeaths
from tui_eval.worker.vital_signs import NOBODY

CODE = """
import os

import tui_eval as vf


class Ends(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if not os.path.exists(MENDED):
            os._exit(9)
        return state


def load_environment():
    rows = [{"question": f"q{n}", "answer": ""} for n in range(10)]
    return Ends(dataset=rows, rubric=vf.Rubric([lambda completion: 1.0]))
"""


@pytest.mark.slow
def test_a_run_whose_every_rollout_ends_its_worker_ends_and_can_be_resumed(
    program: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    mended = tmp_path / "mended"
    program.environment("ends", CODE.replace("MENDED", repr(str(mended))))
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "-1", "-r", "1", "-s", "-c", "2")
    done = run_here(program, "ends", *to)
    assert done.code == 1, done
    assert f"{MOST_CULPRITS} rollouts in a row ended their workers" in done.out, done
    assert "exit status 9" in done.out and "resume" in done.out
    run = program.only_run()
    assert len(run.rows) == MOST_CULPRITS
    assert all(row["error"]["error"] == "WorkerEndedError" for row in run.rows)
    mended.touch()
    run_here(program, "run", "--resume", str(run.path))
    rows = {row["example_id"]: row for row in run.rows}
    assert len(rows) == len(run.rows) == 10
    assert [row["reward"] for row in rows.values()] == [1.0] * 10


@pytest.mark.slow
def test_no_more_rows_say_that_they_ended_their_workers_than_the_end_of_the_run_says(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("ends", CODE.replace("MENDED", "'mended'").replace("(10)", "(30)"))
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "-1", "-r", "1", "-s")
    done = run_here(program, "ends", *to, "-c", "12", "-w", "6", "--no-preflight")
    assert done.code == 1, done
    assert f"{MOST_CULPRITS} rollouts in a row ended their workers" in done.out, done
    assert len(program.only_run().rows) == MOST_CULPRITS


def culprits(deaths: WorkerDeaths, count: int, error_class: str = "tool") -> None:
    for row in range(count):
        deaths.add_culprit(row, error_class)
        deaths.written(row)
        deaths.generated(row)


def test_one_that_comes_to_its_end_in_between_shows_that_not_all_do() -> None:
    deaths = WorkerDeaths()
    culprits(deaths, MOST_CULPRITS - 1)
    deaths.generated(100)
    culprits(deaths, MOST_CULPRITS - 1)
    assert not deaths.are_too_many
    culprits(deaths, 1)
    assert deaths.are_too_many


def test_one_that_is_generated_says_nothing_of_those_that_end_workers_when_scored() -> None:
    deaths = WorkerDeaths()
    for _ in range(MOST_CULPRITS):
        culprits(deaths, 1, "scoring")
        deaths.generated(100)
    assert deaths.are_too_many
    deaths.written(100)
    assert not deaths.are_too_many


def test_one_that_is_run_again_after_its_row_is_counted_again() -> None:
    deaths = WorkerDeaths()
    assert [deaths.add(3), deaths.add(3)] == [1, 2]
    deaths.written(3)
    assert deaths.add(3) == 1, "and its row said `twice` of those before"


def test_workers_that_end_without_a_rollout_are_counted_between_rows() -> None:
    deaths = WorkerDeaths()
    assert [deaths.add(NOBODY), deaths.add(NOBODY)] == [1, 2]
    deaths.written(3)
    assert deaths.of_nobody == 0


LOADS = """
import os
from pathlib import Path

import tui_eval as vf

LOADED = Path(FILE)


def load_environment():
    with LOADED.open("a") as file:
        file.write("loaded\\n")
    if LOADED.read_text().count("loaded") in (2, 3):
        os.kill(os.getpid(), 9)
    return Ends(dataset=[{"question": "q", "answer": ""}], rubric=vf.Rubric([reward]))


def reward(completion):
    return 1.0


class Ends(vf.SingleTurnEnv):
    async def setup_state(self, state):
        if LOADED.read_text().count("loaded") == 1:
            os._exit(9)
        return state
"""


def test_a_worker_that_is_killed_while_it_loads_what_was_loaded_before_is_started_again(
    program: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    program.environment("loads", LOADS.replace("FILE", repr(str(tmp_path / "loads"))))
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "1", "-s")
    done = run_here(program, "loads", *to)
    assert done.code == 0, done
    assert [row["reward"] for row in program.only_run().rows] == [1.0]


ONCE = """
import asyncio
import os
from pathlib import Path

import tui_eval as vf


class Ends(vf.SingleTurnEnv):
    async def setup_state(self, state):
        with open("began", "a") as file:
            file.write("once\\n")
        if Path("began").read_text() == "once\\n":
            os._exit(9)
        return state

    @vf.teardown
    async def takes_a_while(self):
        await asyncio.sleep(1)


def load_environment():
    return Ends(dataset=[{"question": "q"}], rubric=vf.Rubric([lambda completion: 1.0]))
"""


def test_a_run_that_is_over_while_one_is_run_alone_ends_as_it_would_without(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("once", ONCE)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "1", "-s")
    done = run_here(program, "once", *to, "--max-total-tokens", "19", "-S", '{"max_tokens": 50}')
    assert done.code == 4, done
    assert (program.folder / "began").read_text() == 2 * "once\n", "it begins no third time"


AFTER_A_WHILE = """
import os
import time

import tui_eval as vf
from tui_eval.observer import CURRENT


def look(at: str) -> str:
    time.sleep(0.5)
    if CURRENT.get().example_id == 9:
        os._exit(7)
    return at


def load_environment():
    rows = [{"question": f"q{n}", "answer": ""} for n in range(32)]
    rubric = vf.Rubric([lambda completion: 1.0])
    return vf.ToolEnv(tools=[look], dataset=rows, rubric=rubric, max_turns=2)
"""


@pytest.mark.parametrize("rollouts", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_one_of_many_that_ends_its_worker_from_a_thread_is_found_by_halves(
    program: Program, fault_server: FaultServer, rollouts: int
) -> None:
    program.environment("after", AFTER_A_WHILE)
    call = chat_answer("", tool_calls=[tool_call("look", '{"at": "it"}')])
    fault_server.script("/v1/chat/completions", [Reply(body=call)])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "-1", "-r", str(rollouts), "-s")
    done = run_here(program, "after", *to, "-c", "64", "--no-preflight")
    assert done.code == 3, done
    rows = program.only_run().rows
    ended = [row["example_id"] for row in rows if row["error"]]
    assert ended == [9] * rollouts and len(rows) == 32 * rollouts
    assert done.err.count("A worker ended") <= 8 * rollouts, done.err


def test_those_beside_one_that_is_given_up_are_suspects_no_more() -> None:
    deaths = WorkerDeaths()
    assert deaths.suspects(1, [2, 3, 4]) == []
    assert deaths.suspects(2, [3, 4]) == [3, 4]
    deaths.clear_suspects(2)
    assert deaths.suspects(5, [3]) == [3] and deaths.suspects(6, [4]) == [4]
    for row in (1, 3, 4):
        deaths.written(row)
    assert deaths.suspects(7, [3, 4]) == []
