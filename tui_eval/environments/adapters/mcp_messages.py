"""Messages of MCP as JSON, in either version of the `mcp` package, and requests under way."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from pydantic import ValidationError

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

NO_SUCH_METHOD = -32601
"""The code with which JSON-RPC refuses a method that it does not know."""

_NO_ID = "none"
"""The id of an error that has none: version 1 cannot read such a one."""
_ID = re.compile(r'"id"\s*:\s*(\d+)')


def parse_message(line: bytes) -> Any:
    """A message as a session takes it; `ValueError` where it is none."""
    from mcp import types
    from mcp.shared.message import SessionMessage

    adapter = getattr(types, "jsonrpc_message_adapter", None)
    if adapter is None:
        of_version_1: Any = types.JSONRPCMessage
        return SessionMessage(of_version_1.model_validate_json(line))
    return SessionMessage(adapter.validate_json(line, by_name=False))


def read_message(line: bytes) -> Any:
    """The message of a server; None for what is none, as servers print by mistake.

    A response that the SDK cannot read is an error of its call. Half characters in it, and bytes
    that are no UTF-8, are replaced.
    """
    try:
        return parse_message(line)
    except ValueError as error:
        why = str(error).splitlines()[0]
    response = _response_in(line.decode("utf-8", "replace"))
    if response is None:
        return None
    try:
        text = json.dumps(response, ensure_ascii=False)
        return parse_message(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return error_response(response["id"], f"its answer cannot be read: {why}")


def request_id(message: Any) -> int | str | None:
    """The id of a message that waits for a response; None for any other."""
    content = _content(message)
    return content.id if hasattr(content, "method") and hasattr(content, "id") else None


def error_response(id: int | str, text: str) -> Any:
    """The response that the call of this id has failed."""
    return parse_message(json.dumps(error_data(id, text)).encode())


def error_data(id: int | str, text: str) -> dict[str, Any]:
    """The same as JSON has it."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32700, "message": text}}


def error_text(error: BaseException) -> str:
    """The class of an exception, and what it says where it says something."""
    return f"{type(error).__name__}: {error}".rstrip(": ")


def serialize(message: Any) -> bytes:
    """A message of a session as a line without its end."""
    from mcp import types

    is_new = hasattr(types, "jsonrpc_message_adapter")
    left_out = {"exclude_unset": True} if is_new else {"exclude_none": True}
    text: str = message.message.model_dump_json(by_alias=True, **left_out)
    return text.encode()


class _Stream:
    """A stream of a transport; what a subclass does not say is as it is there."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *caught: Any) -> Any:
        return await self._stream.__aexit__(*caught)


class MendedMessages(_Stream):
    """The stream from a server, with what the SDK would not get through made good.

    Some servers leave out the type in the schema of a tool; the SDK refuses all tools then, and
    endpoints refuse such a tool. Version 1 reports no response that it cannot read. That a
    server has changed its tools goes to the log.

    Args:
        on_error: Takes the text and the code of an error without an id, with which a server
            answers what it cannot read; says whether that is a call.
    """

    def __init__(
        self, name: str, stream: Any, on_error: Callable[[str, int], bool] | None = None
    ) -> None:
        super().__init__(stream)
        self._name = name
        self._on_error = on_error

    def __aiter__(self) -> MendedMessages:
        return self

    async def __anext__(self) -> Any:
        return self._mended(await self._stream.__anext__())

    async def receive(self) -> Any:
        """The next message."""
        return self._mended(await self._stream.receive())

    def _mended(self, item: Any) -> Any:
        if isinstance(item, ValidationError):
            item = _reread(item.errors()[0]["input"]) or item
        content = _content(item)
        if getattr(content, "method", None) == "notifications/tools/list_changed":
            logger.warning("MCP server %r changed its tools; the first ones stay", self._name)
        if hasattr(content, "error") and content.id in (None, _NO_ID):
            reason = content.error.message
            is_call = self._on_error is None or self._on_error(reason, content.error.code)
            what = "cannot read a call" if is_call else "answers a notification with an error"
            logger.warning("MCP server %r %s: %s", self._name, what, reason)
        return _with_schema_types(item)


class NotedMessages(_Stream):
    """The stream to a server; `on_notification` is called before a notification is sent."""

    def __init__(self, stream: Any, on_notification: Callable[[], None]) -> None:
        super().__init__(stream)
        self._on_notification = on_notification

    async def send(self, message: Any) -> None:
        """Sends a message."""
        content = _content(message)
        if hasattr(content, "method") and not hasattr(content, "id"):
            self._on_notification()
        await self._stream.send(message)


def _reread(given: Any) -> Any:
    """The message of what version 1 could not read: of a line, or of what it holds."""
    if isinstance(given, dict):
        given = json.dumps(given)
    line = given.encode("utf-8", "replace") if isinstance(given, str) else given
    return read_message(line) if isinstance(line, bytes) else None


def _content(item: Any) -> Any:
    """The message of an item of a stream, in either version."""
    message = getattr(item, "message", None)
    return getattr(message, "root", message)


def _with_schema_types(item: Any) -> Any:
    response = _content(item)
    result = getattr(response, "result", None)
    if not isinstance(result, dict) or "content" in result:  # the latter is that of a call
        return item
    tools = result.get("tools")
    if not isinstance(tools, list):
        return item
    faults = [fault for place, tool in enumerate(tools) for fault in _tool_faults(place, tool)]
    if faults:
        return error_response(response.id, "; ".join(faults))
    for tool in tools:
        if "type" not in tool["inputSchema"]:
            tool["inputSchema"] = {"type": "object", "properties": {}, **tool["inputSchema"]}
    return item


def _tool_faults(place: int, tool: Any) -> list[str]:
    """Faults that keep the SDK from reading a tool, and with it all others."""
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or not tool["name"]:
        return [f"tool {place + 1} has no name"]
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return [f"the 'inputSchema' of the tool {tool['name']!r} is no object"]
    if schema.get("type", "object") != "object":
        return [f"the 'inputSchema' of the tool {tool['name']!r} has the type {schema['type']!r}"]
    return []


def _response_in(text: str) -> dict[str, Any] | None:
    """The response to one of our requests; None where a text is none.

    Of one that is nested deeper than Python reads there is the id alone.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        found = _ID.search(text)
        return {"id": int(found[1])} if found else None
    except ValueError:
        return None
    is_response = isinstance(data, dict) and "method" not in data
    if is_response and "error" in data and data.get("id") is None:
        return {**data, "id": _NO_ID}
    return data if is_response and type(data.get("id")) in (int, str) else None


