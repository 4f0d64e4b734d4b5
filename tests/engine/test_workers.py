"""Rollouts in workers: the same rows as in the engine's own process, and one's code ends no other.

What a worker's death or its standing still comes to is looked at from outside, with the code of an
environment that does it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from program import Program, Run, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply
from tiers import first_always

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("42"))
EXAMPLES, CULPRIT = 6, 3

CODE = """
import asyncio
import os
import re
import signal
import sys
import time

import tui_eval as vf


class Talk(vf.MultiTurnEnv):
    def __init__(self, what, where, **more):
        self._do, self._where = what, where
        super().__init__(**more)

    def at(self, place, state):
        print("at", place)
        if place == self._where and state["example_id"] == CULPRIT:
            DEEDS[self._do]()

    async def setup_state(self, state):
        self.at("setup", state)
        return state

    async def env_response(self, messages, state, **_):
        self.at("answer", state)
        if self._where == "later answer":
            await asyncio.sleep(0.1 if state["example_id"] == CULPRIT else 0.05)
            await asyncio.sleep(0)
            self.at("later answer", state)
        return [{"role": "user", "content": "and now?"}]


def hold():
    while True:
        pass


def close():
    sys.stdout.close()


def nap():
    time.sleep(2)


def hold_the_interpreter():
    re.match("(a+)+$", "a" * 40 + "b")


def hold_deaf():
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGUSR2:
        signal.signal(number, signal.SIG_DFL if number == signal.SIGUSR2 else signal.SIG_IGN)
    hold()


DEEDS = {
    "close": close,
    "hold deaf": hold_deaf,
    "nap": nap,
    "hold the interpreter": hold_the_interpreter,
    "exit": lambda: os._exit(7),
    "abort": os.abort,
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "hold": hold,
}


def load_environment(what="", where="", grouped=False):
    if where == "load" and "--signs-fd" in sys.argv:  # in a worker
        DEEDS[what]()

    async def right(completion, state):
        env.at("reward", state)
        return float(sum(len(one.content) for one in completion))

    def best(states):
        return [float(place) for place, _ in enumerate(states)]

    rubric = vf.Rubric([right, best] if grouped else [right])
    rows = [{"question": f"q{n}", "answer": ""} for n in range(EXAMPLES)]
    env = Talk(what, where, dataset=rows, rubric=rubric, max_turns=3)
    return env
