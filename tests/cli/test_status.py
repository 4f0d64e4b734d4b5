"""`tui-eval status`: what every rollout in flight waits for, and since when."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_here import command_here
from program import TWO_TURNS, Program, chat_answer, tool_call, wait_until
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.commands import Command, Detach, Pause, Unpause
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.runs.lock import holder

CHAT, JUDGE = "/v1/chat/completions", "/judge/chat/completions"
SAYS_YES = chat_answer("yes")

WAITING = """
import asyncio
import pathlib

import tui_eval as vf
from openai import AsyncOpenAI

KINDS = ["done", "model", "tool", "reward", "judge", "retry", "setup", "code"]


async def hold():
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.02)


class Env(vf.ToolEnv):
    async def setup_state(self, state):
        if state["info"]["kind"] == "setup":
            await hold()
        return await super().setup_state(state)

    async def add_model_response(self, state, *args):
        if state["info"]["kind"] == "code":
            await hold()
        return await super().add_model_response(state, *args)


async def search(query: str) -> str:
    "Searches."
    await hold()
    return "found"


def load_environment(judge_url):
    client = AsyncOpenAI(base_url=judge_url, api_key="k", max_retries=0)
    rubric = vf.JudgeRubric(judge_client=client, judge_model="strict")

    async def right(prompt, completion, info, judge, state):
        if info["kind"] == "reward":
            await hold()
        if info["kind"] == "judge":
            await judge(prompt, completion, "", state)
        return 1.0

    rubric.add_reward_func(right)
    rows = [{"question": kind, "info": {"kind": kind}} for kind in KINDS]
    return Env(tools=[search], dataset=rows, rubric=rubric)
