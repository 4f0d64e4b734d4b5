"""An MCP server on standard input and output whose one tool takes 5 ms, for many calls at once."""

from __future__ import annotations

import asyncio

from mcp.server import MCPServer

server = MCPServer("sleeping")


@server.tool(structured_output=False)
async def wait(number: int) -> str:
    """Waits 5 ms."""
    await asyncio.sleep(0.005)
    return f"waited for {number}"


if __name__ == "__main__":
    server.run("stdio")
