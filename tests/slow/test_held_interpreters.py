"""Twelve ways to hold or kill the interpreter, from four places of people's code, in a worker.

The run ends by itself, every other rollout has its right reward, and the culprit's row says why.
"""

from __future__ import annotations

import json

import pytest
from program import Program, chat_answer, tool_call
from run_here import run_here
from servers import FaultServer, Reply

CALLS = Reply(body=chat_answer("", tool_calls=[tool_call("look", '{"at": "it"}')]))

CODE = """
import asyncio
import ctypes
import os
import resource
import signal
import sys
import threading
import time

import tui_eval as vf


def sync_loop():
    while True:
        pass


def c_loop():
    sum(range(10**12))


def sleep():
    time.sleep(600)


def deep_c_recursion():
    nested = ()
    for _ in range(500_000):
        nested = (nested,)
    hash(nested)


def stop_itself():
    os.kill(os.getpid(), signal.SIGSTOP)


def leave():
    os._exit(7)


def segfault():
    ctypes.string_at(0)


def grow():
    kept = []
    while True:
        kept.append(b"x" * 20_000_000)


def thread_bomb():
    now = resource.getrlimit(resource.RLIMIT_AS)
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 2**30, now[1]))  # spares the machine
    while True:
        try:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        except RuntimeError:
            pass


def close_stdout():
    print("closes it")
    sys.stdout.close()
    os.close(1)


def own_handlers():
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    sync_loop()


async def ignore_cancellation():
    while True:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            pass


WAYS = {
    "sync loop": sync_loop,
    "C loop": c_loop,
    "sleep in async def": sleep,
    "deep C recursion": deep_c_recursion,
    "SIGSTOP": stop_itself,
    "os._exit": leave,
    "segfault": segfault,
    "abort": os.abort,
    "memory": grow,
    "thread bomb": thread_bomb,
    "closed stdout": close_stdout,
    "own signal handlers": own_handlers,
}


class Looks(vf.ToolEnv):
    def __init__(self, way, where, **more):
        self.way, self.where = way, where
        super().__init__(tools=[self.look], max_turns=2, **more)

    def at(self, place, state):
        print("at", place)
        if self.where == place and state["answer"] == "culprit":
            WAYS[self.way]()

    async def setup_state(self, state):
        self.at("setup", state)
        return state

    async def env_response(self, messages, state, **more):
        self.state = state
        return await super().env_response(messages, state, **more)

    async def look(self, at: str) -> str:
        state = self.state
        if self.way == "ignores its cancellation" and state["answer"] == "culprit":
            await ignore_cancellation()
        self.at("tool", state)
        return at

    @vf.cleanup
    async def put_away(self, state):
        self.at("cleanup", state)


def load_environment(way, where):
    async def right(completion, state):
        env.at("reward", state)
        return float(len(completion))

    names = ["good", "culprit", "good", "good", "good"]
    rows = [{"question": f"q{n}", "answer": name} for n, name in enumerate(names)]
    env = Looks(way, where, dataset=rows, rubric=vf.Rubric([right]))
    return env
"""

HELD = ("CallTimeoutError RolloutTimeoutError", "timeout), and held its worker")
"""Which of the two limits is met first depends on how long the rollout took before."""
ENDED = "WorkerEndedError"
WAYS = {
    "sync loop": HELD,
    "C loop": HELD,
    "sleep in async def": HELD,
    "deep C recursion": (ENDED, "signal 11 (Segmentation fault), twice"),
    "SIGSTOP": HELD,
    "os._exit": (ENDED, "exit status 7, twice"),
    "segfault": (ENDED, "signal 11 (Segmentation fault), twice"),
    "abort": (ENDED, "signal 6 (Aborted), twice"),
    "memory": (ENDED, "600MB (--worker-memory), twice"),
    "thread bomb": (f"{HELD[0]} MemoryError {ENDED}", ""),  # whichever gives way first
    "closed stdout": None,
    "own signal handlers": HELD,
}
CLASSES = {
    "setup": "environment",
    "tool": "tool",
    "reward": "scoring",
    "cleanup": "environment",
}


@pytest.mark.parametrize("where", CLASSES)
@pytest.mark.parametrize("way", WAYS)
def test_the_run_ends_by_itself_and_only_the_culprit_is_errored(
    program: Program, fault_server: FaultServer, way: str, where: str
) -> None:
    program.environment("looks", CODE)
    fault_server.script("/v1/chat/completions", [CALLS])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "-1", "-r", "1", "-s")
    limits = ["--timeout", "4", "--call-timeout", "4", "-w", "1"]
    if way == "memory":
        limits += ["--worker-memory", "600MB"]
    env_args = json.dumps({"way": way, "where": where})
    done = run_here(program, "looks", *to, *limits, "-a", env_args)
    rows = program.only_run().rows
    assert [row["reward"] for row in rows if row["answer"] == "good"] == [3.0] * 4, done
    [culprit] = [row for row in rows if row["answer"] == "culprit"]
    expected = WAYS[way]
    if expected is None:
        assert (done.code, culprit["error"], culprit["reward"]) == (0, None, 3.0)
        return
    assert done.code == 3, done
    error = culprit["error"]
    assert error["error"] in expected[0].split(), error
    classes = [CLASSES[where]]
    if way == "thread bomb":  # what is called after it may be what gives way
        classes.append("environment")
    assert error["class"] in classes, error
    assert expected[1] in error["error_chain_repr"]


def test_a_call_that_ignores_its_cancellation_is_ended_with_its_worker(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("looks", CODE)
    fault_server.script("/v1/chat/completions", [CALLS])
    to = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "-1", "-r", "1", "-s")
    env_args = json.dumps({"way": "ignores its cancellation", "where": ""})
    done = run_here(program, "looks", *to, "--call-timeout", "1", "-w", "1", "-a", env_args)
    assert done.code == 3, done
    [error] = [row["error"] for row in program.only_run().rows if row["error"]]
    assert (error["error"], error["class"]) == ("CallTimeoutError", "tool")
    assert "took longer than 1 s (--call-timeout), and ignored its end" in error["error_chain_repr"]
