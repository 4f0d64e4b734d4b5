"""Answers are read up to a size: one without an end must not fill the memory."""

from __future__ import annotations

from typing import Any

import aiohttp

from tui_eval.errors import InvalidModelResponseError

MB = 1_000_000


class AnswerSize:
    """Counts what comes of one answer.

    Args:
        most_mb: MB that it may have, decompressed.
        url: Where it comes from, for the message.
    """

    def __init__(self, most_mb: float, url: Any) -> None:
        self._most_mb = most_mb
        self._left = most_mb * MB
        self._url = url

    def add(self, chunk: bytes) -> None:
        """So much more has come.

        Raises:
            InvalidModelResponseError: It is too much.
        """
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
