"""The connections of one client: an aiohttp session under the SDK's calls and the short way.

Judges and people's code call the SDK's client, rollouts go the short way: both are on one pool, so
that limits, time-outs, proxies and certificates are set once and hold for both.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import ssl
import weakref
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from typing import Any, NoReturn

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from tui_eval.clients.http_types import httpx2
from tui_eval.clients.proxies import proxy_of
from tui_eval.clients.time_limits import TimeLimit, TimeLimits
from tui_eval.errors import InvalidModelResponseError
from tui_eval.open_files import is_out_of_files
from tui_eval.types import ClientConfig

MB = 1_000_000


class AnswerSize:
    """Counts what comes of one answer: one without an end must not fill the memory.

    Args:
        most_mb: MB that it may have, decompressed.
    """

    def __init__(self, most_mb: float, url: Any) -> None:
        self._most_mb = most_mb
        self._left = most_mb * MB
        self._url = url

    def add(self, chunk: bytes) -> None:
        """Counts received bytes; `InvalidModelResponseError` where it is too much."""
        self._left -= len(chunk)
        if self._left < 0:
            raise InvalidModelResponseError(
                f"the answer from {self._url} is longer than {self._most_mb:g} MB, and was given "
                "up; the client's `max_answer_mb` sets the limit"
            )


async def read_up_to(answer: aiohttp.ClientResponse, most_mb: float) -> bytes:
    """The content of an answer, decompressed.

    Raises:
        InvalidModelResponseError: It is longer than it may be.
        aiohttp.ClientError: It broke off.
    """
    length = answer.content_length
    if length is not None and length <= most_mb * MB and "content-encoding" not in answer.headers:
        return await answer.read()
    size, content = AnswerSize(most_mb, answer.url), bytearray()
    async with answer:
        async for chunk in answer.content.iter_any():
            size.add(chunk)
            content += chunk
    return bytes(content)


IDLE_S = 60
EVERY_S = 15
PROBES = 4
"""A connection whose other end is silent for 60 s, then four times 15 s, is broken."""
_KEEPALIVE = {"TCP_KEEPIDLE": IDLE_S, "TCP_KEEPALIVE": IDLE_S, "TCP_KEEPINTVL": EVERY_S,
            "TCP_KEEPCNT": PROBES}  # fmt: skip
"""Options by their names in `socket`; each system lacks one.

