"""The connection between an engine and one of its workers: lists of messages in both directions.

Messages of one turn of the loop go out together: encoding and a system call cost as much for one
message as for thirty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Any, Generic, TypeVar

import msgspec

from tui_eval.event_frames import HEADER_BYTES, encode_events, frame, read_extension

Message = TypeVar("Message")

READ_BYTES = 1 << 17
"""Bytes read at once, into the same memory each time; a longer message has its own."""


class Link(asyncio.BufferedProtocol, Generic[Message]):
    """One end of the connection.

    Args:
        messages: The type that the other end sends: `ToEngine` or `ToWorker`.
        received: Gets each of them.
        lost: Called once the other end is gone.
        failed: Called where messages could not be sent, read or handled; the others are.
    """

    def __init__(
        self,
        messages: type[Message],
        received: Callable[[Message], None],
        lost: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        kinds = GenericAlias(list, (reduce(or_, messages.__subclasses__()),))
        self._decode = msgspec.msgpack.Decoder(kinds, ext_hook=read_extension).decode
        self._received = received
        self._lost = lost
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._buffer = bytearray(READ_BYTES)
        self._filled = 0
        self._waiting: list[Any] = []
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport), "sockets can be written to"
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        begin = 0
        while (end := self._end_of_frame(begin)) <= self._filled:
            if self._transport is not None and self._transport.is_closing():
                return
            self._take(memoryview(self._buffer)[begin + HEADER_BYTES : end])
            begin = end
        if begin or end > len(self._buffer):
            self._make_room(begin, end - begin)

    def _end_of_frame(self, begin: int) -> int:
        """The end of a frame; past the bytes that have arrived where it is not known yet."""
        payload = begin + HEADER_BYTES
        if payload > self._filled:
            return payload
        return payload + int.from_bytes(self._buffer[begin:payload], "big")

    def _make_room(self, begin: int, size: int) -> None:
        """Moves the beginning of a frame so that the rest of it has room."""
        left = self._buffer[begin : self._filled]
        size = max(size, READ_BYTES)
        if size != len(self._buffer):
            self._buffer = bytearray(size)
        self._buffer[: len(left)] = left
        self._filled = len(left)

    def _take(self, payload: memoryview) -> None:
        try:
            messages = self._decode(payload)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            failure = ValueError(f"a worker and its engine do not understand each other: {error}")
            failure.__cause__ = error
            self._failed(failure)
            return
        for message in messages:
            try:
                self._received(message)
            except Exception as error:  # the connection would be closed, and nobody know why
                self._failed(error)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        self._lost()
        # Whoever takes its messages has this end: no circle, so that both are freed.
        self._buffer = bytearray()
        self._received = self._failed = self._lost = _ignore

    def send(self, message: Any) -> None:
        """Sends a message, with those of the same turn of the loop."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(message)

    def flush(self) -> None:
        """Sends pending messages now."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._write(waiting)

    def _write(self, messages: list[Any]) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        try:
            payload = encode_events(messages)
        except Exception as error:
            if len(messages) == 1:
                self._failed(error)
            else:
                for message in messages:
                    self._write([message])
            return
        self._transport.write(frame(payload))

    def close(self) -> None:
        """Ends the connection once everything is sent."""
        self.flush()
        if self._transport is not None:
            self._transport.close()


def _ignore(*_: Any) -> None:
    """Ignores messages that nobody waits for any more."""
