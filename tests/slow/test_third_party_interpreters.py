"""Environments whose packages contradict ours, in interpreters with those packages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from endpoint_scripts import ANSWERS, PATHS
from program import Program, Run, chat_answer
from servers import FaultServer, Reply
from test_pythons import OnPython, interpreter
from third_party_packages import ENVIRON, Package

CHAT = "/v1/chat/completions"

JUDGED = """
import sys

import anthropic
import openai
import pydantic
import tui_eval as vf
from openai import AsyncOpenAI


def load_environment(base):
    judge = AsyncOpenAI(base_url=base + "/v1", api_key="k")
    rubric = vf.JudgeRubric(judge_client=judge, judge_model="j")

    async def judged(judge, prompt, completion, answer, state):
        return float("yes" in (await judge(prompt, completion, answer, state)))

    async def by_its_client(state):
        client = state["client"].client
        calls = client.messages if hasattr(client, "messages") else client.chat.completions
        answer = await calls.create(
            model="m", messages=[{"role": "user", "content": "?"}], max_tokens=5
        )
        return float(type(answer).__module__.startswith(type(client).__module__.split(".")[0]))

    def seen(state):
        modules = openai, anthropic, pydantic
        state["versions"] = [one.__version__ for one in modules] + [sys.prefix]
        return 0.0

    for function in (judged, by_its_client, seen):
        rubric.add_reward_func(function)
    return vf.SingleTurnEnv(dataset=[{"question": "?", "answer": "yes"}], rubric=rubric)
"""

TOOLS = """
import importlib.metadata
import sys
from typing import Literal

import pydantic
import tui_eval as vf


class Place(pydantic.BaseModel):
    row: int
    column: Literal["a", "b"] = "a"


async def look(place: Place, times: int = 1, words: list[str] | None = None) -> str:
    '''Looks at a place.

    Args:
        place: Where.
        times: How often.
    '''
    return f"{place['row']} {times}"


def load_environment():
    def right(completion, state):
        state["where"] = [sys.prefix, *sys.version_info[:2]]
        state["has"] = {one: importlib.metadata.version(one) for one in ("pydantic", "aiohttp")}
        return float("tool" in {one["role"] for one in completion})

    rows = [{"question": "?", "answer": ""}]
    return vf.ToolEnv(tools=[look], dataset=rows, rubric=vf.Rubric([right]), max_turns=3)
"""
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "look", "arguments": '{"place": {"row": 3}, "times": 2}'},
}


@pytest.fixture
def server(program: Program, fault_server: FaultServer) -> FaultServer:
    program.env["TUI_EVAL_CACHE_DIR"] = str(program.folder / "cache")
    del program.env["SSL_CERT_FILE"]  # that of the tests: the registry has another
    program.env |= {k: v for k, v in ENVIRON.items() if k.startswith("SSL_CERT")}
    program.env["OPENAI_API_KEY"] = program.env["ANTHROPIC_API_KEY"] = "k"
    return fault_server


def run(program: Program, base: str, python: Path, env_id: str, *more: str) -> Run:
    args = [env_id, "-m", "m", "-b", base, "-r", "1", "-s", "--python", str(python), *more]
    done = program.run(*args)
    assert done.code == 0, done
    return program.only_run()


@pytest.mark.parametrize(
    "pins",
    [
        ("openai==1.30.5", "anthropic==0.28.1", "httpx==0.27.2", "pydantic==2.5.3"),
        ("openai==1.99.9", "anthropic==0.60.0", "pydantic==2.9.2"),
        ("openai==2.6.1", "anthropic==0.72.0", "pydantic==2.11.10"),
    ],
    ids=lambda pins: pins[0],
)
@pytest.mark.parametrize("protocol", ["openai_chat_completions", "anthropic_messages"])
def test_an_environment_with_an_sdk_of_another_time_is_judged_by_it(
    program: Program, server: FaultServer, pins: tuple[str, ...], protocol: str
) -> None:
    python = Package(f"interpreter-{pins[0]}", pins).installed() / "python"
    program.environment("judged", JUDGED)
    server.script(CHAT, [Reply(body=chat_answer("yes"))])
    server.script(PATHS[protocol], [Reply(body=ANSWERS[protocol])])
    server.script(CHAT, [Reply(body=chat_answer("yes"))])
    is_chat = protocol == "openai_chat_completions"
    base = f"{server.url}/v1" if is_chat else server.url
    more = ["-a", f'{{"base": "{server.url}"}}', "-C", "versions", "--api-client-type", protocol]
    [row] = run(program, base, python, "judged", *more).rows
    assert row["error"] is None
    assert row["judged"] == 1.0
    assert row["by_its_client"] == 1.0
    *versions, prefix = row["versions"]
    assert versions == [pin.partition("==")[2] for pin in pins if not pin.startswith("httpx")]
    assert prefix == str(python.parents[1])


FLOORS = ("aiohttp==3.10.0", "msgspec==0.18.6", "platformdirs==3.0.0", "pydantic==2.0.3",
          "typing-extensions==4.6.1")  # fmt: skip
"""The oldest that a worker takes, all together."""


@dataclass(frozen=True)
class Versions:
    """Packages of one interpreter, and what Python that is."""

    python: str
    pins: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "-".join(("interpreter", self.python, *self.pins))


@pytest.mark.parametrize(
    "versions",
    [
        *(Versions("3.11", (f"pydantic=={one}",)) for one in ("2.0.3", "2.3.0", "2.4.2", "2.6.4")),
        *(Versions("3.12", (f"pydantic=={one}",)) for one in ("2.7.4", "2.8.2", "2.10.6")),
        Versions("3.11", FLOORS),
        Versions("3.13", ("aiohttp==3.11.18", "pydantic==2.12.5")),
        Versions("3.12"),
        Versions("3.14"),
    ],
    ids=lambda versions: versions.name,
)
def test_a_worker_runs_with_versions_of(
    program: Program, server: FaultServer, versions: Versions
) -> None:
    package = OnPython(
        versions.name, versions.pins or ("six",), python=interpreter(versions.python)
    )
    python = package.installed() / "python"
    program.environment("tools", TOOLS)
    replies = [chat_answer("", tool_calls=[CALL]), chat_answer("done")]
    server.script(CHAT, [Reply(body=one) for one in replies])
    [row] = run(program, f"{server.url}/v1", python, "tools", "-C", "where,has").rows
    defined = server.requests[-1].json()["tools"]
    assert (row["error"], row["reward"]) == (None, 1.0)
    assert row["completion"][1]["content"] == "3 2"
    assert row["where"] == [str(python.parents[1]), *map(int, versions.python.split("."))]
    pinned = dict(pin.split("==") for pin in versions.pins)
    assert row["has"]["pydantic"]
    server.script(CHAT, [Reply(body=one) for one in replies])
    assert program.run("tools", "-m", "m", "-b", f"{server.url}/v1", "-r", "1").code == 0
    assert server.requests[-1].json()["tools"] == defined
    assert row["has"] == row["has"] | {k: v for k, v in pinned.items() if k in row["has"]}
