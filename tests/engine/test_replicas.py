"""Replicas that die and come back, as real servers that end and start again at their port."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from command_here import command_here
from program import Program, chat_answer, wait_until
from servers import FaultServer, Reply

import tui_eval as vf

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))

TURNS = """
import asyncio
import pathlib

import tui_eval as vf


class Turns(vf.MultiTurnEnv):
    async def env_response(self, messages, state):
        if len(state["trajectory"]) == 2:
            pathlib.Path(f"at-{state['example_id']}").touch()
            while not pathlib.Path("go").exists():
                await asyncio.sleep(0.02)
        return [{"role": "user", "content": "and?"}]


def load_environment():
    rows = [{"question": str(n)} for n in range(4)]
    return Turns(dataset=rows, rubric=vf.Rubric(funcs=[lambda completion: 1.0]), max_turns=4)
"""
"""Each rollout waits after its second turn until it is let go."""


class Replica:
    """One server, in a thread, that can be ended and started again where it was."""

    def __init__(self, *, tls: bool = False, port: int = 0) -> None:
        self._tls, self._port = tls, port
        self.start([GOOD])

    def start(self, replies: list[Reply]) -> None:
        self.server = FaultServer(tls=self._tls, port=self._port)
        self.server.script(CHAT, replies)
        self.server.__enter__()
        self._port = urlsplit(self.server.url).port or 0
        self.url = f"{self.server.url}/v1"
        self.is_up = True

    def end(self) -> None:
        if self.is_up:
            self.server.__exit__()
        self.is_up = False


@pytest.fixture
def replicas() -> Any:
    """Two of them."""
    every = [Replica(), Replica()]
    yield every
    for one in every:
        one.end()


def begin(program: Program, urls: list[str], *more: str) -> subprocess.Popen[str]:
    program.environment("turns", TURNS)
    registry = program.folder / "endpoints.toml"
    registry.write_text(
        "".join(f'[[endpoint]]\nendpoint_id = "two"\nmodel = "m"\nurl = "{url}"\n' for url in urls)
    )
    return program.start(
        "turns", "-m", "two", "-e", str(registry), "-n", "4", "-r", "1", "-s", *more
    )


def status(program: Program) -> dict[str, Any]:
    done = command_here(program, "status", str(program.only_run().path), "--json")
    assert done.code == 0, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def times_out(program: Program) -> list[float | None]:
    """For how long each endpoint is out."""
    return [one["out_s"] for one in status(program)["endpoints"]]


def all_wait(program: Program) -> None:
    wait_until(lambda: len([*program.folder.glob("at-*")]) == 4, "all have two answers")


@pytest.mark.slow
def test_calls_of_a_replica_that_died_go_to_the_other(
    program: Program, replicas: list[Replica]
) -> None:
    first, second = replicas
    process = begin(program, [one.url for one in replicas], "-c", "4")
    all_wait(program)
    assert len(first.server.requests) == len(second.server.requests) == 4
    second.end()
    (program.folder / "go").touch()
    found = program.finish(process)
    assert found.code == 0, found
    run = program.only_run()
    assert [row["error"] for row in run.rows] == [None] * 4
    assert len(first.server.requests) == 12
    assert f"Replica {second.url} is taken out: no connection: nothing listens on port" in found.err
    assert "its calls go to 1 other" in found.err


@pytest.mark.slow
def test_a_replica_that_is_out_is_said_with_its_time_and_gets_calls_again(
    program: Program, replicas: list[Replica]
) -> None:
    first, second = replicas
    (program.folder / "go").touch()
    first.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.2)])
    second.server.script(CHAT, [GOOD, Reply(500, {"error": {"message": "broken"}})])
    process = begin(program, [one.url for one in replicas], "-c", "2", "-r", "8")
    out = wait_until(lambda: program.runs() and [
        one for one in status(program)["endpoints"] if one["out_s"] is not None
    ], "one is out")  # fmt: skip
    assert [one["url"] for one in out] == [second.url]
    assert "status 500: broken" in out[0]["why"] and out[0]["out_s"] >= 0
    second.server.script(CHAT, [GOOD])
    before = len(second.server.requests)
    wait_until(lambda: len(second.server.requests) > before, "it gets calls again")
    found = program.finish(process)
    assert found.code == 0, found
    assert f"Replica {second.url} answers again after" in program.only_run().log + found.err


@pytest.mark.slow
def test_without_a_replica_left_requests_wait_for_the_first_that_comes_back(
    program: Program, replicas: list[Replica]
) -> None:
    first, second = replicas
    process = begin(program, [one.url for one in replicas], "-c", "4")
    all_wait(program)
    first.end()
    second.end()
    (program.folder / "go").touch()
    wait_until(
        lambda: all(one["out_s"] is not None for one in status(program)["endpoints"]),
        "both are out",
    )
    said = wait_until(lambda: [
        one["why"] for one in status(program)["endpoints"] if one["why"] and "port" in one["why"]
    ], "a probe was refused")  # fmt: skip
    assert "(connection refused)" in said[0]
    asleep = Counter(one["stage"] for one in status(program)["rollouts"])
    first.start([GOOD])
    found = program.finish(process)
    assert asleep["sleeping"] + asleep["model"] == 4
    assert found.code == 0, found
    assert [row["error"] for row in program.only_run().rows] == [None] * 4
    assert "no other one is left" in found.err


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["DNS", "TLS", "no TLS"])
def test_a_replica_that_cannot_be_reached_costs_no_rollout(
    program: Program, replicas: list[Replica], fault: str
) -> None:
    first, second = replicas
    (program.folder / "go").touch()
    program.env.pop("SSL_CERT_FILE", None)
    second.end()
    strange = Replica(tls=True) if fault == "TLS" else Replica()
    urls = {"DNS": "http://nowhere.invalid:1/v1", "TLS": strange.url}
    url = urls.get(fault, strange.url.replace("http:", "https:"))
    try:
        found = program.finish(begin(program, [first.url, url], "-c", "4", "--no-preflight"))
    finally:
        strange.end()
    assert found.code == 0, found
    assert [row["error"] for row in program.only_run().rows] == [None] * 4
    said = {"DNS": "is not known (DNS)", "TLS": "certificate is signed by itself"}
    assert f"Replica {url} is taken out: no connection: " in found.err
    assert said.get(fault, "no TLS there") in found.err


async def test_replicas_of_a_program_are_left_and_put_back_too(
    replicas: list[Replica], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    first, second = replicas
    second.end()
    both = [{"api_base_url": one.url} for one in replicas]
    env = vf.SingleTurnEnv(
        dataset=[{"question": str(n)} for n in range(6)], rubric=vf.Rubric([lambda: 1.0])
    )
    client = vf.ClientConfig(api_key_var="", endpoint_configs=both)
    got = await env.evaluate(client, "m", max_concurrent=2)
    assert [one["error"] for one in got["outputs"]] == [None] * 6
    assert len(first.server.requests) == 6