A model may think for an hour, and nothing is sent meanwhile: of a host that lost its power or its
network nobody would notice.
"""


def _make_socket(address: Any) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        option = getattr(socket, name, None)
        if option is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def keepalive_arguments() -> dict[str, Any]:
    """Arguments of a `TCPConnector` whose connections do that; none for an aiohttp before 3.12."""
    known = inspect.signature(aiohttp.TCPConnector).parameters
    return {"socket_factory": _make_socket} if "socket_factory" in known else {}


# Seconds that an idle connection is kept: less than the 5 s after which common servers hang up.
KEEPALIVE_EXPIRY = 4.5

# What aiohttp's errors are for the SDKs; the first that fits.
_MEANINGS: tuple[tuple[type[aiohttp.ClientError], type[httpx2.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.ServerTimeoutError, httpx2.ReadTimeout),
    (aiohttp.ClientProxyConnectionError, httpx2.ProxyError),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (aiohttp.ClientConnectionError, httpx2.ReadError),
    (aiohttp.ClientPayloadError, httpx2.ReadError),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.NonHttpUrlClientError, httpx2.UnsupportedProtocol),
)


class Post(msgspec.Struct, frozen=True):
    """One request with JSON.

    Args:
        seconds: From waiting for a connection to the last byte; None for the client's time-out.
    """

    url: URL
    headers: CIMultiDict[str]
    payload: bytes
    proxy: URL | None
    seconds: float | None = None


class HttpSession(httpx2.AsyncBaseTransport):
    """One pool of connections, for an SDK's http client and for calls beside it.

    It is opened on the loop of the first call and closed with that loop at the latest; a call on
    another loop opens another. Redirects are not followed: they would carry prompt and key to a
    host that nobody named. Cookies are not kept: no rollout steers another.

    Args:
        config: Its limits and time-outs hold; proxies and certificates are the environment's.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._connecting = aiohttp.ClientTimeout(total=None, sock_connect=config.connect_timeout)
        self._limits: TimeLimits
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: aiohttp.ClientSession
        self._keeper: AsyncGenerator[aiohttp.ClientSession, None]
        self._left_behind: weakref.finalize[Any, Any]
        self._is_closed = False

    def http_client(self) -> httpx2.AsyncClient:
        """A client for an SDK; closing it closes the connections."""
        timeout = httpx2.Timeout(self._config.timeout, connect=self._config.connect_timeout)
        return httpx2.AsyncClient(transport=self, timeout=timeout, follow_redirects=False)

    @property
    def max_answer_mb(self) -> float:
        """MB that one answer may have."""
        return self._config.max_answer_mb

    async def post(self, sent: Post) -> tuple[aiohttp.ClientResponse, bytes]:
        """The answer to one request and its content, decompressed.

        Raises:
            httpx2.TransportError: No connection, or no whole answer.
            TimeoutError: It takes longer than it may.
            InvalidModelResponseError: An answer that is too long.
        """
        try:
            session = await self._open()
            with self._limit(sent):
                answer = await self._send(session, sent)
                return answer, await read_up_to(answer, self._config.max_answer_mb)
        except aiohttp.ClientError as error:
            _raise_as_httpx2(error)

    @asynccontextmanager
    async def stream(self, sent: Post) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to one request, its content yet to be read inside.

        Raises:
            httpx2.TransportError: No connection, or it broke, also while the content was read.
            TimeoutError: It takes longer than it may, the block included.
        """
        try:
            session = await self._open()
            with self._limit(sent):
                async with self._send(session, sent) as answer:
                    yield answer
        except aiohttp.ClientError as error:
            _raise_as_httpx2(error)

    def _limit(self, sent: Post) -> TimeLimit:
        return self._limits.of(self._config.timeout if sent.seconds is None else sent.seconds)

    def _send(self, session: aiohttp.ClientSession, sent: Post) -> Any:
        """The answer, to be awaited or entered."""
        return session.post(
            sent.url,
            data=sent.payload,
            headers=sent.headers,
            allow_redirects=False,
            timeout=self._connecting,
            proxy=sent.proxy,
            ssl=self._trusted(sent.url, sent.proxy),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to a request of the http client; its body is yet to be read."""
        url = URL(str(request.url))
        limits = request.extensions.get("timeout", {})
        timeout = aiohttp.ClientTimeout(
            connect=limits.get("pool"),
            sock_connect=limits.get("connect"),
            sock_read=limits.get("read"),
        )
        content = await request.aread()
        headers = CIMultiDict(request.headers.multi_items())
        headers.popall("transfer-encoding", None)
        proxy = proxy_of(url)
        try:
            session = await self._open()
            answer = await session.request(
                request.method,
                url,
                data=content or None,
                headers=headers,
                allow_redirects=False,
                auto_decompress=False,
                timeout=timeout,
                proxy=proxy,
                ssl=self._trusted(url, proxy),
            )
        except aiohttp.ClientError as error:
            _raise_as_httpx2(error)
        size = AnswerSize(self._config.max_answer_mb, url)
        return httpx2.Response(
            answer.status, headers=answer.raw_headers, stream=_Body(answer, size)
        )

    async def aclose(self) -> None:
        """Closes the connections; calls after this fail."""
        self._is_closed = True
        await self._leave()

    def _trusted(self, url: URL, proxy: URL | None) -> ssl.SSLContext | bool:
        """The context that checks certificates, where one will be shown."""
        if url.scheme == "https" or (proxy is not None and proxy.scheme == "https"):
            return self._ssl_context
        return True

    @cached_property
    def _ssl_context(self) -> ssl.SSLContext:
        """Made once it is needed: reading a machine's certificates takes as long as many calls."""
        try:
            return httpx2.create_ssl_context()
        except OSError as error:
            if is_out_of_files(error):
                raise
            names = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
            named = ", ".join(f"{name}={os.environ[name]}" for name in names)
            text = f"no certificates of {named or 'this machine'}: {error}"
        raise httpx2.ConnectError(text)  # without the fault of TLS, which is none of the server's

    async def _open(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._is_closed:
                raise RuntimeError("the client is closed and cannot send anything")
            await self._leave()
            self._keeper = _kept_open(self._config)
            self._session = await anext(self._keeper)
            self._limits = TimeLimits(loop)
            self._loop = loop
            self._left_behind = weakref.finalize(self, _close_elsewhere, self._keeper, loop)
        return self._session

    async def _leave(self) -> None:
        loop, self._loop = self._loop, None
        if loop is None:
            return
        if loop is asyncio.get_running_loop():
            self._left_behind.detach()
            await self._keeper.aclose()
        else:
            self._left_behind()


async def _kept_open(config: ClientConfig) -> AsyncGenerator[aiohttp.ClientSession, None]:
    """Gives the session of one loop; a loop closes its generators when it ends."""
    connector = aiohttp.TCPConnector(
        limit=config.max_connections,
        keepalive_timeout=KEEPALIVE_EXPIRY if config.max_keepalive_connections else 0.0,
        **keepalive_arguments(),
    )
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(connector=connector, cookie_jar=jar) as session:
        yield session


def _close_elsewhere(
    keeper: AsyncGenerator[aiohttp.ClientSession, None], loop: asyncio.AbstractEventLoop
) -> None:
    """Closes a session that nobody holds any more, on the loop that it belongs to."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: loop.create_task(keeper.aclose()))
        return
    with suppress(StopIteration):
        # Nothing waits on a closed loop, so one step is all.
        keeper.aclose().send(None)


class _Body(httpx2.AsyncByteStream):
    """The bytes of an answer as they come in."""

    def __init__(self, answer: aiohttp.ClientResponse, size: AnswerSize) -> None:
        self._answer = answer
        self._size = size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.content.iter_any():
                self._size.add(chunk)
                yield chunk
        except aiohttp.ClientError as error:
            _raise_as_httpx2(error)

    async def aclose(self) -> None:
        self._answer.release()


def _raise_as_httpx2(error: aiohttp.ClientError) -> NoReturn:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        # Its own text has the proxy's URL with the password.
        text = f"the proxy answers {error.status} {error.message}"
        refused = httpx2.ProxyError(text)
        refused.proxy_status = error.status  # type: ignore[attr-defined]
        raise refused from None
    for kind, meaning in _MEANINGS:
        if isinstance(error, kind):
            raise meaning(str(error)) from error
    raise error