""".replace("CULPRIT", str(CULPRIT)).replace("EXAMPLES", str(EXAMPLES))


def request(server: FaultServer, *more: str, **env_args: Any) -> list[str]:
    said = ("-a", json.dumps(env_args)) if env_args else ()
    to = ("-m", "m", "-b", f"{server.url}/v1", "-n", "-1", "-r", "1", "-s")
    return ["talk", *to, *said, *more]


@pytest.fixture
def talk(program: Program, fault_server: FaultServer) -> Program:
    program.environment("talk", CODE)
    fault_server.script(CHAT, [GOOD])
    return program


def rewards(run: Run) -> dict[tuple[Any, int], float]:
    return {(row["example_id"], row["tui_eval"]["rollout"]): row["reward"] for row in run.rows}


def errors(run: Run) -> dict[Any, dict[str, Any]]:
    return {row["example_id"]: row["error"] for row in run.rows if row["error"]}


def test_the_one_that_ends_its_worker_is_named_also_after_it_has_waited(
    talk: Program, fault_server: FaultServer
) -> None:
    args = request(fault_server, "-w", "1", what="exit", where="later answer")
    done = run_here(talk, *args)
    assert done.code == 3, done
    ended = "A worker ended, last in the code of"
    assert done.err.count(ended) == 2
    assert done.err.count(f"{ended} example {CULPRIT} #0: exit status 7") == 2
    assert errors(talk.only_run()).keys() == {CULPRIT}


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_are_those_of_a_run_without_workers(
    talk: Program, fault_server: FaultServer, grouped: bool
) -> None:
    found = []
    for workers in ((), ("-w", "2")):
        before = {run.path for run in talk.runs()}
        args = request(fault_server, "-r", "3", *workers, grouped=grouped)
        assert run_here(talk, *args).code == 0
        [run] = [run for run in talk.runs() if run.path not in before]
        found.append((rewards(run), run.metadata["usage"], run.metadata["avg_metrics"]))
        assert not (run.path / "journal.jsonl").exists()
    assert found[0] == found[1]
    assert len(found[0][0]) == 3 * EXAMPLES


@pytest.mark.parametrize(
    ("what", "where", "error_class", "how"),
    [
        ("exit", "setup", "environment", "exit status 7"),
        ("abort", "answer", "environment", "signal 6"),
        ("exit", "reward", "scoring", "exit status 7"),
    ],
)
def test_a_rollout_that_ends_its_worker_twice_says_so_and_others_are_right(
    talk: Program, fault_server: FaultServer, what: str, where: str, error_class: str, how: str
) -> None:
    args = request(fault_server, "-w", "1", "-c", "1", what=what, where=where)
    done = run_here(talk, *args)
    assert done.code == 3, done
    assert done.err.count(f"A worker ended, last in the code of example {CULPRIT} #0: {how}") == 2
    run = talk.only_run()
    assert errors(run).keys() == {CULPRIT}
    error = errors(run)[CULPRIT]
    assert (error["error"], error["class"]) == ("WorkerEndedError", error_class)
    assert "twice" in error["error_chain_repr"]
    turns = {"setup": 0, "answer": 1, "reward": 3}[where]
    [row] = [row for row in run.rows if row["error"]]
    assert row["prompt"][-1]["content"] == f"q{CULPRIT}"
    assert [one["content"] for one in row["completion"] if one["role"] == "assistant"] == (
        ["42"] * turns
    )
    usage = row.get("token_usage") or {"input_tokens": 0, "output_tokens": 0}
    assert (usage["input_tokens"], usage["output_tokens"]) == (10 * turns, 5 * turns)
    assert len(row["tui_eval"]["steps"]) == turns and "lost_usage" not in row["tui_eval"]
    assert bool(row["is_completed"]) and row["timing"]["start_time"] > 0
    assert {row["reward"] for row in run.rows if not row["error"]} == {22.0}
    calls = 3 * EXAMPLES if where == "reward" else 3 * (EXAMPLES - 1) + (where == "answer")
    assert len(fault_server.requests) == calls, "no answer is paid twice"


def test_a_rollout_that_closes_standard_output_closes_it_for_nobody(
    talk: Program, fault_server: FaultServer
) -> None:
    done = run_here(talk, *request(fault_server, "-w", "1", what="close", where="setup"))
    assert done.code == 0, done
    assert {row["reward"] for row in talk.only_run().rows} == {22.0}


@pytest.mark.slow
def test_one_that_takes_the_signals_away_and_holds_its_worker_is_found_all_the_same(
    talk: Program, fault_server: FaultServer
) -> None:
    deaf = {"what": "hold deaf", "where": "answer"}
    done = run_here(talk, *request(fault_server, "-w", "1", "--call-timeout", "1", **deaf))
    assert done.code == 3, done
    run = talk.only_run()
    assert errors(run).keys() == {CULPRIT}
    assert errors(run)[CULPRIT]["error"] == "CallTimeoutError"


def test_time_before_its_scoring_does_not_count_for_a_reward_that_holds_its_worker(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("42"), delay=0.3)])
    slow = {"what": "nap", "where": "reward"}
    alone = ("--examples", str(CULPRIT))  # its nap holds the others, and that counts
    done = run_here(talk, *request(fault_server, *alone, "-w", "1", "--timeout", "2.4", **slow))
    assert done.code == 0, done
    assert "A worker ended" not in done.err


@pytest.mark.parametrize(
    ("what", "where"), first_always([("hold", "later answer"), ("stop", "reward")])
)
def test_a_rollout_that_holds_its_worker_longer_than_it_may_times_out(
    talk: Program, fault_server: FaultServer, what: str, where: str
) -> None:
    args = request(fault_server, "-w", "1", "--timeout", "1.5", what=what, where=where)
    done = run_here(talk, *args)
    assert done.code == 3, done
    assert done.err.count("A worker ended, last in the code of") == 2
    assert done.err.count(f"A worker ended, last in the code of example {CULPRIT} #0") == 2
    run = talk.only_run()
    assert errors(run).keys() == {CULPRIT}
    error = errors(run)[CULPRIT]
    assert error["error"] == "RolloutTimeoutError"
    place = "environments/talk.py:" if what == "hold" else "held its worker'"
    assert place in error["error_chain_repr"], "a process that is stopped cannot say where"
    [row] = [row for row in run.rows if row["error"]]
    assert row["stop_condition"] == "timeout_reached"
    if where == "later answer":
        assert 1500 <= row["timing"]["generation_ms"] < 60_000


@pytest.mark.parametrize(
    ("what", "how"),
    [("abort", "signal 6 (Aborted) (environments/talk.py:"), ("exit", "exit status 7")],
)
def test_an_environment_that_ends_its_process_at_its_load_is_named(
    talk: Program, fault_server: FaultServer, what: str, how: str
) -> None:
    done = talk.run(*request(fault_server, "-w", "2", what=what, where="load"))
    assert done.code == 1
    assert f"environment talk ended its worker while it was loaded: {how}" in done.err
    assert talk.runs() == []


def test_its_worker_alone_loads_an_environment_and_once(
    talk: Program, fault_server: FaultServer
) -> None:
    file = talk.folder / "environments" / "talk.py"
    file.write_text(f"{file.read_text()}\nprint('loaded', 'tui_eval.engine' in sys.modules)\n")
    talk.preloaded = False
    done = talk.run(*request(fault_server, "-w", "1"))
    assert done.code == 0, done
    log = (talk.only_run().path / "engine.log").read_text()
    assert log.count("loaded ") == log.count("loaded False") == 1


@pytest.mark.slow
def test_nothing_is_left_where_the_engine_is_killed_while_a_worker_is_held(
    talk: Program, fault_server: FaultServer
) -> None:
    args = request(fault_server, "-w", "2", what="hold", where="setup")
    process = talk.start(*args)
    run = wait_until(lambda: next(iter(talk.runs()), None), "a run")
    wait_until(lambda: len(run.rows) > 0, "others are done")
    held = json.loads((run.path / "lock").read_text())["pid"]
    workers = children(held)
    assert len(workers) >= 2
    os.kill(held, signal.SIGKILL)
    talk.finish(process)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "all are gone")
    again = run_here(talk, "run", "--resume", str(run.path), "-w", "1", "--timeout", "1.5")
    assert again.code == 3, again
    assert errors(run).keys() == {CULPRIT}
    assert len(run.rows) == EXAMPLES


@pytest.mark.parametrize("killed", ["console", "engine"])
def test_a_worker_whose_interpreter_is_held_ends_with_its_engine(
    talk: Program, fault_server: FaultServer, killed: str
) -> None:
    deed = {"what": "hold the interpreter", "where": "setup"}
    process = talk.start(*request(fault_server, "-c", "1", "-w", "1", **deed))
    run = wait_until(lambda: next(iter(talk.runs()), None), "a run")
    wait_until(lambda: len(run.rows) == CULPRIT, "the culprit is next")
    engine = json.loads((run.path / "lock").read_text())["pid"]
    workers = children(engine)
    # An engine without a listener stops by itself.
    os.kill(engine if killed == "engine" else process.pid, signal.SIGKILL)
    talk.finish(process)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "all are gone")


def test_a_column_that_no_state_has_is_reported_by_workers_too(
    talk: Program, fault_server: FaultServer
) -> None:
    done = run_here(talk, *request(fault_server, "-w", "2", "-C", "totally_unknown"))
    assert done.code == 0, done
    assert "totally_unknown: in no rollout's state" in done.out


def test_an_environment_that_cannot_be_described_is_refused(
    talk: Program, fault_server: FaultServer
) -> None:
    talk.environment(
        "talk", CODE.replace("    return env\n", "    env.sampling_args = 7; return env\n")
    )
    done = run_here(talk, *request(fault_server, "-w", "1"))
    assert done.code == 2
    assert "environment talk: what it is cannot be read: TypeError" in done.err


def test_a_run_that_was_stopped_as_a_whole_resumes_and_holds_it_against_no_rollout(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("42"), delay=0.7)])
    process = talk.start(*request(fault_server, "-w", "1", "--call-timeout", "1"))
    run = wait_until(lambda: next(iter(talk.runs()), None), "a run")
    wait_until(lambda: fault_server.requests, "rollouts have begun")
    engine = json.loads((run.path / "lock").read_text())["pid"]
    all_of_them = [engine, *children(engine)]
    for number in signal.SIGSTOP, signal.SIGCONT:
        for pid in all_of_them:
            os.kill(pid, number)
        if number == signal.SIGSTOP:
            time.sleep(2.5)
    done = talk.finish(process)
    assert done.code == 0, done
    assert "A worker ended" not in done.err
    assert {row["reward"] for row in run.rows} == {22.0}


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found]


DIFFERS = """
import os, time
import tui_eval as vf

