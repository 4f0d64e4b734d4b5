"""The same calls of MCP servers by an environment and by the SDK's own client, printed as JSON.

Reads servers from its standard input: for each a config, and calls of its tools.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from server_folder import in_folder, new_folder, without

import tui_eval as vf

Server = dict[str, Any]


async def by_environment(name: str, server: Server) -> list[Any]:
    """What each call gives the model: its content, or its error's class and content."""
    folder = new_folder(f"ours-{name}")
    config = in_folder(server["config"], folder)
    env = await asyncio.to_thread(vf.MCPEnv, [config], dataset=[{"question": "q"}])
    found: list[Any] = []
    for tool, arguments in in_folder(server["calls"], folder):
        try:
            found.append({"content": await env.mcp_tools[tool](**arguments)})
        except vf.ToolError as error:
            found.append({"error": str(error), "content": getattr(error, "content", None)})
    tools = {one.name: one.parameters for one in env.tool_defs or ()}
    await env.cleanup()
    return [tools, *without(folder, found)]


async def by_sdk(name: str, server: Server) -> list[Any]:
    """What each call gives the SDK's client: its blocks, and whether they are an error."""
    folder = new_folder(f"theirs-{name}")
    config = in_folder(server["config"], folder)
    variables = {**get_default_environment(), **config["env"]}
    started = StdioServerParameters(command=config["command"], args=config["args"], env=variables)
    found: list[Any] = []
    async with AsyncExitStack() as stack:
        if hasattr(mcp, "Client"):
            session: Any = await stack.enter_async_context(mcp.Client(stdio_client(started)))
        else:
            streams = await stack.enter_async_context(stdio_client(started))
            session = await stack.enter_async_context(mcp.ClientSession(*streams))
            await session.initialize()
        listed = (await session.list_tools()).model_dump(mode="json", by_alias=True)
        for tool, arguments in in_folder(server["calls"], folder):
            try:
                result = await session.call_tool(tool, arguments)
                found.append(result.model_dump(mode="json", by_alias=True))
            except Exception as error:
                found.append({"isError": True, "raised": str(error)})
    tools = {one["name"]: one["inputSchema"] for one in listed["tools"]}
    return [tools, *without(folder, found)]


async def main() -> None:
    servers: dict[str, Server] = json.load(sys.stdin)
    print(
        json.dumps(
            {
                name: {
                    "ours": await by_environment(name, server),
                    "theirs": await by_sdk(name, server),
                }
                for name, server in servers.items()
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
