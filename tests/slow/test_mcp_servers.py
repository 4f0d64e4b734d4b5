"""MCP servers that others wrote: their tools called here as by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_servers import SERVERS
from third_party_packages import OURS, Server, script_output, with_tui_eval

import tui_eval as vf

SDKS = {"2": with_tui_eval("mcp-2", "mcp==2.3.0", extras="mcp"), "1": OURS}


@pytest.fixture(scope="module", params=SDKS)
def called(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the calls of all servers gave, with one version of the SDK."""
    given = {
        name: {"config": server.config(name), "calls": server.calls}
        for name, server in SERVERS.items()
    }
    folder = tmp_path_factory.mktemp(f"mcp-{request.param}")
    return script_output(SDKS[request.param], "compare_mcp_calls.py", given, folder)


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.xdist_group("mcp")
def test_calls_give_what_the_sdks_client_gets(called: Any, name: str) -> None:
    (our_tools, *ours), (their_tools, *theirs) = called[name]["ours"], called[name]["theirs"]
    assert our_tools == their_tools
    assert len(ours) == len(theirs) == len(SERVERS[name].calls)
    for call, our, their in zip(SERVERS[name].calls, ours, theirs, strict=True):
        assert ("error" in our) == bool(their.get("isError")), (call, our, their)
        assert_same(our, their)
    assert sum("error" in our for our in ours) == SERVERS[name].failing


async def environment(**config: Any) -> vf.MCPEnv:
    return await asyncio.to_thread(vf.MCPEnv, [config], dataset=[{"question": "q"}])


async def content(env: vf.MCPEnv, tool: str, arguments: dict[str, Any]) -> Any:
    """What a call gives, or the class of its error and what that says."""
    try:
        return await env.mcp_tools[tool](**arguments)
    except (vf.ToolError, vf.InfraError) as error:
        return type(error).__name__, str(error)


@pytest.fixture(params=["streamableHttp", "sse"])
async def remote(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[Server, vf.MCPEnv]]:
    """The server that has everything, at a URL, and an environment with its tools."""
    program = str(SERVERS["everything"].config("stdio")["command"])
    command = ["env", "PORT={port}", program, request.param]
    with Server(command, "", tmp_path / "server.log") as server:
        is_sse = request.param == "sse"
        url, transport = ("/sse", "sse") if is_sse else ("/mcp", "streamable_http")
        env = await environment(name="remote", url=server.url + url, transport=transport)
        yield server, env
        await env.cleanup()


@pytest.mark.xdist_group("mcp")
async def test_results_over_http_and_sse_equal_those_over_stdio(
    remote: tuple[Server, vf.MCPEnv],
) -> None:
    env, local = remote[1], await environment(**SERVERS["everything"].config("stdio"))
    for tool, arguments in SERVERS["everything"].calls:
        assert await content(env, tool, arguments) == await content(local, tool, arguments)
    await local.cleanup()


@pytest.mark.xdist_group("mcp")
async def test_over_http_a_message_that_is_refused_fails_alone(
    remote: tuple[Server, vf.MCPEnv],
) -> None:
    _, env = remote
    during = asyncio.create_task(
        content(env, "trigger-long-running-operation", {"duration": 2, "steps": 4})
    )
    kind, said = await content(env, "echo", {"message": "x" * 5_000_000})
    assert kind == "MCPToolError" and "too large" in said.lower()
    assert await content(env, "echo", {"message": "x" * 2_000_000}) == f"Echo: {'x' * 2_000_000}"
    assert "completed" in await during


@pytest.mark.xdist_group("mcp")
async def test_over_http_a_server_that_was_started_again_is_found_after_one_failed_call(
    remote: tuple[Server, vf.MCPEnv],
) -> None:
    server, env = remote
    assert await content(env, "echo", {"message": "a"}) == "Echo: a"
    server.kill()
    server.start()
    kind, said = await content(env, "echo", {"message": "b"})
    assert kind == "MCPServerError" and "connects to it again" in said
    for _ in range(3):
        assert await content(env, "echo", {"message": "c"}) == "Echo: c"


def assert_same(our: dict[str, Any], their: dict[str, Any]) -> None:
    """That a content has all that the SDK's blocks have, in their order."""
    if "raised" in their:
        assert their["raised"] in our["error"]
        return
    content = our["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    shown = json.dumps(parts, ensure_ascii=False)
    place = 0
    for block in their["content"]:
        wanted = json.dumps(shown_part(block), ensure_ascii=False)[1:-1]
        place = shown.index(wanted, place) + len(wanted)


def shown_part(block: dict[str, Any]) -> str:
    """What a model has to see of a block."""
    if block["type"] == "text":
        return str(block["text"])
    if block["type"] == "image":
        return f"data:{block['mimeType']};base64,{block['data']}"
    if block["type"] == "resource_link":
        return str(block["uri"])
    return str(block["resource"].get("text") or block["resource"]["uri"])
