"""Helpers for tests of MCP servers: a plain server, one call, and whether a process is gone."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import tui_eval as vf

PLAIN_SERVER = str(Path(__file__).parent / "mcp_plain_server.py")
PLAIN = {"name": "sums", "command": sys.executable, "args": [PLAIN_SERVER]}


async def content(env: vf.MCPEnv, tool: str, /, **arguments: Any) -> Any:
    """The result of a call of a tool."""
    return (await env.call_tool(tool, arguments, "c")).content


def gone(pid: int) -> bool:
    """Whether there is no such process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
