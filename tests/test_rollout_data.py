"""The state of a rollout, the errors it can meet, and the events that tell of it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tui_eval.errors import (
    EmptyModelResponseError,
    Error,
    ErrorChain,
    Fault,
    InfraError,
    ModelError,
    RefusedError,
    must_propagate,
    nearest,
    traceback_text,
)
from tui_eval.events import (
    Detach,
    MessagesAdded,
    Noticed,
    RunFinished,
    Subscribe,
    decode_command,
    decode_events,
    encode_command,
    encode_events,
)
from tui_eval.state import State


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except Exception as caught:
        return caught


def test_a_chain_names_the_causes_outermost_first() -> None:
    chain = ErrorChain(raised(ModelError(), raised(ValueError("no"))))
    assert str(chain) == "ModelError -> ValueError"
    assert repr(chain) == "ModelError() -> ValueError('no')"
    assert ValueError in chain and Error in chain and InfraError not in chain
    assert chain == ErrorChain(raised(ModelError("x"), raised(ValueError())))
    assert chain != ErrorChain(ModelError())


def test_a_chain_that_bites_its_tail_ends() -> None:
    one, two = ValueError("1"), ValueError("2")
    one.__cause__, two.__cause__ = two, one
    assert len(list(ErrorChain(one))) == 2


def test_an_error_whose_repr_raises_is_still_named() -> None:
    class Rude(Exception):
        def __repr__(self) -> str:
            raise RuntimeError("no")

        __str__ = __repr__

    assert repr(ErrorChain(Rude())) == "Rude(...)"
    assert "Rude" in traceback_text(Rude())


def test_a_chain_finds_every_kind_by_its_base() -> None:
    assert ModelError in ErrorChain(EmptyModelResponseError())


def test_a_refusal_tells_every_fault() -> None:
    error = RefusedError([Fault("-n", "too small"), Fault("-m", "unknown", "Name another")])
    assert str(error) == "-n: too small\n-m: unknown. Name another"


def test_the_nearest_names_are_told_and_nothing_where_none_is_near() -> None:
    assert nearest("gpt-4.1-min", ["gpt-4.1-mini", "demo"]) == "Did you mean gpt-4.1-mini?"
    assert nearest("zzz", ["gpt", "demo"]) == ""


async def test_only_ones_own_cancellation_goes_on() -> None:
    assert not must_propagate(ValueError())
    assert not must_propagate(SystemExit(1))
    assert must_propagate(KeyboardInterrupt())
    assert not must_propagate(asyncio.CancelledError())

    async def work() -> bool:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            return must_propagate(error)
        return False

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    assert await task


def test_a_state_reads_and_writes_its_input() -> None:
    state = State(input={"prompt": [], "answer": "42", "example_id": 3, "task": "t"})
    assert (state["answer"], state.get("example_id")) == ("42", 3)
    state["answer"] = "43"
    assert dict.get(state, "input")["answer"] == "43"
    assert "answer" not in state
    state["info"] = {"a": 1}
    assert state["info"] == {"a": 1} and "info" not in state["input"]
    assert state.get("nothing", "default") == "default"
    with pytest.raises(KeyError):
        state["nothing"]


def test_events_arrive_as_they_were_told() -> None:
    events = [
        Noticed(1, 2.0, "info", "text"),
        MessagesAdded(2, 2.0, 0, 1, 0, 1, [{"role": "user", "content": "é"}]),
        RunFinished(3, 4.0, "finished", 0),
    ]
    assert decode_events(encode_events(events)) == events


def test_half_a_character_in_a_message_does_not_silence_the_engine() -> None:
    event = MessagesAdded(1, 2.0, 0, 1, 0, 1, [{"role": "tool", "content": "a\ud800b"}])
    (told,) = decode_events(encode_events([event]))
    assert isinstance(told, MessagesAdded)
    assert told.messages == [{"role": "tool", "content": "a\\ud800b"}]


def test_commands_arrive_and_others_are_refused() -> None:
    assert decode_command(encode_command(Subscribe([1, 2]))) == Subscribe([1, 2])
    assert decode_command(encode_command(Detach())) == Detach()
    with pytest.raises(msgspec.DecodeError):
        decode_command(msgspec.msgpack.encode(["reboot"]))