"""
KINDS = ["done", "model", "tool", "reward", "judge", "retry", "setup", "code"]


class WaitingServer(FaultServer):
    """Answers each example by its kind; what hangs is let go by `go`."""

    go = threading.Event()

    def _next_reply(self, path: str) -> Reply:
        if path == JUDGE:
            return Reply(body=SAYS_YES, hold=(0, self.go))
        messages = self.requests[-1].json()["messages"]
        kind = messages[0]["content"]
        if kind == "model":
            return Reply(body=SAYS_YES, hold=(0, self.go))
        if kind == "tool" and len(messages) == 1:
            call = tool_call("search", '{"query": "x"}')
            return Reply(body=chat_answer("", tool_calls=[call]))
        if kind == "retry" and not self.go.is_set():
            return Reply(500, {"error": {"message": "warming up"}}, {"Retry-After": "30"})
        return Reply(body=SAYS_YES)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Program, Path, FaultServer]]:
    """A run whose rollouts all wait for something else."""
    program = Program(tmp_path_factory.mktemp("status"))
    program.environment("waiting", WAITING)
    with WaitingServer() as server:
        args = json.dumps({"judge_url": f"{server.url}/judge"})
        to = ("-m", "m", "-b", f"{server.url}/v1", "-a", args)
        many = ("-n", "-1", "-r", "1", "-c", "20", "-s", "--no-adaptive")
        process = program.start("waiting", *to, *many)
        try:
            begun = program.folder / "outputs" / "evals"
            run = wait_until(lambda: [*begun.glob("*/*/results.jsonl")], "it began")
            path = run[0].parent
            wait_until(lambda: set(waits(program, path)) == set(KINDS[1:]), "all of them wait")
            yield program, path, server
        finally:
            (program.folder / "go").touch()
            server.go.set()
            process.send_signal(signal.SIGINT)
            program.finish(process)
            program.end_all()


def status(program: Program, path: Path) -> dict[str, Any]:
    done = command_here(program, "status", str(path), "--json")
    assert done.code == 0, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def waits(program: Program, path: Path) -> dict[str, dict[str, Any]]:
    """The rollouts in flight that wait for what their kind waits for, by their kind."""
    stages = {
        **{"model": "model", "tool": "tool", "reward": "scoring", "judge": "scoring"},
        **{"retry": "sleeping", "setup": "setup", "code": "model"},
    }
    found = {KINDS[one["example_id"]]: one for one in status(program, path)["rollouts"]}
    return {kind: one for kind, one in found.items() if stages.get(kind) == one["stage"]}


def test_each_rollout_in_flight_says_what_it_waits_for(
    held: tuple[Program, Path, FaultServer],
) -> None:
    program, path, server = held
    found = waits(program, path)
    expected = {
        "model": f"POST {server.url}/v1",
        "tool": "tool 'search'",
        "reward": "reward function 'right'",
        "judge": f"judge 'strict' at {server.url}/judge/",
        "setup": "setup_state",
        "code": "the environment's code",
    }
    assert {kind: found[kind]["waits_for"] for kind in expected} == expected
    asleep = found["retry"]["waits_for"]
    assert asleep.startswith("status 500: warming up, again in ") and asleep.endswith("s")
    assert 0 < found["retry"]["again_in_s"] <= 30
    assert [found[kind]["turn"] for kind in ("model", "tool")] == [1, 1]
    assert all(one["since_s"] >= 0 for one in found.values())


def test_the_run_its_endpoints_and_workers_are_named(
    held: tuple[Program, Path, FaultServer],
) -> None:
    program, path, _ = held
    found = status(program, path)
    lock = holder(path / "lock")
    assert lock is not None
    counts = ("total", "finished", "errored", "running", "waiting")
    assert (found["status"], found["engine"]) == ("running", {"pid": lock.pid})
    assert [found[name] for name in counts] == [8, 1, 0, 7, 0]
    (worker,) = found["workers"]
    assert worker["rollouts"] == 7 and worker["memory_mb"] > 0 and worker["state"] == "at work"
    assert {one["worker"] for one in found["rollouts"]} == {worker["pid"]}
    os.kill(worker["pid"], 0)


def test_people_read_the_longest_wait_first(held: tuple[Program, Path, FaultServer]) -> None:
    program, path, server = held
    done = command_here(program, "status", str(path))
    assert done.code == 0, done
    lines = done.out.splitlines()
    seconds = [one["since_s"] for one in status(program, path)["rollouts"]]
    assert seconds == sorted(seconds, reverse=True)
    assert any("1 of 8 rollouts are done" in line for line in lines)
    (model,) = [line for line in lines if line.strip().startswith("▶ example 1 ")]
    assert f"POST {server.url}/v1, turn 1" in model


def test_a_paused_run_says_so_and_for_what_a_rollout_waits(program: Program) -> None:
    program.environment("turns", TWO_TURNS)
    go = threading.Event()
    with FaultServer() as server:
        server.script(CHAT, [Reply(body=SAYS_YES, hold=(0, go))])
        process = program.start("turns", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", "-s")
        wait_until(lambda: server.requests, "it asks the model")
        path = program.only_run().path
        asyncio.run(command_engine(path, Pause()))
        paused = wait_until(lambda: status(program, path)["paused"], "it is paused")
        go.set()
        (one,) = wait_until(
            lambda: [one for one in status(program, path)["rollouts"] if one["stage"] == "held"],
            "its rollout is held",
        )
        said = command_here(program, "status", str(path)).out
        asyncio.run(command_engine(path, Unpause()))
        assert program.finish(process).code == 0
    assert paused == "somebody paused it"
    assert (one["waits_for"], one["turn"]) == ("the end of the pause", 2)
    assert "(somebody paused it): 0 of 1 rollout is done" in said


async def command_engine(run: Path, *commands: Command) -> None:
    """Has the engine of a run do something."""
    held = holder(run / "lock")
    assert held is not None
    feed = LiveFeed(socket_path=held.socket)
    await feed.start()
    for command in (*commands, Detach()):
        feed.send(command)
    await feed.close()


def test_a_run_that_is_over_says_how_it_ended(program: Program) -> None:
    assert run_here(program, "reverse-text", "-m", "demo", "-n", "2", "-r", "1", "-s").code == 0
    (run,) = program.folder.glob("outputs/evals/*/*")
    found = status(program, run)
    assert (found["status"], found["exit_code"], found["engine"]) == ("finished", 0, None)
    assert (found["total"], found["finished"], found["rollouts"]) == (2, 2, [])
    said = command_here(program, "status", str(run))
    assert said.code == 0
    assert "finished: 2 of 2 rollouts are done" in said.out.lower()


def test_what_is_no_run_is_refused(program: Program) -> None:
    done = command_here(program, "status", "nowhere", "--json")
    assert done.code == 2
    assert "nowhere: there is no such file or directory" in done.err
    assert json.loads(done.out)["status"] == "refused"


def test_an_engine_that_does_not_answer_is_said_to_be_silent(program: Program) -> None:
    """Of a run whose engine stands still the disk says how far it is."""
    program.environment("held", WAITING)
    with WaitingServer() as server:
        args = json.dumps({"judge_url": f"{server.url}/judge"})
        to = ("-m", "m", "-b", f"{server.url}/v1", "-a", args, "-n", "3", "-r", "1", "-s")
        process = program.start("held", *to)
        lock = wait_until(lambda: [*program.folder.glob("outputs/evals/*/*/lock")], "it began")[0]
        wait_until(lambda: (lock.parent / "results.jsonl").exists(), "it has a row")
        held = wait_until(lambda: holder(lock), "its engine has the lock")
        assert held.pid > 0
        os.kill(held.pid, signal.SIGSTOP)
        try:
            done = command_here(program, "status", str(lock.parent), "--json")
        finally:
            os.kill(held.pid, signal.SIGCONT)
            server.go.set()
            process.send_signal(signal.SIGINT)
            program.finish(process)
            server.go.clear()
    assert done.code == 1
    assert f"process {held.pid} is writing" in done.err and "did not answer within 5 s" in done.err
    found = json.loads(done.out)
    assert (found["status"], found["engine"]["pid"]) == ("running", held.pid)


def test_each_evaluation_of_a_file_is_said(program: Program) -> None:
    config = program.folder / "two.toml"
    eval_ = '[[eval]]\nenv_id = "{}"\nnum_examples = 1\nrollouts_per_example = 1\n'
    config.write_text(
        'model = "demo"\nsave_results = true\n'
        + eval_.format("reverse-text") + eval_.format("word-guess")
    )  # fmt: skip
    none = command_here(program, "status", "two.toml")
    assert none.code == 2 and "none of its evaluations has a run here" in none.err
    assert program.run("two.toml").code == 0
    found = status(program, config)
    assert [one["env_id"] for one in found["evaluations"]] == ["reverse-text", "word-guess"]
    assert {one["status"] for one in found["evaluations"]} == {"finished"}


def test_each_evaluation_at_work_says_what_it_waits_for(program: Program) -> None:
    program.environment("turns", TWO_TURNS)
    config = program.folder / "two.toml"
    go = threading.Event()
    with FaultServer() as server:
        server.script(CHAT, [Reply(body=SAYS_YES, hold=(0, go))])
        url = f"{server.url}/v1"
        eval_ = '[[eval]]\nenv_id = "turns"\nrollouts_per_example = {}\n'
        head = f'model = "m"\napi_base_url = "{url}"\nsave_results = true\n'
        config.write_text(head + eval_.format(1) + eval_.format(2))
        process = program.start("two.toml")
        wait_until(lambda: len(server.requests) == 3, "all ask the model")
        found = status(program, config)["evaluations"]
        go.set()
        assert program.finish(process).code == 0
    waits = [[one["waits_for"] for one in each["rollouts"]] for each in found]
    assert [each["status"] for each in found] == ["running"] * 2
    assert waits == [[f"POST {url}"], [f"POST {url}"] * 2]
