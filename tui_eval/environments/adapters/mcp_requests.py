"""The requests under way on one connection to an MCP server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

NO_SUCH_METHOD = -32601
"""The code with which JSON-RPC refuses a method that it does not know."""


class Requests:
    """The requests that wait for an answer on one connection.

    An error without an id is the answer to a message that the server could not read, and so to
    one of the calls that wait: only they carry what a model wrote. Some servers answer
    notifications with one, too, which the protocol forbids; that fails no call.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[str]] = set()
        self._suspects: set[asyncio.Future[str]] = set()
        self._unreadable: list[str] = []
        self._notifications_sent = 0
        self._notifications_settled = 0
        """How many of those have an answer, or were read before a request that has one."""
        self._codes_for_notifications: set[int] = set()
        """With what this server answers notifications, should it do so."""

    async def finish(
        self,
        request: Coroutine[Any, Any, Result],
        held: asyncio.Task[None],
        *,
        may_be_unreadable: bool = False,
    ) -> Result:
        """What a request brings while its connection is there.

        Args:
            held: Ends with the connection.
            may_be_unreadable: It carries what a model wrote.

        Raises:
            ConnectionError: The connection ended before.
            RuntimeError: The server could not read the request.
        """
        pending = asyncio.ensure_future(request)
        refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        sent_before = self._notifications_sent
        if may_be_unreadable:
            self._waiting.add(refused)
        try:
            # A session whose transport broke may leave its caller waiting for ever.
            ends = (pending, refused, held)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if pending.done():
                self._settle_notifications(sent_before)
                return pending.result()
            if refused.done():
                raise RuntimeError(f"the server could not read the call: {refused.result()}")
        finally:
            pending.cancel()
            self._waiting.discard(refused)
            self._suspects.discard(refused)
            self._settle()
        raise ConnectionError("the connection broke")

    def note_notification(self) -> None:
        """Takes note of a message that has no answer by the protocol."""
        self._notifications_sent += 1

    def note_error(self, message: str, code: int) -> bool:
        """Takes note of an error without an id: the server does not say what it answers.

        It is one of the calls that wait now: once the others have their answers, it fails. It is
        a notification where no call waits, where there is no such method, and where this server
        has answered one with that code before.

        Returns:
            Whether it is a call.
        """
        if not self._waiting:
            self._codes_for_notifications.add(code)
        is_open = self._notifications_settled < self._notifications_sent
        is_known = code in self._codes_for_notifications and is_open
        if not self._waiting or is_known or code == NO_SUCH_METHOD:
            self._settle_notifications(self._notifications_settled + 1)
            return False
        self._unreadable.append(message)
        self._suspects |= self._waiting
        self._settle()
        return True

    def _settle_notifications(self, count: int) -> None:
        settled = max(self._notifications_settled, count)
        self._notifications_settled = min(settled, self._notifications_sent)

    def _settle(self) -> None:
        if len(self._suspects) > len(self._unreadable):
            return
        message = "; ".join(dict.fromkeys(self._unreadable))
        for refused in self._suspects:
            if not refused.done():
                refused.set_result(message)
        self._suspects.clear()
        self._unreadable.clear()
