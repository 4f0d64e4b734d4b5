"""Clients of an SDK that somebody handed in: calls by them, and the loops that used them."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

from tui_eval.clients.pacing import Pace, pace_of
from tui_eval.clients.request_retries import Retries, send_with_retries
from tui_eval.clients.secrets import Secrets
from tui_eval.clients.wire.failed_answers import raise_if_failed

_USED: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.WeakSet[Any]] = (
    weakref.WeakKeyDictionary()
)
_SDKS = ("openai", "anthropic")
_PACED: weakref.WeakKeyDictionary[Any, tuple[Any, Retries]] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()  # loops run on threads of their own


def note_use(client: Any) -> None:
    """Notes that an SDK's async client is used on the running loop; anything else is no matter."""
    http = getattr(client, "_client", None)
    if any(isinstance(http, library.AsyncClient) for library in _http_libraries()):
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
    own = tuple(library.AsyncHTTPTransport for library in _http_libraries())
    failures = tuple(library.TransportError for library in _http_libraries())
    for http in used:
        for transport in (http._transport, *http._mounts.values()):
            if type(transport) in own:
                # A RuntimeError is that of a connection whose own loop has ended before.
                with contextlib.suppress(OSError, RuntimeError, *failures):
                    await transport.aclose()


def _http_libraries() -> list[Any]:
    """The libraries that SDKs send with, those of them that are loaded."""
    return [sys.modules[name] for name in ("httpx2", "httpx") if name in sys.modules]


def retries_of(client: Any) -> int:
    """The number of retries of an SDK's client; 0 where it does not say."""
    reported = getattr(client, "max_retries", 0)
    return reported if isinstance(reported, int) else 0


def paced(client: Any) -> tuple[Any, Retries]:
    """A client of an SDK without tries of its own, and its retries as ours.

    So its requests wait at their endpoint's pace, and a limit there loses nothing. What is of no
    SDK, or of a class that somebody derived, keeps its own tries: it is given as it is.
    """
    retries = Retries(retries_of(client))
    if type(client).__module__.partition(".")[0] not in _SDKS:
        return client, retries
    if (known := _PACED.get(client)) is not None:
        return known
    key = getattr(client, "api_key", None) or ""
    key = key if isinstance(key, str) else ""
    pace = pace_of(str(client.base_url).rstrip("/"), key, Pace().patience)
    single = client.with_options(max_retries=0)
    return _PACED.setdefault(client, (single, Retries(retries.most, pace, Secrets([key]))))


async def call_sdk(
    call: Callable[[], Awaitable[Any]],
    retries: Retries,
    state: Any = None,
    *,
    tries_by_itself: bool = True,
) -> Any:
    """The answer of a call by an SDK's client, which takes what a 200 says of a failure for one.

    Args:
        retries: The retry policy after passing failures.
        state: A rollout's state; its observer is notified of the waits.
        tries_by_itself: Whether the client has tried again already where the call raises.

    Raises:
        ReportedError: The answer says that the call failed, with a status.
        InvalidModelResponseError: It says so without one.
    """

    async def send() -> Any:
        try:
            answer = await call()
        except Exception as error:
            if not tries_by_itself:
                raise
            return error
        raise_if_failed(answer)
        return answer

    answer = await send_with_retries(send, retries, state)
    if isinstance(answer, Exception):
        raise answer
    return answer
