"""Clients of an SDK that somebody handed in, and the event loops on which they were used."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import weakref
from typing import Any

_USED: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.WeakSet[Any]] = (
    weakref.WeakKeyDictionary()
)
_LOCK = threading.Lock()  # loops run on threads of their own


def note_use(client: Any) -> None:
    """Notes that an SDK's async client is used on the running loop; anything else is no matter."""
    httpx2 = sys.modules.get("httpx2")
    http = getattr(client, "_client", None)
    if httpx2 is not None and isinstance(http, httpx2.AsyncClient):
        with _LOCK:
            _USED.setdefault(asyncio.get_running_loop(), weakref.WeakSet()).add(http)


async def leave_loop() -> None:
    """Closes the connections that such clients have on the running loop, which ends now.

    Their pools would give them to the next call, on another loop, where they are of no use. The
    clients stay open. Those over transports of another kind than the SDKs' own are left alone, and
    those that another loop uses now.
    """
    with _LOCK:
        used = set(_USED.pop(asyncio.get_running_loop(), ()))
        for loop, clients in _USED.items():
            if loop.is_running():
                used.difference_update(clients)
    if not used:
        return
    import httpx2

    for http in used:
        for transport in (http._transport, *http._mounts.values()):
            if type(transport) is httpx2.AsyncHTTPTransport:
                # A RuntimeError is that of a connection whose own loop has ended before.
                with contextlib.suppress(OSError, RuntimeError, httpx2.TransportError):
                    await transport.aclose()