def load_environment():
    def ends(completion):
        os._exit(3)
    rows = [{"question": str(time.time_ns())}]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([ends]))
"""


@pytest.mark.parametrize("more", [(), ("-w", "2")])
def test_a_dataset_that_differs_at_each_load_says_what_applies(
    talk: Program, fault_server: FaultServer, more: tuple[str, ...]
) -> None:
    talk.environment("talk", DIFFERS)
    done = run_here(talk, *request(fault_server, *more))
    assert done.code == 1 and "Its dataset differs at each load: give it a seed" in done.out, done
    assert ("or leave --num-workers out" in done.out) is bool(more)


def test_more_workers_than_memory_carries_are_refused(
    talk: Program, fault_server: FaultServer
) -> None:
    done = run_here(talk, *request(fault_server, "-w", "1000000", what="", where=""))
    assert done.code == 2
    assert re.search(r"1,000,000 workers of [\d,]+ MB each do not fit into [\d.]+ GB", done.err)
    assert not fault_server.requests and not talk.runs()


@pytest.mark.parametrize(
    ("given", "why"),
    [("0", "0 is too small"), ("none", "'none' is not a whole number"), ("-2", "-2 is too small")],
)
def test_a_number_of_workers_that_is_none_is_refused(
    talk: Program, fault_server: FaultServer, given: str, why: str
) -> None:
    done = run_here(talk, *request(fault_server, "--num-workers", given))
    assert done.code == 2
    assert "-w/--num-workers" in done.err
    assert why in done.err
