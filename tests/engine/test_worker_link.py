"""The connection of an engine and a worker: whole messages, in their order, however they come."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_eval.worker import to_engine
from tui_eval.worker.link import Link

TEXTS = st.text(max_size=40)
MESSAGES = st.one_of(
    st.builds(to_engine.Warned, TEXTS),
    st.builds(to_engine.Request, st.integers(0, 9), st.integers(0, 9), TEXTS, st.integers(0, 9)),
    st.builds(to_engine.Row, st.integers(0, 9), st.integers(0, 9), st.binary(max_size=300)),
    st.builds(to_engine.Ended, st.integers(-1, 9), TEXTS),
)


class Sink(asyncio.WriteTransport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""

    def write(self, data: Any) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return False


def link(taken: list[Any]) -> Link[to_engine.ToEngine]:
    decoder = msgspec.msgpack.Decoder(list[to_engine.ToEngine])
    return Link(decoder, taken.append, lambda: None)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(MESSAGES, min_size=1, max_size=4), max_size=4), st.data())
def test_messages_arrive_whole_and_in_order_whatever_pieces_they_come_in(
    batches: list[list[Any]], data: st.DataObject
) -> None:
    async def go() -> None:
        sink, taken = Sink(), list[Any]()
        sender, receiver = link([]), link(taken)
        sender.connection_made(sink)
        for batch in batches:
            for message in batch:
                sender.send(message)
            sender.flush()
        rest = sink.data
        while rest:
            size = data.draw(st.integers(1, len(rest)))
            receiver.data_received(rest[:size])
            rest = rest[size:]
        assert taken == [message for batch in batches for message in batch]

    asyncio.run(go())


async def test_the_loss_of_one_end_is_reported_to_the_other() -> None:
    one, other = socket.socketpair()
    gone = asyncio.Event()
    decoder = msgspec.msgpack.Decoder(list[to_engine.ToEngine])
    taken: list[Any] = []
    ends = [Link(decoder, taken.append, gone.set), Link(decoder, taken.append, lambda: None)]
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: ends[0], sock=one)
    await loop.create_connection(lambda: ends[1], sock=other)
    ends[1].send(to_engine.Left())
    ends[1].close()
    await asyncio.wait_for(gone.wait(), 10)
    assert taken == [to_engine.Left()]
