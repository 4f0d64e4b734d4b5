"""MCP servers that others wrote end with the run that started them, however that ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from mcp_servers import SERVERS
from program import Program, chat_answer, tool_call, wait_until
from servers import FaultServer, Reply
from terminal import Terminal

from tui_eval.runs.lock import holder

GONE_WITHIN_S = 3.0
ROLLOUTS = 8
CHAT = "/v1/chat/completions"
LONG = "first_trigger-long-running-operation"
BUSY = """
    import json
    import tui_eval as vf

    def load_environment():
        return vf.MCPEnv(
            json.loads({servers!r}),
            dataset=[{{"question": f"q{{n}}"}} for n in range({rollouts})],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""


class Marked:
    """Processes with a variable that only this test's have."""

    def __init__(self) -> None:
        self.value = uuid.uuid4().hex

    def commands(self) -> dict[int, str]:
        """The command of each, by its id."""
        found = {}
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and self.value in (folder / "environ").read_text():
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(folder.name)] = command
            except (OSError, UnicodeDecodeError):
                continue  # it has ended, or is not ours
        return {pid: command for pid, command in found.items() if command}

    def assert_gone(self, but_for: int = 0) -> None:
        """Waits three seconds at most, then says which are left."""
        deadline = time.monotonic() + GONE_WITHIN_S
        while left := {p: c for p, c in self.commands().items() if p != but_for}:
            assert time.monotonic() < deadline, left
            time.sleep(0.05)


@pytest.fixture
def marked() -> Iterator[Marked]:
    made = Marked()
    yield made
    for pid in made.commands():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def busy(program: Program, marked: Marked, fault_server: FaultServer) -> list[str]:
    """Arguments of a run whose rollouts are all in the middle of a call, of four servers."""
    everything = SERVERS["everything"].config("first")
    shell = shlex.join([everything["command"], *everything["args"]])
    servers: list[dict[str, Any]] = [
        everything | {"prefix": "first_"},
        {"name": "second", "prefix": "second_", "command": "sh", "args": ["-c", f"{shell}; true"]},
        SERVERS["time"].config("third"),
        SERVERS["calculator"].config("fourth"),
    ]
    for server in servers:
        server["env"] = {"TEST_MARK": marked.value}
    program.env["TEST_MARK"] = marked.value
    source = BUSY.format(servers=json.dumps(servers), rollouts=ROLLOUTS)
    program.environment("busy", source)
    return [
        "busy",
        "-m",
        "m",
        "-b",
        f"{fault_server.url}/v1",
        "-k",
        "",
        "-n",
        str(ROLLOUTS),
        "-r",
        "1",
        "-s",
    ]


def hold(fault_server: FaultServer) -> None:
    """Has each rollout call a tool that takes longer than any test."""
    call = tool_call(LONG, '{"duration": 600, "steps": 600}')
    fault_server.script(CHAT, [Reply(body=chat_answer("", tool_calls=[call]))])


def wait_until_held(marked: Marked, fault_server: FaultServer) -> None:
    wait_until(lambda: len(fault_server.requests) >= ROLLOUTS, "every rollout has its call")
    assert len(started_servers(marked)) >= 4, marked.commands()


def started_servers(marked: Marked) -> list[str]:
    return [command for command in marked.commands().values() if "mcp-server" in command]


def engine_of(program: Program) -> int:
    held = holder(program.only_run().path / "lock")
    assert held is not None
    return held.pid


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("what", ["program", "engine"])
@pytest.mark.xdist_group("mcp")
def test_without_a_screen(
    program: Program, busy: list[str], marked: Marked, fault_server: FaultServer,
    number: signal.Signals, what: str,
) -> None:  # fmt: skip
    hold(fault_server)
    process = program.start(*busy, "-d")
    wait_until_held(marked, fault_server)
    os.kill(process.pid if what == "program" else engine_of(program), number)
    program.finish(process)
    marked.assert_gone()


@pytest.mark.parametrize(
    "end",
    [
        lambda on: on.process.send_signal(signal.SIGINT),
        lambda on: on.process.send_signal(signal.SIGTERM),
        lambda on: on.hang_up(),
        lambda on: on.process.kill(),
    ],
    ids=["SIGINT", "SIGTERM", "closed window", "SIGKILL"],
)
@pytest.mark.xdist_group("mcp")
def test_on_a_screen(
    program: Program, busy: list[str], marked: Marked, fault_server: FaultServer,
    end: Callable[[Terminal], None],
) -> None:  # fmt: skip
    hold(fault_server)
    with closing(Terminal(program.folder, program.env, *busy)) as on:
        on.wait_for(lambda: len(fault_server.requests) >= ROLLOUTS)
        wait_until_held(marked, fault_server)
        end(on)
        on.process.wait(30)
        marked.assert_gone()


@pytest.mark.xdist_group("mcp")
def test_a_finished_run(
    program: Program, busy: list[str], marked: Marked, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("done"))])
    done = program.run(*busy, "-d")
    assert done.code == 0, done
    marked.assert_gone()
