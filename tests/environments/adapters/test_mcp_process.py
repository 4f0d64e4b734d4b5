"""MCP servers as child processes: odd lines, large ones, and none that outlives its run."""

from __future__ import annotations

import asyncio
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import PLAIN, PLAIN_SERVER, content, gone
from program import wait_until

import tui_eval as vf
from tui_eval.environments.adapters.mcp_env import MCPToolError

WRAPPED = {
    "name": "sums",
    "command": "sh",
    "args": ["-c", f"{shlex.join([sys.executable, PLAIN_SERVER])}; true"],
}


@pytest.fixture(autouse=True)
def the_package() -> None:
    pytest.importorskip("mcp")


@pytest.fixture
async def env() -> AsyncIterator[vf.MCPEnv]:
    made = vf.MCPEnv([PLAIN], dataset=[{"question": "q"}])
    yield made
    await made.cleanup()


async def test_what_a_server_prints_by_mistake_is_passed_over(env: vf.MCPEnv) -> None:
    assert await content(env, "noise") == "None"
    assert await content(env, "add", a=1) == "2"


async def test_half_characters_in_an_answer_are_replaced(env: vf.MCPEnv) -> None:
    assert await content(env, "half") == "a?b"


async def test_bytes_that_are_no_utf_8_are_replaced(env: vf.MCPEnv) -> None:
    assert await asyncio.wait_for(content(env, "latin"), 20) == "\ufffd"


async def test_an_unreadable_request_of_a_server_answers_no_call(env: vf.MCPEnv) -> None:
    assert await asyncio.wait_for(content(env, "request"), 20) == "answered"


async def test_an_answer_nested_beyond_reading_is_an_error_too(env: vf.MCPEnv) -> None:
    with pytest.raises(MCPToolError, match="cannot be read"):
        await asyncio.wait_for(content(env, "nested", deep=30_000), 20)


async def test_an_answer_that_cannot_be_read_is_an_error_of_its_call_alone(env: vf.MCPEnv) -> None:
    before = await content(env, "pid")
    other = asyncio.create_task(content(env, "sleep", seconds=0.02))
    with pytest.raises(MCPToolError, match="its answer cannot be read"):
        await content(env, "count", deep=300)
    assert await other == "None"
    assert await content(env, "pid") == before


async def test_an_answer_of_50_mb_arrives(env: vf.MCPEnv) -> None:
    assert len(await content(env, "large", size=50_000_000)) == 50_000_000


SCRIPT = """
import asyncio, sys
import tui_eval as vf
env = vf.MCPEnv([{server!r}], dataset=[{{"question": "q"}}])
async def main():
    print((await env.call_tool("pid", {{}}, "c")).content, flush=True)
    await env.call_tool("sleep", {{"seconds": 60}}, "c")
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("server", [PLAIN, WRAPPED], ids=["itself", "in a shell"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_server_in_the_middle_of_a_call_does_not_outlive_its_program(
    server: dict[str, Any], number: signal.Signals
) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(server=server)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert program.stdout is not None
    with program:
        pid = int(program.stdout.readline())
        program.send_signal(number)
    wait_until(lambda: gone(pid), "the server ends")


async def test_teardown_ends_a_busy_server_and_what_it_started(tmp_path: Path) -> None:
    held = tmp_path / "held"
    env = vf.MCPEnv([WRAPPED], dataset=[{"question": "q"}])
    pid = int(await content(env, "pid"))
    call = asyncio.create_task(content(env, "hold", file=str(held)))
    while not held.exists():
        await asyncio.sleep(0.01)
    await env.run_teardown()
    wait_until(lambda: gone(pid), "the server ends")
    with pytest.raises(Exception, match="went away"):
        await call
