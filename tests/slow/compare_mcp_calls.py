"""The same calls of MCP servers by an environment and by the SDK's own client, printed as JSON.

Reads servers from its standard input: for each a config, and calls of its tools.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

import tui_eval as vf

Server = dict[str, Any]


def in_folder(part: Any, folder: Path) -> Any:
    """The same with the folder's path for `{folder}`."""
    if isinstance(part, str):
        return part.replace("{folder}", str(folder))
    if isinstance(part, list | tuple):
        return [in_folder(one, folder) for one in part]
    if isinstance(part, dict):
        return {name: in_folder(one, folder) for name, one in part.items()}
    return part


def new_folder(name: str) -> Path:
    """A folder with a repository and a file in it."""
    folder = Path(name).absolute()
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    (folder / "note.txt").write_text("a note\n")
    return folder


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
    return [tools, *_without(folder, found)]


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
    return [tools, *_without(folder, found)]


def _without(folder: Path, found: list[Any]) -> list[Any]:
    text = json.dumps(found).replace(str(folder), "{folder}").replace(folder.name, "{folder}")
    cleaned: list[Any] = json.loads(text)
    return cleaned


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
