from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_calls import PLAIN_SERVER, content, gone
from program import Program, wait_until
from stub_client import Recorder, StubClient, answer

import tui_eval as vf
from tui_eval.environments.adapters.mcp_connection import Connections, _Held
from tui_eval.environments.adapters.mcp_env import MCPServerConfig, MCPServerError
from tui_eval.environments.adapters.mcp_sdk import content_of
from tui_eval.process_guard import ProcessGuard

SERVER = str(Path(__file__).parent / "mcp_test_server.py")
# The SDK that is tested may stand on the path instead of among the installed packages.
PATHS = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
ROW = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}


def stdio() -> dict[str, Any]:
    """A server written with the SDK, which takes long to begin."""
    return {"name": "sums", "command": sys.executable, "args": [SERVER, "stdio"], "env": PATHS}


def plain(*flags: str, **config: Any) -> dict[str, Any]:
    """A server that begins at once, for what is the same whatever a server is written with."""
    return {"name": "sums", "command": sys.executable, "args": [PLAIN_SERVER, *flags], **config}


@pytest.fixture(autouse=True)
def the_package() -> None:
    pytest.importorskip("mcp")


@pytest.fixture
async def environment():
    """Makes environments of servers, and closes them."""
    made: list[vf.MCPEnv] = []

    def make(*servers: Any, **kwargs: Any) -> vf.MCPEnv:
        made.append(vf.MCPEnv(mcp_servers=list(servers), dataset=[{"question": "q"}], **kwargs))
        return made[-1]

    yield make
    for env in made:
        await env.cleanup()


class HttpServer:
    """A server process that is reached over HTTP."""

    def __init__(self, transport: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._transport = transport
        self.url = f"http://127.0.0.1:{self.port}/{'sse' if transport == 'sse' else 'mcp'}"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, SERVER, self._transport, str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers, "the server listens")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@pytest.fixture
def http_server(request: pytest.FixtureRequest):
    server = HttpServer(getattr(request, "param", "streamable-http"))
    yield server
    server.stop()


async def use(env: vf.MCPEnv, *calls: tuple[str, dict[str, Any]]) -> vf.State:
    requested = [
        (f"c{i}", name, json.dumps(arguments)) for i, (name, arguments) in enumerate(calls)
    ]
    client = StubClient(answer(calls=requested), answer("done"))
    return await env.rollout(dict(ROW), client, "m", {})


async def test_a_servers_tools_are_tools_of_the_environment(environment, recorder: Recorder):
    env = environment(stdio())
    add = env.tool_defs[0]
    assert (add.name, add.description) == ("add", "Adds two numbers.")
    assert add.parameters["properties"]["a"]["type"] == "integer"
    assert add.parameters["required"] == ["a"]
    state = await use(env, ("add", {"a": 2, "b": 3}), ("picture", {}))
    assert state["error"] is None
    assert state["completion"][1].content == "5"
    text, image = state["completion"][2].content
    assert text["text"] == "look"
    kind, data = image["image_url"]["url"].split(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data).startswith(b"\x89PNG")
    await env.rubric.score_rollout(state)
    assert state["metrics"]["add_calls"] == 1.0
    assert recorder.tools[0] == ("c0", "add", None, "5")


@pytest.mark.slow
async def test_failed_calls_are_reported_to_the_model_and_recorded(environment):
    state = await use(
        environment(stdio()), ("divide", {"a": 1, "b": 0}), ("add", {"c": 1}), ("multiply", {})
    )
    failed, wrong, unknown = state["completion"][1:4]
    assert failed.content.startswith("Error executing tool divide")
    assert "add" in wrong.content and "a\n" in wrong.content
    assert "There is no tool named 'multiply'. The tools are: add, divide" in unknown.content
    kinds = [record["error"].split(":")[0] for record in state.tool_log]
    assert kinds == ["MCPToolError", "MCPToolError", "UnknownToolError"]
    assert state["error"] is None
    assert state["completion"][-1].content == "done"


@pytest.mark.slow
async def test_tool_errors_can_end_the_rollout(environment):
    state = await use(
        environment(stdio(), stop_errors=[vf.ToolError]), ("divide", {"a": 1, "b": 0})
    )
    assert isinstance(state["error"], vf.ToolCallError)


