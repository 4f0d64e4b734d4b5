"""Messages of MCP as lines of JSON, in either version of the `mcp` package."""

from __future__ import annotations

import json
from typing import Any


def parse_message(line: bytes) -> Any:
    """A message as a session takes it.

    Raises:
        ValueError: It is none.
    """
    from mcp import types
    from mcp.shared.message import SessionMessage

    adapter = getattr(types, "jsonrpc_message_adapter", None)
    if adapter is None:
        of_version_1: Any = types.JSONRPCMessage
        return SessionMessage(of_version_1.model_validate_json(line))
    return SessionMessage(adapter.validate_json(line, by_name=False))


def error_response(id: int, text: str) -> Any:
    """The response that a call has failed.

    Args:
        id: Of the request.
    """
    response = {"jsonrpc": "2.0", "id": id, "error": {"code": -32700, "message": text}}
    return parse_message(json.dumps(response).encode())


def serialize(message: Any) -> bytes:
    """A message of a session as a line without its end."""
    from mcp import types

    is_new = hasattr(types, "jsonrpc_message_adapter")
    left_out = {"exclude_unset": True} if is_new else {"exclude_none": True}
    text: str = message.message.model_dump_json(by_alias=True, **left_out)
    return text.encode()


class TypedToolSchemas:
    """The stream from a server, with a type in the schema of each tool.

    Some servers leave it out; the SDK refuses all tools then, and endpoints refuse such a tool.

    Args:
        stream: As a transport gives it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> TypedToolSchemas:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *caught: Any) -> Any:
        return await self._stream.__aexit__(*caught)

    def __aiter__(self) -> TypedToolSchemas:
        return self

    async def __anext__(self) -> Any:
        return _with_schema_types(await self._stream.__anext__())

    async def receive(self) -> Any:
        """The next message."""
        return _with_schema_types(await self._stream.receive())


def _with_schema_types(item: Any) -> Any:
    message = getattr(item, "message", None)
    result = getattr(getattr(message, "root", message), "result", None)
    tools = result.get("tools") if isinstance(result, dict) else None
    for tool in tools if isinstance(tools, list) else ():
        schema = tool.get("inputSchema") if isinstance(tool, dict) else None
        if isinstance(schema, dict) and "type" not in schema:
            tool["inputSchema"] = {"type": "object", "properties": {}, **schema}
    return item
