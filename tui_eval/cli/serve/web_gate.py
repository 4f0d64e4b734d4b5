"""Access to what is served: for requests with the token, to a name of this machine."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable

from aiohttp import web
from yarl import URL

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

REFUSED = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>tui-eval</title>
<style>body {{ background: #15171b; color: #d6d8dc; font: 16px/1.6 monospace; margin: 4em auto;
max-width: 44em; padding: 0 1em }} h1 {{ font-size: 1em; color: #e08080 }}</style></head>
<body><h1>{what}</h1><p>{then}</p></body></html>
"""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


class Gate:
    """Admits a browser that showed the token once; a cookie identifies it then.

    Args:
        token: None admits everybody who can reach the server.
        host: Address that the server listens on.
        port: Port that it listens on.
        public_url: Address at a proxy, if there is one.
    """

    def __init__(
        self, token: str | None, host: str, port: int, public_url: str | None = None
    ) -> None:
        self._token = token
        public = URL(public_url) if public_url else None
        # as a browser names it: without the usual port
        self._public = public.with_port(None) if public and public.is_default_port() else public
        self._cookie = f"tui-eval-{port}"
        self._known = secrets.token_urlsafe(32)
        names = {"localhost", host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        if self._public is not None:
            names.add(self._public.host or "")
        self._names = names

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuses requests that are not for this server, from another page, or by a stranger."""
        if not self._is_ours(request.host):
            return _refusal(
                403,
                f"This server is not {request.host!r}",
                "Open the URL that tui-eval serve printed. Behind a proxy, start it with "
                "--public-url and the URL that people see.",
            )
        if not self._is_own_page(request):
            what = "Another page may not use this server"
            return _refusal(403, what, "Open it in a tab of its own.")
        if self._token is None:
            return await handler(request)
        shown = request.query.get("token")
        if shown is None:
            if _same(request.cookies.get(self._cookie, ""), self._known):
                return await handler(request)
            what = "A token is needed"
        elif _same(shown, self._token):
            return await self._let_in(request, handler)
        else:
            what = "This is not the token"
        return _refusal(
            401,
            what,
            "Open the URL that tui-eval serve printed in its terminal; its token holds "
            "until the server ends. Cookies have to be allowed.",
        )

    async def _let_in(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Gives a browser its cookie, and takes the token out of its address bar."""
        if request.path != "/":
            return await handler(request)
        rest = {name: value for name, value in request.query.items() if name != "token"}
        # relative, so that it holds behind a proxy; a name alone would go to the path above
        response = web.Response(status=303, headers={"Location": str(URL("./").with_query(rest))})
        is_https = self._public is not None and self._public.scheme == "https"
        response.set_cookie(
            self._cookie, self._known, httponly=True, samesite="Lax", secure=is_https
        )
        return response

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this machine; an address cannot be bound again by others."""
        try:
            name = (URL(f"http://{host}").host or "").lower()
        except ValueError:
            return False
        return name in self._names or _is_address(name)

    def _is_own_page(self, request: web.Request) -> bool:
        """Whether a request comes from a page of this server, or from no page at all."""
        origin = request.headers.get("Origin")
        if origin is None:
            return True
        try:
            page = URL(origin)
            ours = [URL(f"http://{request.host}"), *([self._public] if self._public else [])]
            return any((page.host, page.explicit_port) == (o.host, o.explicit_port) for o in ours)
        except ValueError:
            return False


async def harden(request: web.Request, response: web.StreamResponse) -> None:
    """Forbids loading from elsewhere, framing, caching, and referrers."""
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _refusal(status: int, what: str, then: str) -> web.Response:
    from html import escape

    text = REFUSED.format(what=escape(what), then=escape(then))
    return web.Response(status=status, text=text, content_type="text/html")
