"""Messages of MCP as lines of JSON, in either version of the `mcp` package."""

from __future__ import annotations

import json
from typing import Any


def read_message(line: bytes) -> Any:
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


def error_answer(id: int, text: str) -> Any:
    """The answer that a call has failed.

    Args:
        id: Of the request.
    """
    answer = {"jsonrpc": "2.0", "id": id, "error": {"code": -32700, "message": text}}
    return read_message(json.dumps(answer).encode())


def written(asked: Any) -> bytes:
    """What a session sends, as a line without its end."""
    from mcp import types

    is_new = hasattr(types, "jsonrpc_message_adapter")
    left_out = {"exclude_unset": True} if is_new else {"exclude_none": True}
    text: str = asked.message.model_dump_json(by_alias=True, **left_out)
    return text.encode()
