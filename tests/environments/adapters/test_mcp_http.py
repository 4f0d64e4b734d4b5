"""MCP servers at a URL that forget their sessions, as one that was restarted does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from mcp_plain_server import answer

import tui_eval as vf
from tui_eval.environments.adapters.mcp_env import MCPServerError, MCPToolError


class SessionServer:
    """Speaks MCP over HTTP with JSON answers; `forget` makes it refuse the sessions of before."""

    def __init__(self) -> None:
        self.url = ""
        self.sessions: set[str] = set()
        self.begun = 0

    def forget(self, status: int, body: str, kind: str) -> None:
        self.sessions.clear()
        self.refused = (status, body, kind)

    async def post(self, request: web.Request) -> web.Response:
        asked = await request.json()
        method = asked["method"]
        if method == "initialize":
            self.begun += 1
            session = f"s{self.begun}"
            self.sessions.add(session)
            return self._answer(asked, {"Mcp-Session-Id": session})
        if method == "server/discover":
            return self._answer(asked, {})
        if request.headers.get("Mcp-Session-Id") not in self.sessions:
            status, body, kind = self.refused
            return web.Response(status=status, text=body, content_type=kind)
        if "id" not in asked:
            return web.Response(status=202)
        return self._answer(asked, {})

    def _answer(self, asked: dict[str, Any], headers: dict[str, str]) -> web.Response:
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        given = asked.get("params") or {}
        if asked["method"] == "tools/call" and given["name"] == "leave":
            reply["error"] = {"code": -32602, "message": "no leaving"}
        elif (result := answer(asked["method"], given)) is None:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        else:
            reply["result"] = result
        return web.json_response(reply, headers=headers)


@pytest.fixture
async def server() -> AsyncIterator[SessionServer]:
    pytest.importorskip("mcp")
    made = SessionServer()
    app = web.Application()
    app.router.add_post("/mcp", made.post)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}/mcp"
    yield made
    await runner.cleanup()


async def content(env: vf.MCPEnv, tool: str, /, **arguments: Any) -> Any:
    return (await env.call_tool(tool, arguments, "c")).content


async def environment(server: SessionServer) -> vf.MCPEnv:
    config = {"name": "far", "url": server.url}
    return await asyncio.to_thread(vf.MCPEnv, [config], dataset=[{"question": "q"}])


def error(code: int) -> str:
    told = {"code": code, "message": "Bad Request: no such session"}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": told})


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
