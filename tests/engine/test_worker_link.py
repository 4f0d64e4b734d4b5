"""The connection of an engine and a worker: whole messages, in their order, however they come."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_eval.worker import to_engine, to_worker
from tui_eval.worker.link import READ_BYTES, Link

TEXTS = st.text(max_size=40)
VALUES = st.recursive(
    st.none() | st.integers() | st.integers(-(2**90), 2**90) | TEXTS | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.one_of(
    st.builds(to_engine.Described, st.none(), st.just([]), st.lists(VALUES, max_size=3)),
    st.builds(to_engine.Warned, TEXTS),
    st.builds(to_engine.Request, st.integers(0, 9), st.integers(0, 9), TEXTS, st.integers(0, 9)),
    st.builds(to_engine.Row, st.integers(0, 9), st.integers(0, 9), st.binary(max_size=300)),
    st.builds(to_engine.Ended, st.integers(-1, 9), TEXTS),
)
HALF = "half a character: \ud800"


class Sink(asyncio.WriteTransport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""

    def write(self, data: Any) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return False


def link(
    taken: Callable[[Any], None], failed: Callable[[Exception], None] = pytest.fail
) -> Link[to_engine.ToEngine]:
    return Link(to_engine.ToEngine, taken, lambda: None, failed)


def receive(receiver: Link[Any], data: bytes) -> None:
    """Gives it what a socket has, as a loop does."""
    while data:
        with receiver.get_buffer(-1) as buffer:
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            receiver.buffer_updated(count)
        data = data[count:]


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(MESSAGES, min_size=1, max_size=4), max_size=4), st.data())
def test_messages_arrive_whole_and_in_order_whatever_pieces_they_come_in(
    batches: list[list[Any]], data: st.DataObject
) -> None:
    async def go() -> None:
        sink, taken = Sink(), list[Any]()
        sender, receiver = link(pytest.fail), link(taken.append)
        sender.connection_made(sink)
        for batch in batches:
            for message in batch:
                sender.send(message)
            sender.flush()
        rest = sink.data
        while rest:
            size = data.draw(st.integers(1, len(rest)))
            receive(receiver, rest[:size])
            rest = rest[size:]
        assert taken == [message for batch in batches for message in batch]

    asyncio.run(go())


async def test_a_message_longer_than_what_is_read_at_once_is_between_others() -> None:
    sink, taken = Sink(), list[Any]()
    sender, receiver = link(pytest.fail), link(taken.append)
    sender.connection_made(sink)
    sent = [to_engine.Row(1, row, bytes(READ_BYTES * size)) for row, size in enumerate((0, 40, 1))]
    for message in sent:
        sender.send(message)
        sender.flush()
    receive(receiver, sink.data)
    assert taken == sent
    assert len(receiver.get_buffer(-1)) == READ_BYTES


async def test_what_cannot_be_sent_is_reported_and_what_is_sent_with_it_arrives() -> None:
    sink, taken, failures = Sink(), list[Any](), list[Exception]()
    sender = link(pytest.fail, lambda error: (failures.append(error), sender.send(why))[0])
    why = to_engine.Ended(-1, "it was too deep")
    sender.connection_made(sink)
    row = to_engine.Row(1, 2, b"{}\n")
    for message in (row, to_engine.Described(None, [], nested(100_000)), to_engine.Warned(HALF)):
        sender.send(message)
    sender.flush()
    sender.flush()
    receive(link(taken.append), sink.data)
    assert taken == [row, to_engine.Warned("half a character: \\ud800"), why]
    assert [type(one) for one in failures] == [RecursionError]


async def test_what_cannot_be_read_or_taken_is_reported_and_what_follows_is_taken() -> None:
    sink, taken, failures = Sink(), list[Any](), list[Exception]()

    def take(message: Any) -> None:
        if message == to_engine.Warned("no"):
            raise KeyError("no")
        taken.append(message)

    sender = link(pytest.fail)
    sender.connection_made(sink)
    for batch in ([to_worker.Leave()], [to_engine.Warned("no"), to_engine.Left()]):
        for message in batch:
            sender.send(message)
        sender.flush()
    receive(link(take, failures.append), sink.data)
    assert taken == [to_engine.Left()]
    assert [type(one) for one in failures] == [ValueError, KeyError]
    assert "do not understand each other" in str(failures[0])


async def test_the_loss_of_one_end_is_reported_to_the_other() -> None:
    one, other = socket.socketpair()
    gone = asyncio.Event()
    taken: list[Any] = []
    lost = gone.set, lambda: None
    ends = [Link(to_engine.ToEngine, taken.append, one, pytest.fail) for one in lost]
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: ends[0], sock=one)
    await loop.create_connection(lambda: ends[1], sock=other)
    ends[1].send(to_engine.Left())
    ends[1].close()
    await asyncio.wait_for(gone.wait(), 10)
    assert taken == [to_engine.Left()]
