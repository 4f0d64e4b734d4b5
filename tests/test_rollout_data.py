"""The state of a rollout, the errors it can meet, and the events about it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tui_eval.commands import Detach, Subscribe, decode_command, encode_command
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
from tui_eval.event_frames import decode_events, encode_events
from tui_eval.events import MessagesAdded, Noticed, RunFinished
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


def test_a_refusal_names_every_fault() -> None:
    error = RefusedError([Fault("-n", "too small"), Fault("-m", "unknown", "Name another")])
    assert str(error) == "-n: too small\n-m: unknown. Name another"


MODELS = ["gpt-4.1-mini", "claude-sonnet", "qwen3-235b-i", "demo"]
KEYS = ["model", "max_tokens", "max_total_tokens", "temperature", "stream", "num_examples",
        "rollouts_per_example", "env_id", "provider", "name", "sampling", "completion",
        "endpoints_path"]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "valid", "meant"),
    [
        ("gpt-4.1-mni", MODELS, "gpt-4.1-mini"),
        ("dmeo", MODELS, "demo"),
        ("sonnet", MODELS, "claude-sonnet"),
        ("modle", KEYS, "model"),
        ("maxtokens", KEYS, "max_tokens"),
        ("temp", KEYS, "temperature"),
        ("rollouts", KEYS, "rollouts_per_example"),
        ("env", KEYS, "env_id"),
        ("judge_model", KEYS, "model"),
    ],
)
def test_what_was_meant_is_named_first(typed: str, valid: list[str], meant: str) -> None:
    assert nearest(typed, valid).startswith(f"Did you mean {meant}")


@pytest.mark.parametrize(
    ("typed", "valid"),
    [
        ("zzz", MODELS),
        ("llama-3.1-8b", MODELS),
        ("mistral-small", MODELS),
        ("split", KEYS),
        ("solution", KEYS),
        ("frobnicate", KEYS),
        ("learning_rate", KEYS),
        ("num_workers", KEYS),
        ("n", KEYS),
        ("", KEYS),
    ],
)
def test_nothing_is_named_that_was_hardly_meant(typed: str, valid: list[str]) -> None:
    assert nearest(typed, valid) == ""


async def test_only_ones_own_cancellation_propagates() -> None:
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


def test_events_arrive_as_they_were_published() -> None:
    events = [
        Noticed(1, 2.0, "info", "text"),
        MessagesAdded(2, 2.0, 0, 1, 0, 1, [{"role": "user", "content": "é"}]),
        RunFinished(3, 4.0, "finished", 0),
    ]
    assert decode_events(encode_events(events)) == events


def test_half_a_character_in_a_message_does_not_silence_the_engine() -> None:
    event = MessagesAdded(1, 2.0, 0, 1, 0, 1, [{"role": "tool", "content": "a\ud800b"}])
    (decoded,) = decode_events(encode_events([event]))
    assert isinstance(decoded, MessagesAdded)
    assert decoded.messages == [{"role": "tool", "content": "a\\ud800b"}]


def test_commands_arrive_and_others_are_refused() -> None:
    assert decode_command(encode_command(Subscribe([1, 2]))) == Subscribe([1, 2])
    assert decode_command(encode_command(Detach())) == Detach()
    with pytest.raises(msgspec.DecodeError):
        decode_command(msgspec.msgpack.encode(["reboot"]))