async def test_a_server_sees_its_own_variables_and_no_others(environment, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    env = environment(plain(env={"SHOP_KEY": "open"}))
    assert await content(env, "environment", name="SHOP_KEY") == "open"
    assert await content(env, "environment", name="OPENAI_API_KEY") == "not there"
    assert await content(env, "environment", name="PATH") == os.environ["PATH"]


async def test_calls_do_not_wait_for_each_other(environment):
    env = environment(plain(), plain(name="others", prefix="other_"))
    pids = {int(await content(env, name)) for name in ("pid", "other_pid")}
    assert len(pids) == 2
    slow = asyncio.create_task(content(env, "sleep", seconds=60))
    assert await content(env, "other_add", a=1) == "2"
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow


def test_one_environment_serves_several_loops_and_comes_back_after_teardown():
    async def within_a_loop() -> vf.MCPEnv:
        return vf.MCPEnv([plain()], dataset=[{"question": "q"}])

    env = asyncio.run(within_a_loop())
    first = int(asyncio.run(content(env, "pid")))
    assert asyncio.run(content(env, "pid")) == str(first)
    assert asyncio.run(env.run_teardown()) == []
    assert gone(first)
    second = int(asyncio.run(content(env, "pid")))
    assert second != first
    asyncio.run(env.cleanup())
    assert gone(second)


@pytest.mark.slow
def test_a_script_that_forgets_teardown_leaves_no_process(tmp_path):
    script = f"""
import asyncio, sys
import tui_eval as vf
env = vf.MCPEnv([{plain()!r}], dataset=[{{"question": "q"}}])
print(asyncio.run(env.call_tool("pid", {{}}, "c")).content)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert gone(int(done.stdout))


async def test_a_server_that_dies_during_a_call_is_a_tool_error_and_is_started_again(environment):
    env = environment(plain())
    before = await content(env, "pid")
    state = await use(env, ("leave", {}))
    assert "The MCP server 'sums' went away during the call" in state["completion"][1].content
    assert state.tool_log[0]["error"].startswith("MCPServerError")
    assert await content(env, "pid") != before


async def test_a_server_that_was_killed_between_calls_is_started_again(environment):
    env = environment(plain())
    before = int(await content(env, "pid"))
    os.kill(before, signal.SIGKILL)
    with pytest.raises(MCPServerError, match="connects to it again"):
        await content(env, "pid")
    assert int(await content(env, "pid")) != before


@pytest.mark.slow
@pytest.mark.parametrize("http_server", ["streamable-http", "sse"], indirect=True)
async def test_a_server_at_a_url_is_used_and_found_again(environment, http_server: HttpServer):
    transport = "sse" if http_server.url.endswith("sse") else "streamable_http"
    config = {"name": "far", "url": http_server.url, "transport": transport}
    env = environment({**config, "headers": {"X-Key": "k"}})
    assert await content(env, "add", a=1, b=1) == "2"
    assert len(await content(env, "large", size=50_000_000)) == 50_000_000
    http_server.stop()
    with pytest.raises(MCPServerError, match="far"):
        await content(env, "add", a=1, b=1)
    http_server.start()
    for _ in range(2):
        try:
            assert await content(env, "add", a=2, b=2) == "4"
            return
        except MCPServerError as error:
            assert "went away" in str(error)
    pytest.fail("it did not connect anew")


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (plain("--broken", name="shop"), ["'shop'", "by hand", "the key SHOP_KEY is missing"]),
        (
            {"name": "shop", "command": "no-such-command"},
            ["'shop'", "no command 'no-such-command'"],
        ),
        ({"name": "shop", "url": "http://127.0.0.1:9/mcp"}, ["'shop'", "127.0.0.1:9", "running"]),
    ],
    ids=["dies at start", "no command", "nobody there"],
)
def test_a_server_that_cannot_be_had_is_refused_with_its_name_and_why(server, said):
    with pytest.raises(MCPServerError) as caught:
        vf.MCPEnv([server], dataset=[{"question": "q"}])
    for part in said:
        assert part in str(caught.value)


def test_a_server_that_does_not_answer_is_given_up_and_ended():
    others = plain(name="others")
    with pytest.raises(MCPServerError, match=r"'shop'.*no answer within 2 s") as caught:
        vf.MCPEnv(
            [others, plain("--silent", name="shop", start_timeout=2.0)], dataset=[{"question": "q"}]
        )
    printed = re.search(r"process (\d+)", str(caught.value))
    assert printed and gone(int(printed[1]))


def test_closing_does_not_wait_for_a_server_that_is_starting():
    connections = Connections([MCPServerConfig(**plain("--silent", start_timeout=600))])
    with ThreadPoolExecutor() as threads:
        opening = threads.submit(connections.open)
        wait_until(lambda: connections._running is not None, "it is connecting")
        connections.close()
        with pytest.raises(MCPServerError, match="closed before it answered"):
            opening.result(timeout=30)


async def test_a_connection_that_is_given_up_before_it_began_says_so():
    held = _Held(MCPServerConfig(**plain("--silent")), ProcessGuard())
    held.end()
    with pytest.raises(MCPServerError, match="closed before it answered"):
        await asyncio.wait_for(held.session(), 10)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"name": "x"}, "mcp_servers[0]: a server has either a 'command' or a 'url'"),
        ({"name": "x", "command": "c", "url": "u"}, "either a 'command' or a 'url'"),
        ({"name": "x", "command": "c", "argv": []}, "mcp_servers[0].argv: Extra inputs"),
        ({"command": "c"}, "mcp_servers[0].name: Field required"),
    ],
)
def test_a_wrong_description_is_refused(server, said):
    with pytest.raises(ValueError) as caught:
        vf.MCPEnv([server], dataset=[{"question": "q"}])
    assert said in str(caught.value)


def test_two_tools_of_one_name_are_refused_with_both_owners():
    servers = [MCPServerConfig(**plain()), plain(name="more")]
    with pytest.raises(ValueError, match=r"'add'.*'more'.*'sums'.*prefix"):
        vf.MCPEnv(servers, dataset=[{"question": "q"}])


async def test_python_functions_stand_beside_the_servers_tools(environment):
    def double(x: int) -> int:
        """Doubles."""
        return 2 * x

    env = environment(plain(), tools=[double])
    assert env.tool_defs[0].name == "double"
    assert await content(env, "double", x=4) == "8"
    assert await content(env, "add", a=4) == "5"


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({"content": [], "structured_content": {"a": "é"}}, '{"a": "é"}'),
        ({"content": [], "structuredContent": [1]}, "[1]"),
        ({"content": []}, "[nothing]"),
        ({"content": [{"type": "text", "text": ""}]}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        (
            {"content": [{"type": "audio", "data": "x", "mimeType": "audio/wav"}]},
            "[audio (audio/wav)]",
        ),
        (
            {"content": [{"type": "resource_link", "name": "notes", "uri": "file:///a"}]},
            "[notes: file:///a]",
        ),
        (
            {
                "content": [
                    {
                        "type": "resource",
                        "resource": {"uri": "u", "blob": "eA==", "mimeType": "a/b"},
                    }
                ]
            },
            "[u (a/b)]",
        ),
        (
            {"content": [{"type": "image", "data": "eA==", "mimeType": "image/gif"}]},
            [{"type": "image_url", "image_url": {"url": "data:image/gif;base64,eA=="}}],
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "u", "text": "inside"}}]},
            "inside",
        ),
    ],
)
def test_any_result_becomes_content(result, content):
    blocks = [SimpleNamespace(**block) for block in result["content"]]
    for block in blocks:
        if hasattr(block, "resource"):
            block.resource = SimpleNamespace(**block.resource)
    assert content_of(SimpleNamespace(**{**result, "content": blocks})) == content


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ImportError, match=r"pip install .*'tui-eval\[mcp\]'"):
        vf.MCPEnv([stdio()], dataset=[{"question": "q"}])


@pytest.mark.slow
def test_the_program_runs_an_environment_with_a_server(program: Program):
    program.environment(
        "sums",
        f"""
        import tui_eval as vf

        def called(state):
            return float(any("add" in str(step["completion"]) for step in state["trajectory"]))

        def load_environment():
            return vf.MCPEnv(
                mcp_servers=[{stdio()!r}],
                dataset=[{{"question": "What is 3 + 4?"}}] * 4,
                rubric=vf.Rubric(funcs=[called]),
            )
        """,
    )
    done = program.run("sums", "-m", "demo", "-n", "4", "-r", "2", "-s", "-d")
    assert done.code == 0, done
    rows = program.only_run().rows
    assert len(rows) == 8
    assert all(row["error"] is None for row in rows)
    assert rows[0]["tool_defs"][0]["name"] == "add"
    assert sum(row["total_tool_calls"] for row in rows) > 0
