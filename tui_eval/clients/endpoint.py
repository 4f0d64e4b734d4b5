"""The short way of one call: JSON bytes straight through the connections of a client."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from tui_eval.clients.faults import connection_error, status_error
from tui_eval.clients.http_session import AnswerSize, HttpSession, Post, read_up_to
from tui_eval.clients.http_types import httpx2
from tui_eval.clients.proxies import proxy_of
from tui_eval.clients.sampling import PLAIN, CallOptions
from tui_eval.clients.wire.failed_answers import (
    ReportedError,
    raise_if_failed,
    read_whole,
    sdk_error,
)

if TYPE_CHECKING:
    from tui_eval.clients.wire.answer_stream import AnswerStream

_WHOLE = ("json", "html")
"""Kinds of content that are no stream."""
_HANG_UP_AFTER_S = 0.5
# The content was decompressed and put together.
_NO_LONGER_TRUE = ("content-encoding", "transfer-encoding", "content-length")


class Endpoint:
    """One URL that takes and gives JSON.

    Goes by the session under the SDK's client: pool, limits, proxies and time-outs are those of
    the SDK's own calls. What is left out is what costs most there: building options, requests and
    answers again on every floor, and validating the answer with pydantic.

    Args:
        sdk: Imports the module `openai` or `anthropic`, whose exceptions are raised.
        session: The one under the SDK's client.
        url: The URL of requests.
        headers: Sent with each request.
    """

    def __init__(
        self,
        sdk: Callable[[], ModuleType],
        session: HttpSession,
        url: str,
        headers: Mapping[str, str],
    ) -> None:
        self.url = URL(url)
        self._sdk = sdk
        self._session = session
        self._headers = CIMultiDict(headers)
        self._proxy = proxy_of(self.url)

    def __repr__(self) -> str:
        return f"Endpoint({str(self.url)!r})"

    def at(self, url: str) -> Endpoint:
        """The same for another URL of the same host."""
        other = copy.copy(self)
        other.url = URL(url)
        return other

    async def post(
        self, payload: bytes, kind: type[msgspec.Struct], options: CallOptions = PLAIN
    ) -> Any:
        """The answer to one request.

        Raises:
            openai.APIError, anthropic.APIError: A status that is no success, no whole answer, or
                an error with a status in its place.
            InvalidModelResponseError: The answer is no JSON, or not of that kind.
        """
        sent = self._request(payload, options)
        try:
            answer, content = await self._session.post(sent)
        except (httpx2.HTTPError, TimeoutError) as error:
            raise connection_error(self._sdk(), _for_sdk(sent), error) from error
        if not 200 <= answer.status < 300:
            raise status_error(self._sdk(), _response(answer, content, _for_sdk(sent)))
        try:
            return read_whole(content, kind, sent.url)
        except ReportedError as error:
            failure = sdk_error(error, self._sdk(), _for_sdk(sent))
        raise failure

    async def stream(
        self,
        payload: bytes,
        options: CallOptions,
        stream: AnswerStream,
        kind: type[msgspec.Struct],
    ) -> Any:
        """The answer that a stream amounts to, or the one that came whole in its place.

        Raises:
            openai.APIError, anthropic.APIError: A status that is no success, a stream that ended
                before anything said why the answer does, or an error with a status in it.
            InvalidModelResponseError: An error without one, an answer that is too long, or a part
                that is no JSON or not of the protocol.
        """
        sent = self._request(payload, options)
        request = _for_sdk(sent)
        try:
            async with self._session.stream(sent) as answer:
                if 200 <= answer.status < 300:
                    return await _read_stream(answer, stream, kind, self._session.max_answer_mb)
                content = await read_up_to(answer, self._session.max_answer_mb)
                refusal = _response(answer, content, request)
        except (httpx2.HTTPError, TimeoutError) as error:
            raise connection_error(self._sdk(), request, error) from error
        except ReportedError as error:
            failure = sdk_error(error, self._sdk(), request)
        else:
            failure = status_error(self._sdk(), refusal)
        raise failure

    def _request(self, payload: bytes, options: CallOptions) -> Post:
        url, headers = self.url, self._headers
        if options is not PLAIN:
            url, headers = self._with(options)
        return Post(url, headers, payload, self._proxy, options.timeout or None)

    def _with(self, options: CallOptions) -> tuple[URL, CIMultiDict[str]]:
        url, headers = self.url, self._headers
        if options.extra_query:
            merged = httpx2.URL(str(url)).copy_merge_params(dict(options.extra_query))
            url = URL(str(merged))
        if options.extra_headers:
            headers = headers.copy()
            headers.update(options.extra_headers)
        return url, headers


def _for_sdk(sent: Post) -> httpx2.Request:
    """The request as errors of the SDKs have it."""
    return httpx2.Request("POST", str(sent.url), headers=sent.headers, content=sent.payload)


def _response(
    answer: aiohttp.ClientResponse, content: bytes, request: httpx2.Request
) -> httpx2.Response:
    headers = [item for item in answer.headers.items() if item[0].lower() not in _NO_LONGER_TRUE]
    return httpx2.Response(answer.status, headers=headers, content=content, request=request)


async def _read_stream(
    answer: aiohttp.ClientResponse,
    stream: AnswerStream,
    kind: type[msgspec.Struct],
    max_answer_mb: float,
) -> Any:
    if any(name in answer.content_type for name in _WHOLE):
        return read_whole(await read_up_to(answer, max_answer_mb), kind, answer.url)
    size = AnswerSize(max_answer_mb, answer.url)
    async for chunk in answer.content.iter_any():
        size.add(chunk)
        stream.feed(chunk)
        if stream.is_over:
            await _leave(answer)
            break
    stream.end()
    whole = stream.answer()
    if not whole.is_sound():
        raise_if_failed(whole)
    if not stream.is_whole:
        raise httpx2.RemoteProtocolError("the stream ended before the answer did")
    return whole


async def _leave(answer: aiohttp.ClientResponse) -> None:
    """Reads on to the end, so that the connection can be used again; but not for long."""
    with suppress(aiohttp.ClientError, TimeoutError):
        async with asyncio.timeout(_HANG_UP_AFTER_S):
            async for _ in answer.content.iter_any():
                pass
