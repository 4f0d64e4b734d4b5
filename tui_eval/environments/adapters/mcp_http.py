"""MCP servers at URLs, by HTTP streams or server-sent events: a request that fails is no more.

The SDK of either version sends requests in one group of tasks: what a request raises there ends
the connection that all calls share.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from tui_eval import cuts
from tui_eval.environments.adapters import mcp_messages

PATIENCE_S = 30.0
"""Limit of connecting, and of sending."""
SILENCE_S = 300.0
"""Limit of a server's silence in the answer to a call."""
_LAST_S = 2.0
"""Limit of the request that ends a session: servers that hang are left so."""
_LAST_EVENT = "last-event-id"
_EVENTS = {"content-type": "text/event-stream"}
_EVENT_ID = re.compile(rb"[\r\n]id:")
_NULL_ID = re.compile(rb'"id"\s*:\s*null')
_NOT_FOUND = 404
"""The status of a server that does not know the session any more, in both versions."""


def http_client(httpx: Any, headers: dict[str, str]) -> Any:
    """A client for as many calls at once as there are.

    Args:
        httpx: The module that the SDK sends with: version 1 has `httpx`, version 2 `httpx2`.
    """
    return _client_class(httpx)(
        headers=headers,
        timeout=httpx.Timeout(PATIENCE_S, read=SILENCE_S, pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
        follow_redirects=not _is_new(httpx),  # version 2 follows by itself where that is safe
    )


def _is_new(httpx: Any) -> bool:
    return bool(httpx.__name__ == "httpx2")


def _client_class(httpx: Any) -> Any:
    class Client(httpx.AsyncClient):  # type: ignore[misc]
        async def send(self, request: Any, **options: Any) -> Any:
            if request.method == "DELETE":
                last = dict.fromkeys(("connect", "read", "write", "pool"), _LAST_S)
                request.extensions = {**request.extensions, "timeout": last}
            if request.method == "POST":
                return await self._send_call(request, **options)
            if _LAST_EVENT in request.headers and not _is_new(httpx):
                return await self._send_resuming(request, **options)
            return await super().send(request, **options)

        async def _send_call(self, request: Any, **options: Any) -> Any:
            try:
                response = await super().send(request, **options)
                if _is_refused(response) or "json" in response.headers.get("content-type", ""):
                    await response.aread()
            except httpx.HTTPError as error:
                return _failed(httpx, request, f"it failed: {mcp_messages.error_text(error)}")
            return _mended(httpx, request, response)

        async def _send_resuming(self, request: Any, **options: Any) -> Any:
            """Requests the rest of an answer; what keeps it away is an error of the call."""
            try:
                response = await super().send(request, **options)
                why = "" if response.is_success else f"status {response.status_code}"
            except httpx.HTTPError as error:
                why = mcp_messages.error_text(error)
            if not why:
                return response
            # The SDK writes the call's own id in the place of this one.
            content = _broken_off("broken off", why)
            return httpx.Response(200, headers=_EVENTS, content=content, request=request)

    return Client


def _mended(httpx: Any, request: Any, response: Any) -> Any:
    """The response to a call, or its error where the SDK would not get through it."""
    kind, is_old = response.headers.get("content-type", ""), not _is_new(httpx)
    if "json" in kind and (why := _unreadable_call(response.content)):
        return _failed(httpx, request, why)
    if is_old and _is_refused(response):
        why = f"the server refused it with {response.status_code}: {cuts.head(response.text, 200)}"
        return _failed(httpx, request, why)
    if is_old and "event-stream" in kind:
        response.stream = _stream_class(httpx)(response.stream, _id_of(request))
    return response


def _is_refused(response: Any) -> bool:
    return bool(response.status_code >= 400 and response.status_code != _NOT_FOUND)


def _stream_class(httpx: Any) -> Any:
    class WholeAnswer(httpx.AsyncByteStream):  # type: ignore[misc]
        """An answer in events, in which an error follows what breaks off before its end.

        Not where its events have ids: the SDK requests the rest by the last of them.
        """

        def __init__(self, stream: Any, id: int | str | None) -> None:
            self._stream = stream
            self._id = id

        async def __aiter__(self) -> AsyncIterator[bytes]:
            has_ids, end, why = False, b"\n", "the stream ended without a response"
            try:
                async for block in self._stream:
                    has_ids = has_ids or _EVENT_ID.search(end + block) is not None
                    end = (end + block)[-3:]
                    yield block
            except httpx.HTTPError as error:
                why = mcp_messages.error_text(error)
            if self._id is not None and not has_ids:
                yield _broken_off(self._id, why)

        async def aclose(self) -> None:
            await self._stream.aclose()

    return WholeAnswer


def _unreadable_call(content: bytes) -> str:
    """The error of a call that a server could not read, and so does not know the id of."""
    if not _NULL_ID.search(content):
        return ""
    try:
        answer = json.loads(content)
        return str(answer["error"]["message"]) if answer.get("id") is None else ""
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return ""


def _failed(httpx: Any, request: Any, why: str) -> Any:
    """A response in the place of none: the error of the requested call."""
    requested = _id_of(request)
    if requested is None:
        return httpx.Response(202, request=request)
    return httpx.Response(
        200, json=mcp_messages.error_data(requested, why.rstrip(": ")), request=request
    )


def _broken_off(id: int | str, why: str) -> bytes:
    """The event that ends an answer, after what may be half a one."""
    error = mcp_messages.error_data(id, f"its answer broke off: {why}")
    return f"\n\nevent: message\ndata: {json.dumps(error)}\n\n".encode()


def _id_of(request: Any) -> int | str | None:
    requested: int | str | None = json.loads(request.content).get("id")
    return requested


logger = logging.getLogger(__name__)

_NOTED_WITHIN_S = 5.0
"""Limit of a server's answer to a notification: what follows waits for that."""


@contextlib.asynccontextmanager
async def sse_streams(
    name: str, url: str, headers: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Connects to a server of the transport before HTTP streams: answers are server-sent events.

    Gives the streams from and to it that a session of the SDK wants. The SDK's own closes the
    connection at an event of more than 1 MiB, and sends nothing any more after one message that
    the server refuses.

    Raises:
        httpx2.HTTPError: It cannot be reached, or does not answer with events.
        ConnectionError: It said nothing of where messages are taken.
    """
    import anyio
    import httpx2

    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)
    patience = httpx2.Timeout(PATIENCE_S, read=None, pool=None)  # a tool may be silent for long
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=patience, limits=limits) as http,
        http.sse(url, max_event_size=None) as events,
        anyio.create_task_group() as tasks,
        to_session, from_server, to_server, from_session,
    ):  # fmt: skip
        events.response.raise_for_status()
        arriving = aiter(events)
        address = await _address(arriving, events.response.url)
        posting = _Posting(http, address, to_session)
        tasks.start_soon(_read, name, arriving, to_session)
        tasks.start_soon(posting.send_all, from_session, tasks)
        yield from_server, to_server
        tasks.cancel_scope.cancel()


async def _address(arriving: Any, url: Any) -> Any:
    """The URL at which the server takes messages: at its own origin, as it says first of all."""
    async for event in arriving:
        if event.event == "endpoint":
            address = url.join(event.data)
            if (address.scheme, address.netloc) != (url.scheme, url.netloc):
                raise ConnectionError(f"it takes messages elsewhere, at {address}")
            return address
    raise ConnectionError("it did not say where it takes messages")


async def _read(name: str, arriving: Any, to_session: Any) -> None:
    """Passes on what a server says; at the end of it the session learns that it is gone."""
    import anyio
    import httpx2

    closed = (anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.HTTPError)
    with contextlib.suppress(*closed):
        async for event in arriving:
            if event.event != "message" or not event.data:
                continue
            message = mcp_messages.read_message(event.data.encode())
            if message is None:
                sent = cuts.head(event.data, 500)
                logger.debug("MCP server %r sent what is no message: %r", name, sent)
            else:
                await to_session.send(message)
    await to_session.aclose()


class _Posting(NamedTuple):
    """Sends each message by itself: one that is refused is a failed call, and no more."""

    http: Any
    address: Any
    to_session: Any

    async def send_all(self, from_session: Any, tasks: Any) -> None:
        async for message in from_session:
            if mcp_messages.request_id(message) is None:
                await self._send(message)  # what it says holds for the requests that follow
            else:
                tasks.start_soon(self._send, message)

    async def _send(self, message: Any) -> None:
        import anyio
        import httpx2

        requested = mcp_messages.request_id(message)
        content, headers = mcp_messages.serialize(message), {"Content-Type": "application/json"}
        within = None if requested is not None else _NOTED_WITHIN_S
        try:
            async with asyncio.timeout(within):
                answer = await self.http.post(self.address, content=content, headers=headers)
            if answer.is_success:
                return
            why = f"the server refused it with {answer.status_code}: {cuts.head(answer.text, 200)}"
        except (httpx2.HTTPError, TimeoutError) as error:
            why = f"it could not be sent: {type(error).__name__}: {error}"
        if requested is not None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self.to_session.send(mcp_messages.error_response(requested, why))
