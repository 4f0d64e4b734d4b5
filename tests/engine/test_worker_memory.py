"""`--worker-memory`: a worker that takes more ends, and the rollout that made it so is errored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.config.values import parse_size

CODE = """
import os

import tui_eval as vf

KEPT = []


def load_environment(place="", at_load=0, at_second_load=0):
    KEPT.append(b"x" * (at_second_load if os.path.exists("loaded") else at_load))
    open("loaded", "w").close()

    async def right(state):
        if state["answer"] == place == "ends its first worker" and not os.path.exists("ended"):
            open("ended", "w").close()
            os._exit(9)
        while state["answer"] == place == "grows":
            KEPT.append(b"x" * 10_000_000)
        if state["answer"] == place == "asks for too much":
            bytearray(10**18)
        return 1.0

    rows = [{"question": one, "answer": one} for one in ("good", place, "good", "good")]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([right]))
"""


@pytest.fixture
def grows(program: Program, fault_server: FaultServer) -> Program:
    program.environment("grows", CODE)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    return program


def request(server: FaultServer, *more: str, **env_args: Any) -> list[str]:
    to = ("-m", "m", "-b", f"{server.url}/v1", "-n", "-1", "-r", "1", "-s")
    return ["grows", *to, "-a", json.dumps(env_args), *more]


def test_a_rollout_that_takes_its_worker_past_the_limit_twice_says_so(
    grows: Program, fault_server: FaultServer
) -> None:
    limit = ("-w", "1", "-c", "1", "--worker-memory", "500MB")
    done = run_here(grows, *request(fault_server, *limit, place="grows"))
    assert done.code == 3, done
    ended = "A worker ended, last in the code of example 1 #0: Its code took its worker past"
    assert ended in done.err
    rows = grows.only_run().rows
    [culprit] = [row for row in rows if row["error"]]
    error = culprit["error"]
    assert (culprit["answer"], error["class"]) == ("grows", "scoring")
    assert (
        "Its code took its worker past 500MB (--worker-memory), twice" in error["error_chain_repr"]
    )
    assert [row["reward"] for row in rows if not row["error"]] == [1.0] * 3
    assert len(fault_server.requests) == 4, "no answer is paid twice"


def test_an_allocation_that_python_refuses_is_the_error_of_its_rollout_alone(
    grows: Program, fault_server: FaultServer
) -> None:
    limit = ("-w", "1", "--worker-memory", "2GB")
    done = run_here(grows, *request(fault_server, *limit, place="asks for too much"))
    assert done.code == 3, done
    assert "A worker ended" not in done.err
    [error] = [row["error"] for row in grows.only_run().rows if row["error"]]
    assert "MemoryError" in error["error_chain_repr"]


@pytest.mark.parametrize("more", [(), ("--no-preflight",)])
def test_an_environment_that_takes_more_at_its_load_is_refused_before_a_run_begins(
    grows: Program, fault_server: FaultServer, more: tuple[str, ...]
) -> None:
    limit = ("-w", "1", "--worker-memory", "300MB")
    done = run_here(grows, *request(fault_server, *limit, *more, at_load=400_000_000))
    assert done.code == 2, done
    assert "error: --worker-memory: a worker takes " in done.err and "Give it more" in done.err
    assert not grows.runs()


def test_a_worker_that_takes_more_than_the_first_ends_the_run_without_the_class_of_the_error(
    grows: Program, fault_server: FaultServer
) -> None:
    limit = ("-w", "2", "--worker-memory", "300MB")
    done = run_here(grows, *request(fault_server, *limit, at_second_load=400_000_000))
    assert done.code == 1 and "RefusedError" not in done.out + done.err, done
    assert "--worker-memory: a worker takes " in done.out + done.err
    assert "Give it more" in done.out


def test_one_in_the_place_of_another_that_takes_more_at_its_load_ends_the_run_with_what_helps(
    grows: Program, fault_server: FaultServer
) -> None:
    limit = ("-w", "1", "--worker-memory", "300MB")
    args = {"place": "ends its first worker", "at_second_load": 400_000_000}
    done = run_here(grows, *request(fault_server, *limit, **args))
    assert done.code == 1, done
    assert "300MB (--worker-memory)" in done.out and "Give it more" in done.out, done


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("-w", "1", "--worker-memory", "much"), "'much' is no size; expected as in 512MB or 2GB"),
        (("-w", "1", "--worker-memory", "0GB"), "'0GB' is no size"),
    ],
)
def test_a_limit_that_cannot_hold_is_refused(
    grows: Program, fault_server: FaultServer, given: tuple[str, ...], why: str
) -> None:
    done = run_here(grows, *request(fault_server, *given))
    assert done.code == 2
    assert "--worker-memory" in done.err
    assert why in done.err


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512MB", 512_000_000),
        ("1.5 GB", 1_500_000_000),
        ("2gib", 2 * 2**30),
        ("64 KiB", 65536),
        ("100000B", 100_000),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size
