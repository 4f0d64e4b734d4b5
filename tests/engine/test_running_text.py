"""The text of an answer that is just coming: who hears it, and in what pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.engine.limits.limits import Held
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.transport.listener import FULL_BYTES, Listener
from tui_eval.event_frames import HEADER_BYTES, decode_events
from tui_eval.events import Event, MessagesAdded, RunStarted, TextAdded
from tui_eval.fold.trajectory import GAP, Rollout
from tui_eval.messages import AssistantMessage, UserMessage
from tui_eval.runs.redaction import Redactor
from tui_eval.worker.gate import Gate
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.running_answer import RunningAnswer


class Wire:
    """A transport that counts, and says how much of it was not read."""

    def __init__(self) -> None:
        self.unread = 0
        self.written = b""

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.written += data

    def received(self) -> list[Event]:
        """Every event that was written to it."""
        found: list[Event] = []
        data = self.written
        while data:
            end = HEADER_BYTES + int.from_bytes(data[:HEADER_BYTES], "big")
            found += decode_events(data[HEADER_BYTES:end])
            data = data[end:]
        return found


def listening(hub: Hub, *rows: int) -> tuple[Listener, Wire]:
    wire = Wire()
    listener = Listener(wire)  # type: ignore[arg-type]
    hub.listeners.add(listener)
    hub.subscribe(listener, list(rows))
    return listener, wire


def observer_of(hub: Hub, row: int = 7) -> RolloutObserver:
    observer = RolloutObserver(row, 0, hub, Gate(), Held())
    hub.active[row] = observer
    observer.messages_added([UserMessage(content="hi")])
    return observer


def texts(events: list[Event]) -> list[tuple[int, str, int, str]]:
    return [(e.call, e.kind, e.first, e.text) for e in events if isinstance(e, TextAdded)]


def shown(events: list[Event]) -> Rollout:
    rollout = Rollout(7)
    for event in events:
        assert isinstance(event, MessagesAdded | TextAdded)
        rollout.apply(event)
    return rollout


async def test_text_goes_to_subscribers_and_what_follows_each_other_is_one_event() -> None:
    hub = Hub()
    observer = observer_of(hub)
    mine, _ = listening(hub, 7)
    other, _ = listening(hub, 8)
    also, _ = listening(hub, 7)
    hear = observer.answer_begins()
    for kind, text in (("reasoning", "so "), ("text", "It "), ("text", "is "), ("text", "4. ")):
        hear(kind, text)
    for listener in (mine, also):
        assert texts(listener.own) == [(1, "reasoning", 0, "so "), (1, "text", 0, "It is 4. ")]
    assert texts(other.own) == []


async def test_who_subscribes_in_the_middle_gets_what_came_before() -> None:
    hub = Hub()
    observer = observer_of(hub)
    hear = observer.answer_begins()
    hear("text", "It is ")
    mine, _ = listening(hub, 7)
    hear("text", "4. ")
    rollout = shown(mine.own)
    assert rollout.coming is not None
    assert rollout.coming.parts == {"text": "It is 4. "}


async def test_the_message_takes_the_place_of_its_text() -> None:
    hub = Hub()
    observer = observer_of(hub)
    mine, _ = listening(hub, 7)
    hear = observer.answer_begins()
    hear("text", "It is 4. ")
    observer.messages_added([AssistantMessage(content="It is 4. So")])
    hear("text", "late ")
    rollout = shown(mine.own)
    assert rollout.coming is None
    assert rollout.messages[-1]["content"] == "It is 4. So"
    assert texts(observer.events_so_far()) == []


async def test_a_second_answer_starts_again_and_the_first_is_received_no_more() -> None:
    hub = Hub()
    observer = observer_of(hub)
    mine, _ = listening(hub, 7)
    first = observer.answer_begins()
    first("reasoning", "hm ")
    second = observer.answer_begins()
    second("text", "Four ")
    first("reasoning", "late ")
    coming = shown(mine.own).coming
    assert coming is not None
    assert coming.parts == {"text": "Four "}


async def test_a_listener_that_does_not_read_misses_text_and_is_shown_the_gap() -> None:
    hub = Hub()
    observer = observer_of(hub)
    mine, wire = listening(hub, 7)
    hear = observer.answer_begins()
    hear("text", "one ")
    wire.unread = FULL_BYTES + 1
    hear("text", "two ")
    wire.unread = 0
    hear("text", "three ")
    coming = shown(mine.own).coming
    assert coming is not None
    assert coming.parts == {"text": f"one {GAP}three "}


@pytest.mark.slow
@given(st.text(max_size=60), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_what_is_reported_is_the_text_but_for_its_last_word(text: str, sizes: list[int]) -> None:
    answer, published, at, turn = RunningAnswer(1, 1), "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        more = answer.add("text", text[at : at + size])
        if more is not None:
            assert more.first == len(published)
            published += more.text
        at, turn = at + size, turn + 1
    assert text.startswith(published)
    assert [one.text for one in answer.events()] == [published] * bool(published)


def test_a_secret_that_comes_in_pieces_is_published_in_one() -> None:
    answer = RunningAnswer(1, 1)
    pieces = ("the key is sk-te", "st-0123", "456789. ", "Keep it.")
    published = [more.text for piece in pieces if (more := answer.add("text", piece))]
    assert any("sk-test-0123456789" in text for text in published)


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("before", ["the key is ", "x" * 4_090])
def test_a_secret_with_ends_of_words_is_published_in_one(before: str, size: int) -> None:
    secret = "8412:AAf@%odd key!"
    Redactor.of_process([secret])
    text = f"{before}{secret}, 8412:AAf@%even so"
    answer = RunningAnswer(1, 1)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    published = [more.text for piece in pieces if (more := answer.add("text", piece))]
    assert [one for one in published if secret in one]
    assert "".join(published) == text.removesuffix("so")


def test_a_text_without_an_end_of_a_word_is_published_at_last() -> None:
    answer = RunningAnswer(1, 1)
    published = [more for _ in range(100) if (more := answer.add("text", "x" * 100))]
    assert sum(len(more.text) for more in published) > 4_000


async def test_messages_that_a_listener_did_not_read_in_time_come_once_it_reads() -> None:
    hub = Hub()
    hub.publish(RunStarted(0, 1.0, "/x", "e", "m", "u", 8, 1, 8, 0, True, {}, {}))
    observer = observer_of(hub)
    _, wire = listening(hub, 7)
    hub.flush()
    wire.unread = FULL_BYTES + 1
    observer.messages_added([AssistantMessage(content="one")])
    hub.flush()
    wire.unread = 0
    observer.messages_added([UserMessage(content="two")])
    hub.flush()
    hub.flush()
    rollout = shown([event for event in wire.received() if isinstance(event, MessagesAdded)])
    assert [message["content"] for message in rollout.messages] == ["hi", "one", "two"]
