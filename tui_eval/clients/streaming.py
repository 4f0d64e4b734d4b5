"""Reads a streamed answer from the wire, as it comes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import aiohttp
import msgspec

from tui_eval.clients.http_session import AnswerSize, read_up_to
from tui_eval.clients.http_types import httpx2
from tui_eval.clients.wire.answer_stream import AnswerStream
from tui_eval.clients.wire.failed_answers import raise_if_failed, read_whole

_WHOLE = ("json", "html")
"""Kinds of content that are no stream."""
_HANG_UP_AFTER_S = 0.5


async def read_stream(
    answer: aiohttp.ClientResponse,
    stream: AnswerStream,
    kind: type[msgspec.Struct],
    max_answer_mb: float,
) -> Any:
    """The answer that a stream amounts to, or the one that came whole in its place.

    Args:
        stream: Puts together what comes.
        kind: What the answer is.
        max_answer_mb: MB that it may have.

    Raises:
        httpx2.RemoteProtocolError: The stream ended before anything said why the answer does.
        ReportedError: The endpoint said in the middle of it what went wrong, with a status.
        InvalidModelResponseError: It said so without one, it is too long, or a part is no JSON or
            not of the protocol.
    """
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
