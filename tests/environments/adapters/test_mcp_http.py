"""MCP servers at a URL that forget their sessions, as one that was restarted does."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from mcp_calls import content
from mcp_plain_server import answer
from servers import LoopbackServer

import tui_eval as vf
from tui_eval.environments.adapters.mcp_env import MCPServerError, MCPToolError

BREAK_OFF = ["hold", "large", "environment"]
"""Tools whose streamed answer ends, breaks, or could be requested again by the id of an event."""


class SessionServer(LoopbackServer):
    """Speaks MCP over HTTP with JSON responses; `forget` makes it refuse the sessions of before."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: set[str] = set()
        self.begun = 0
        self.refusal = 404, "", "text/plain"
        self.in_events = False
        self.ends_sessions = True
        self.meeting = self.met = 0

    def forget(self, status: int, body: str, kind: str) -> None:
        """From now on the sessions that there are get this status, body and content type."""
        self.sessions.clear()
        self.refusal = status, body, kind

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "DELETE" and not self.ends_sessions:
            await asyncio.sleep(600)
        if request.method != "POST":
            return web.Response(status=405)
        call = await request.json()
        headers = {}
        if call["method"] == "initialize":
            self.begun += 1
            headers["Mcp-Session-Id"] = f"s{self.begun}"
            self.sessions.add(f"s{self.begun}")
        elif call["method"] != "server/discover" and not self._knows(request):
            status, body, kind = self.refusal
            return web.Response(status=status, text=body, content_type=kind)
        if "id" not in call:
            return web.Response(status=202)
        if (call.get("params") or {}).get("name") == "noise":
            assert request.transport is not None
            request.transport.close()
        if (call.get("params") or {}).get("name") == "sleep":
            await asyncio.sleep(call["params"]["arguments"].pop("seconds"))
            self.met += 1
            while self.met < self.meeting:
                await asyncio.sleep(0.01)
            call["params"]["name"] = "pid"
        if (call.get("params") or {}).get("name") in BREAK_OFF:
            return await self._break_off(request, call["params"]["name"])
        response = self._response(call)
        if (call.get("params") or {}).get("name") == "request":
            message = {"code": -32700, "message": "Parse error"}
            response = {"jsonrpc": "2.0", "id": None, "error": message}
        if self.in_events:
            text = f"event: message\ndata: {json.dumps(response)}\n\n"
            return web.Response(text=text, content_type="text/event-stream", headers=headers)
        return web.json_response(response, headers=headers)

    async def _break_off(self, request: web.Request, tool: str) -> web.StreamResponse:
        """Begins to stream an answer, and ends amid it."""
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        if tool == "environment":
            await stream.write(b"id: 7\nretry: 10\ndata:\n\n")
        await stream.write(b'event: message\ndata: {"jsonrpc": "2.0",')
        if tool == "large":
            assert request.transport is not None
            request.transport.abort()
        return stream

    def _knows(self, request: web.Request) -> bool:
        return request.headers.get("Mcp-Session-Id") in self.sessions

    def _response(self, call: dict[str, Any]) -> dict[str, Any]:
        method, params = call["method"], call.get("params") or {}
        response: dict[str, Any] = {"jsonrpc": "2.0", "id": call["id"]}
        if method == "tools/call" and params["name"] == "leave":
            return {**response, "error": {"code": -32602, "message": "no leaving"}}
        result = answer(method, params)
        if result is None:
            return {**response, "error": {"code": -32601, "message": "Method not found"}}
        return {**response, "result": result}


@pytest.fixture
def server() -> Iterator[SessionServer]:
    pytest.importorskip("mcp")
    with SessionServer() as made:
        yield made


async def environment(server: SessionServer) -> vf.MCPEnv:
    config = {"name": "far", "url": f"{server.url}/mcp"}
    return await asyncio.to_thread(vf.MCPEnv, [config], dataset=[{"question": "q"}])


