"""An MCP server written with the SDK, of either version: `stdio`, or a transport and a port."""

from __future__ import annotations

import sys
from typing import Any

try:
    from mcp.server.fastmcp import FastMCP as Server
    from mcp.server.fastmcp import Image
except ImportError:
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver import Image

server = Server("of the tests")
PIXEL = b"\x89PNG\r\n\x1a\n"


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def divide(a: float, b: float) -> float:
    """Divides."""
    if b == 0:
        raise ValueError("b is zero")
    return a / b


@server.tool(structured_output=False)
def large(size: int) -> str:
    """A long text."""
    return "x" * size


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """A text and an image."""
    return ["look", Image(data=PIXEL, format="png")]


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    elif hasattr(server, "settings") and hasattr(server.settings, "port"):
        server.settings.port = int(sys.argv[2])
        server.run(sys.argv[1])
    else:
        server.run(sys.argv[1], port=int(sys.argv[2]))
