"""The requests under way on one connection to an MCP server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class Requests:
    """The requests that wait for an answer on one connection."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[str]] = set()
        self._suspects: set[asyncio.Future[str]] = set()
        self._unreadable: list[str] = []

    async def finish(
        self, request: Coroutine[Any, Any, Result], held: asyncio.Task[None]
    ) -> Result:
        """What a request brings while its connection is there.

        Args:
            held: Ends with the connection.

        Raises:
            ConnectionError: The connection ended before.
            RuntimeError: The server could not read the request.
            Exception: Whatever the request raises.
        """
        pending = asyncio.ensure_future(request)
        refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.add(refused)
        try:
            # A session whose transport broke may leave its caller waiting for ever.
            ends = (pending, refused, held)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if pending.done():
                return pending.result()
            if refused.done():
                raise RuntimeError(f"the server could not read the call: {refused.result()}")
        finally:
            pending.cancel()
            self._waiting.discard(refused)
            self._suspects.discard(refused)
            self._settle()
        raise ConnectionError("the connection broke")

    def fail_unreadable(self, message: str) -> None:
        """Takes note that the server could not read a request, and so does not know which.

        It is one of those that wait now: once the others have their answers, it fails.
        """
        self._unreadable.append(message)
        self._suspects |= self._waiting
        self._settle()

    def _settle(self) -> None:
        if len(self._suspects) > len(self._unreadable):
            return
        message = "; ".join(dict.fromkeys(self._unreadable))
        for refused in self._suspects:
            if not refused.done():
                refused.set_result(message)
        self._suspects.clear()
        self._unreadable.clear()