def error(code: int) -> str:
    body = {"code": code, "message": "Bad Request: no such session"}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": body})


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, "gone", "text/plain"),
        (404, error(-32001), "application/json"),
        (400, "which session?", "text/plain"),
        (400, error(-32000), "application/json"),
        (400, error(-32600), "application/json"),
        (401, "", "text/plain"),
        (410, "{}", "application/json"),
        (500, "<html>", "text/html"),
        (503, "restarting", "text/plain"),
    ],
)
async def test_a_server_that_forgot_its_sessions_is_connected_to_again_after_one_failed_call(
    server: SessionServer, status: int, body: str, kind: str
) -> None:
    env = await environment(server)
    assert await content(env, "add", a=1) == "2"
    server.forget(status, body, kind)
    with pytest.raises(MCPServerError, match="'far' went away during the call"):
        await content(env, "add", a=1)
    assert await content(env, "add", a=2) == "3"
    await env.cleanup()


async def test_a_refused_call_keeps_its_session(server: SessionServer) -> None:
    env = await environment(server)
    begun = server.begun
    with pytest.raises(MCPToolError, match="no leaving"):
        await content(env, "leave")
    assert await content(env, "add", a=1) == "2"
    assert server.begun == begun
    await env.cleanup()


@pytest.mark.parametrize("in_events", [False, True])
@pytest.mark.parametrize(("tool", "given"), [("count", {"deep": 300}), ("half", {})])
async def test_an_answer_that_cannot_be_read_is_an_error_of_its_call_alone(
    server: SessionServer, tool: str, given: dict[str, Any], in_events: bool
) -> None:
    server.in_events = in_events
    env = await environment(server)
    begun = server.begun
    other = asyncio.create_task(content(env, "sleep", seconds=0.2))
    (bad,) = await asyncio.gather(
        asyncio.wait_for(content(env, tool, **given), 20), return_exceptions=True
    )
    # Version 1 of the SDK hands the line on, so that half characters can be replaced.
    assert isinstance(bad, MCPToolError) or (tool, bad) == ("half", "a?b")
    assert await other == str(os.getpid())
    assert server.begun == begun
    await env.cleanup()


async def test_a_call_whose_connection_breaks_fails_alone(server: SessionServer) -> None:
    env = await environment(server)
    begun = server.begun
    other = asyncio.create_task(content(env, "sleep", seconds=0.5))
    with pytest.raises(MCPToolError, match=r"it failed: .*disconnected"):
        await content(env, "noise")
    assert await other == str(os.getpid())
    assert server.begun == begun
    await env.cleanup()


async def test_calls_of_many_rollouts_are_under_way_at_once(server: SessionServer) -> None:
    server.meeting = 150
    env = await environment(server)
    calls = asyncio.gather(*(content(env, "sleep", seconds=0) for _ in range(server.meeting)))
    assert set(await asyncio.wait_for(calls, 60)) == {str(os.getpid())}
    await env.cleanup()


async def test_a_server_that_never_ends_a_session_is_left(server: SessionServer) -> None:
    server.ends_sessions = False
    env = await environment(server)
    await asyncio.wait_for(env.cleanup(), 30)


@pytest.mark.parametrize("in_events", [False, True])
async def test_a_call_that_the_server_cannot_read_fails_alone(
    server: SessionServer, in_events: bool
) -> None:
    server.in_events = in_events
    env = await environment(server)
    begun = server.begun
    other = asyncio.create_task(content(env, "sleep", seconds=0.2))
    # Version 1 of the SDK drops such an event, and the stream ends after it.
    with pytest.raises(MCPToolError, match=r"Parse error|broke off"):
        await asyncio.wait_for(content(env, "request"), 20)
    assert await other == str(os.getpid())
    assert server.begun == begun
    await env.cleanup()


async def test_a_streamed_answer_that_breaks_off_is_an_error_of_its_call(
    server: SessionServer,
) -> None:
    env = await environment(server)
    begun = server.begun
    other = asyncio.create_task(content(env, "sleep", seconds=0.5))
    for tool in BREAK_OFF:
        with pytest.raises(MCPToolError, match=r"without a response|broke off|exhausted"):
            await asyncio.wait_for(content(env, tool), 20)
    assert await other == str(os.getpid())
    assert server.begun == begun
    await env.cleanup()
