"""Messages that code of people writes into as if they were dicts."""

from __future__ import annotations

import copy
import pickle

import pytest

from tui_eval.messages import AssistantMessage, UserMessage, to_messages


def test_fields_are_set_and_deleted_by_name() -> None:
    message = UserMessage(content="a", mark=1)
    message["content"] = "b"
    assert (message.content, message["content"]) == ("b", "b")
    message["note"] = 2
    del message["mark"]
    assert "mark" not in message and message.model_dump() == {
        "role": "user", "content": "b", "note": 2
    }  # fmt: skip
    answer = AssistantMessage(content="x", reasoning_content="y")
    del answer["reasoning_content"]
    assert answer.reasoning_content is None
    with pytest.raises(KeyError, match="none"):
        del answer["none"]


def test_what_dicts_have_besides() -> None:
    message = UserMessage(content="a")
    assert message.setdefault("content", "z") == "a" and message.setdefault("name", "n") == "n"
    assert message | {"content": "c"} == {"role": "user", "content": "c", "name": "n"}
    assert {"content": "c", "k": 1} | message == {
        "content": "a", "k": 1, "role": "user", "name": "n"
    }  # fmt: skip
    assert {**message} == dict(message) == dict(message.items())
    message.update({"content": "d"}, name="m")
    assert list(message.values()) == ["user", "d", "m"]
    assert message.pop("name") == "m" and message.pop("name", None) is None
    with pytest.raises(KeyError):
        message.pop("name")


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_are_equal_and_apart(again) -> None:
    (message,) = to_messages([{"role": "assistant", "content": "a", "tool_calls": None, "x": [1]}])
    other = again(message)
    assert other == message
    other["content"] = "b"
    assert message["content"] == "a"
