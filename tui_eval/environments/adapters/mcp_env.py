"""Environments in which the model calls the tools of MCP servers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from tui_eval.environments.adapters import mcp_sdk
from tui_eval.environments.adapters.mcp_connection import Connections, MCPServerError
from tui_eval.environments.adapters.mcp_sdk import MCPServerConfig, MCPToolError
from tui_eval.environments.decorators import teardown
from tui_eval.environments.tool_env import ToolEnv
from tui_eval.types import Tool

__all__ = ["MCPEnv", "MCPServerConfig", "MCPServerError", "MCPToolError"]


def _error_content(error: Exception) -> Any:
    """The result of a failed call: the server's own content, or else the error's text."""
    content = error.content if isinstance(error, MCPToolError) else None
    return f"Error: {error}" if content is None else content


class MCPEnv(ToolEnv):
    """The model calls tools of MCP servers, which all rollouts share.

    The servers are started or connected to here, so that their tools are known. A server that goes
    away later is a tool error of the calls that were under way; the next call connects to it again.
    `teardown` closes the connections and ends what was started; an environment that is used again
    after it connects again.

    Args:
        mcp_servers: `MCPServerConfig` objects or dicts of that shape: `name` with `command`,
            `args`, `env`, or with `url`, `headers`.
        max_turns: Most answers of the model.
        error_formatter: Makes what the model gets to see when a call fails: text, or text and
            image parts; by default what the server answered, as it is, or `Error: ...`.
        kwargs: As for `ToolEnv`; `tools` may add Python functions.

    Raises:
        ImportError: The package mcp is not installed.
        ValueError: A server is not described as it should be, or two tools have the same name.
        MCPServerError: A server cannot be started or reached; says which and why.
    """

    def __init__(
        self,
        mcp_servers: Sequence[MCPServerConfig | Mapping[str, Any]] = (),
        max_turns: int = 10,
        error_formatter: Callable[[Any], Any] = _error_content,
        **kwargs: Any,
    ) -> None:
        mcp_sdk.require_mcp()
        self.mcp_servers = [_config(server, place) for place, server in enumerate(mcp_servers)]
        self._connections = Connections(self.mcp_servers)
        weakref.finalize(self, self._connections.close)
        super().__init__(max_turns=max_turns, error_formatter=error_formatter, **kwargs)
        try:
            self._add_servers(self._connections.open())
        except BaseException:
            self._connections.close()
            raise

    @property
    def mcp_tools(self) -> dict[str, Any]:
        """The tools of all servers, by their names: async functions."""
        return {name: tool for name, tool in self.tool_map.items() if isinstance(tool, _RemoteTool)}

    @teardown
    async def cleanup(self) -> None:
        """Closes the connections, and ends the servers that were started."""
        await self._connections.aclose()

    def _add_servers(self, found: list[list[Tool]]) -> None:
        owners = dict.fromkeys(self.tool_map, "a Python function")
        for place, (config, tools) in enumerate(zip(self.mcp_servers, found, strict=True)):
            for tool in tools:
                name = config.prefix + tool.name
                if name in owners:
                    raise ValueError(
                        f"The tool {name!r} is offered by the MCP server {config.name!r} and by "
                        f"{owners[name]}. Give one server a 'prefix'"
                    )
                owners[name] = f"the MCP server {config.name!r}"
                caller = _RemoteTool(self._connections, place, tool.name, name)
                self._install(caller, tool.model_copy(update={"name": name}))


class _RemoteTool:
    """A tool of a server as a function."""

    def __init__(self, connections: Connections, server: int, tool: str, name: str) -> None:
        self.__name__ = name
        self._connections = connections
        self._server = server
        self._tool = tool

    async def __call__(self, /, **arguments: Any) -> str | list[dict[str, Any]]:
        result = await self._connections.call(self._server, self._tool, arguments)
        content = mcp_sdk.content_of(result)
        if mcp_sdk.is_error(result):
            raise MCPToolError(mcp_sdk.text_of(content), content)
        return content


def _config(server: MCPServerConfig | Mapping[str, Any], place: int) -> MCPServerConfig:
    if isinstance(server, MCPServerConfig):
        return server
    try:
        return MCPServerConfig.model_validate(dict(server))
    except ValidationError as error:
        raise ValueError("; ".join(_fault(place, fault) for fault in error.errors())) from None


def _fault(place: int, fault: Mapping[str, Any]) -> str:
    where = "".join(f".{key}" for key in fault["loc"])
    return f"mcp_servers[{place}]{where}: {fault['msg'].removeprefix('Value error, ')}"
