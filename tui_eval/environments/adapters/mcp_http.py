"""Requests to an MCP server at a URL: one that fails is a failed call, and no more.

The SDK of either version sends requests in one group of tasks: what a request raises there ends
the connection that all calls share.
"""

from __future__ import annotations

import json
from typing import Any

PATIENCE_S = 30.0
"""How long connecting, and sending, may take."""
SILENCE_S = 300.0
"""How long a server may say nothing in the answer to a call."""
_LAST_S = 2.0
"""How long the request that ends a session may take: servers that hang are left so."""
_NOT_FOUND = 404
"""That a server does not know the session any more; both versions take it for that."""


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
            if request.method != "POST":
                return await super().send(request, **options)
            try:
                response = await super().send(request, **options)
                is_refused = response.status_code >= 400 and response.status_code != _NOT_FOUND
                if is_refused or "json" in response.headers.get("content-type", ""):
                    await response.aread()
            except httpx.HTTPError as error:
                return _failed(httpx, request, f"it failed: {type(error).__name__}: {error}")
            if is_refused and not _is_new(httpx):
                why = f"the server refused it with {response.status_code}: {response.text[:200]}"
                return _failed(httpx, request, why)
            return response

    return Client


def _failed(httpx: Any, request: Any, why: str) -> Any:
    """A response in the place of none: the error of the call that was asked."""
    asked = json.loads(request.content).get("id")
    if asked is None:
        return httpx.Response(202, request=request)
    error = {"code": -32700, "message": why.rstrip(": ")}
    content = {"jsonrpc": "2.0", "id": asked, "error": error}
    return httpx.Response(200, json=content, request=request)
