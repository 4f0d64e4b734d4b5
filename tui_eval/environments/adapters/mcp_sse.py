"""An MCP server that answers at a URL by server-sent events, the transport before HTTP streams.

The SDK's own closes the connection at an event of more than 1 MiB, and sends nothing any more
after one message that the server refuses.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

from tui_eval.environments.adapters import mcp_messages
from tui_eval.environments.adapters.mcp_http import PATIENCE_S

logger = logging.getLogger(__name__)

_NOTED_WITHIN_S = 5.0
"""How long a server may take to say that it has a notification: what follows waits for that."""


@contextlib.asynccontextmanager
async def sse_streams(
    name: str, url: str, headers: Mapping[str, str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Connects to a server, and gives the streams from and to it that a session of the SDK wants.

    Args:
        name: What the log calls it.

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
    """Where the server takes messages: at its own origin, as it says first of all."""
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

    gone = (anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.HTTPError)
    with contextlib.suppress(*gone):
        async for event in arriving:
            if event.event != "message" or not event.data:
                continue
            message = mcp_messages.read_message(event.data.encode())
            if message is None:
                logger.debug("MCP server %r sent what is no message: %r", name, event.data[:500])
            else:
                await to_session.send(message)
    await to_session.aclose()


class _Posting:
    """Sends each message by itself: one that is refused is a failed call, and no more."""

    def __init__(self, http: Any, address: Any, to_session: Any) -> None:
        self._http = http
        self._address = address
        self._to_session = to_session

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
                answer = await self._http.post(self._address, content=content, headers=headers)
            if answer.is_success:
                return
            why = f"the server refused it with {answer.status_code}: {answer.text[:200]}"
        except (httpx2.HTTPError, TimeoutError) as error:
            why = f"it could not be sent: {type(error).__name__}: {error}"
        if requested is not None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._to_session.send(mcp_messages.error_response(requested, why))
