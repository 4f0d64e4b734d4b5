"""Stand-ins for httpx2 without an SDK, under the same names: errors, requests and answers."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from multidict import CIMultiDict


class HTTPError(Exception):
    """Something went wrong with a request."""


class TransportError(HTTPError):
    """A request brought no whole answer."""


class TimeoutException(TransportError):
    """A request took too long."""


class ConnectTimeout(TimeoutException):
    """Connecting took too long."""


class ReadTimeout(TimeoutException):
    """Reading the answer took too long."""


class ConnectError(TransportError):
    """No connection could be made."""


class ReadError(TransportError):
    """The connection broke."""


class ProxyError(TransportError):
    """A proxy refused the request."""


class RemoteProtocolError(TransportError):
    """The answer is not as its protocol says."""


class UnsupportedProtocol(TransportError):
    """The URL is none that can be requested."""


class URL:
    """A URL, and what it is made of; without user and password in `netloc`."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self.scheme = self._parts.scheme
        self.netloc = self._parts.netloc.rpartition("@")[2].encode("ascii", "replace")
        self.path = unquote(self._parts.path)

    def __str__(self) -> str:
        return urlunsplit(self._parts)

    def copy_merge_params(self, params: Mapping[str, Any]) -> URL:
        """The same with more parameters, which replace those of the same names."""
        query = [one for one in parse_qsl(self._parts.query, True) if one[0] not in params]
        for name, value in params.items():
            values = value if isinstance(value, list | tuple) else [value]
            query += [(name, _parameter(one)) for one in values]
        return URL(urlunsplit(self._parts._replace(query=urlencode(query))))


def _parameter(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


class Request:
    """A request that was sent."""

    def __init__(self, method: str, url: str, *, headers: Any = None, content: bytes = b"") -> None:
        self.method = method
        self.url = URL(url)
        self.headers: CIMultiDict[str] = CIMultiDict(headers or {})
        self.content = content


class Response:
    """An answer, its body read."""

    def __init__(
        self,
        status_code: int,
        *,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        content: bytes = b"",
        request: Request,
    ) -> None:
        self.status_code = status_code
        self.headers = CIMultiDict(headers)
        self.content = content
        self.request = request

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.content)


class AsyncBaseTransport:
    """A stand-in for the http client of an SDK, of which there is none here."""


class AsyncByteStream:
    """A body that is yet to be read."""


def create_ssl_context() -> ssl.SSLContext:
    """The context that checks certificates: by those of the variables, else of this machine.

    Raises:
        OSError: What a variable names cannot be read.
    """
    context = ssl.create_default_context()
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        context.load_verify_locations(cafile=file or None, capath=folder or None)
    return context
