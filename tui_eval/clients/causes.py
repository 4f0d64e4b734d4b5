"""Causes of calls without an answer: proxy, TLS, name, refused, reset, broken off, too slow."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from tui_eval.clients.proxies import ProxyFound, proxy_found
from tui_eval.open_files import OUT_OF_FILES, REASON

_DEEPEST = 12
_WANTS_PASSWORD = 407


class Cause(msgspec.Struct, frozen=True):
    """The kind of a fault, its text, and whether it may pass by itself."""

    kind: str
    text: str
    passes: bool = True


_CERTIFICATE_FAULTS = {
    10: ("has expired", "renew it, or check this machine's clock"),
    9: ("is not valid yet", "check this machine's clock"),
    18: ("is signed by itself", "name a file with it in SSL_CERT_FILE if you trust it"),
    19: ("comes from an authority of its own", "name a file with that in SSL_CERT_FILE"),
    20: ("comes from an unknown authority", "name a file with that in SSL_CERT_FILE"),
    21: ("comes from an unknown authority", "name a file with that in SSL_CERT_FILE"),
    62: ("is for another host", "use a name that it is for"),
    64: ("is for another address", "use a name that it is for"),
}
"""Faults of certificates, and what helps, by OpenSSL's `verify_code`."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE")
_ERRNOS = {
    errno.ECONNREFUSED: ("refused", "nothing listens on {place} (connection refused)"),
    errno.ECONNRESET: ("reset", "the connection was reset"),
    errno.EPIPE: ("reset", "the connection was reset"),
    errno.ECONNABORTED: ("reset", "the connection was reset"),
    errno.ETIMEDOUT: ("reset", "the server has vanished from the network"),
    errno.ENETUNREACH: ("network", "the network cannot be reached"),
    errno.EHOSTUNREACH: ("network", "the host cannot be reached"),
    **dict.fromkeys(OUT_OF_FILES, ("files", REASON)),
}
_TYPES = {
    "ClientConnectorDNSError": "gaierror",
    "ServerDisconnectedError": "disconnected",
    "ClientPayloadError": "broke",
    "ContentLengthError": "broke",
    "TransferEncodingError": "broke",
    "RemoteProtocolError": "broke",
    "ConnectionResetError": "reset",
    "BrokenPipeError": "reset",
    "ConnectTimeout": "slow",
    "ConnectionTimeoutError": "slow",
    "UnsupportedProtocol": "url",
}
"""Causes by the names of exception classes of http libraries: none is loaded for it."""
_KNOWN = {
    "gaierror": ("DNS", "the host {host} is not known (DNS)"),
    "reset": ("reset", "the connection was reset"),
    "url": ("url", "the URL is none of http"),
    "disconnected": ("reset", "the server hung up without an answer"),
    "broke": ("broke", "the answer broke off"),
    "slow": ("slow", "no connection could be made in time"),
}
_WORDS = re.compile(r"\s+")


def cause_of(error: BaseException, url: str = "") -> Cause | None:
    """The cause of a call that brought no answer; None where it is not known.

    Args:
        error: Of an SDK or an http library; what it came from is looked through.
        url: The URL of the request, for its host and its proxy.
    """
    links = list(_chain(error))
    proxy = proxy_found(url) if url else None
    status = next((s for s in (getattr(link, "proxy_status", None) for link in links) if s), None)
    if status is not None:
        return _of_proxy_status(status, str(links[-1]), proxy)
    at_proxy = proxy is not None and _is_at_proxy(links)
    requested = str(proxy.url) if proxy is not None and at_proxy else url
    found = next((c for c in (_of_link(link, requested) for link in reversed(links)) if c), None)
    if proxy is None or found is None or found.kind == "TLS":
        return found
    if at_proxy:
        return of_proxy(found, proxy)
    return Cause(found.kind, f"{found.text} (called through {proxy})", found.passes)


def of_proxy(found: Cause, proxy: ProxyFound) -> Cause:
    """The cause of a connection to a proxy that could not be made."""
    unset = f"unset {proxy.variable}" if proxy.variable else "take it out of the settings"
    hint = f"mend it, {unset}, or name the host in NO_PROXY"
    return Cause("proxy", f"{proxy}: {found.text}; {hint}", found.passes)


def _of_proxy_status(status: int, text: str, proxy: ProxyFound | None) -> Cause:
    name = str(proxy) if proxy is not None else "the proxy"
    if status == _WANTS_PASSWORD:
        words = f"put user and password into {proxy.variable}" if proxy is not None else ""
        return Cause("proxy", f"{text} ({name} wants a user and password; {words})", passes=False)
    return Cause("proxy", f"{text} ({name})", status >= 500 or status == 429)


def _is_at_proxy(links: list[BaseException]) -> bool:
    names = {type(link).__name__ for link in links}
    return bool(names & {"ClientProxyConnectionError", "ProxyError"})


def _of_link(link: BaseException, url: str) -> Cause | None:
    if isinstance(link, ssl.SSLError):
        return _of_tls(link)
    if isinstance(link, socket.gaierror):
        return _known_cause("gaierror", url)
    named = _ERRNOS.get(link.errno or 0) if isinstance(link, OSError) else None
    if named is not None:
        return Cause(named[0], _placed(named[1], url))
    for kind in type(link).__mro__:
        if (name := _TYPES.get(kind.__name__)) in _KNOWN:
            return _known_cause(str(name), url)
    return None


def _known_cause(name: str, url: str) -> Cause:
    kind, text = _KNOWN[name]
    return Cause(kind, _placed(text, url))


def _placed(text: str, url: str) -> str:
    """The text with the host and the port of a URL in it."""
    parts = urlsplit(url)
    host = parts.hostname or "of the URL"
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return text.format(host=host, place=f"port {port} of {host}" if parts.hostname else "its port")


def _of_tls(error: ssl.SSLError) -> Cause:
    if isinstance(error, ssl.SSLCertVerificationError):
        code = getattr(error, "verify_code", 0)
        what, hint = _CERTIFICATE_FAULTS.get(code, ("is not trusted", "see SSL_CERT_FILE"))
        reported = getattr(error, "verify_message", "") or str(error)
        return Cause("TLS", f"the server's certificate {what} ({reported}); {hint}", passes=False)
    reason = str(error.reason or error)
    if any(name in reason for name in _NO_TLS):
        hint = "the port speaks plain http; begin the URL with http://"
        return Cause("TLS", f"no TLS there: {hint}", passes=False)
    return Cause("TLS", f"no TLS connection could be agreed on ({_WORDS.sub(' ', reason)})")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what it came from, the outermost first."""
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen and len(seen) < _DEEPEST:
        seen.add(id(link))
        yield link
        inner = getattr(link, "os_error", None) or getattr(link, "certificate_error", None)
        if isinstance(inner, BaseException) and id(inner) not in seen:
            link = inner
        else:
            link = link.__cause__ or _context(link)


def _context(link: BaseException) -> BaseException | None:
    """The unnamed cause of an exception; httpx hides a TLS fault from its callers."""
    is_hidden = link.__suppress_context__ and not isinstance(link.__context__, ssl.SSLError)
    return None if is_hidden else link.__context__