class Requests:
    """The requests that wait for an answer on one connection.

    An error without an id is the answer to a message that the server could not read, and so to
    one of the calls that wait: only they carry what a model wrote. Some servers answer
    notifications with one, too, which the protocol forbids; that fails no call.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[str]] = set()
        self._suspects: set[asyncio.Future[str]] = set()
        self._unreadable: list[str] = []
        self._notifications_sent = 0
        self._notifications_settled = 0
        """The number of those with an answer, or read before a request that has one."""
        self._codes_for_notifications: set[int] = set()
        """With what this server answers notifications, should it do so."""

    async def finish(
        self,
        request: Coroutine[Any, Any, Result],
        held: asyncio.Task[None],
        *,
        may_be_unreadable: bool = False,
    ) -> Result:
        """The result of a request while its connection is there.

        Args:
            held: Ends with the connection.
            may_be_unreadable: It carries what a model wrote.

        Raises:
            ConnectionError: The connection ended before.
            RuntimeError: The server could not read the request.
        """
        pending = asyncio.ensure_future(request)
        refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        sent_before = self._notifications_sent
        if may_be_unreadable:
            self._waiting.add(refused)
        try:
            # A session whose transport broke may leave its caller waiting for ever.
            ends = (pending, refused, held)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if pending.done():
                self._settle_notifications(sent_before)
                return pending.result()
            if refused.done():
                raise RuntimeError(f"the server could not read the call: {refused.result()}")
        finally:
            pending.cancel()
            self._waiting.discard(refused)
            self._suspects.discard(refused)
            self._settle()
        raise ConnectionError("the connection broke")

    def note_notification(self) -> None:
        """Takes note of a message that has no answer by the protocol."""
        self._notifications_sent += 1

    def note_error(self, message: str, code: int) -> bool:
        """Takes note of an error without an id: the server does not say what it answers.

        It is one of the calls that wait now: once the others have their answers, it fails. It is
        a notification where no call waits, where there is no such method, and where this server
        has answered one with that code before.

        Returns:
            Whether it is a call.
        """
        if not self._waiting:
            self._codes_for_notifications.add(code)
        is_open = self._notifications_settled < self._notifications_sent
        is_known = code in self._codes_for_notifications and is_open
        if not self._waiting or is_known or code == NO_SUCH_METHOD:
            self._settle_notifications(self._notifications_settled + 1)
            return False
        self._unreadable.append(message)
        self._suspects |= self._waiting
        self._settle()
        return True

    def _settle_notifications(self, count: int) -> None:
        settled = max(self._notifications_settled, count)
        self._notifications_settled = min(settled, self._notifications_sent)

    def _settle(self) -> None:
        if len(self._suspects) > len(self._unreadable):
            return
        message = "; ".join(dict.fromkeys(self._unreadable))
        for refused in self._suspects:
            if not refused.done():
                refused.set_result(message)
        self._suspects.clear()
        self._unreadable.clear()
