"""Events of one rollout's conversation, for those who subscribed to it; see `events`."""

from __future__ import annotations

from typing import Any

import msgspec


class MessagesAdded(msgspec.Struct, tag="msgs", array_like=True):
    """Messages of a running rollout, for listeners that subscribed to it.

    `first` is the place of the first message in the conversation, the prompt included: 0 starts
    the conversation again, as a subscription and a second attempt do. Messages are dicts in the
    shape of results.jsonl, and so are `steps`, the model calls from `first_step` on that they say
    the time and tokens of.
    """

    seq: int
    at: float
    row: int
    attempt: int
    first: int
    prompt_length: int
    messages: list[dict[str, Any]]
    first_step: int = 0
    steps: list[dict[str, Any]] = []


class ToolFinished(msgspec.Struct, tag="tool", array_like=True):
    """One tool call of a subscribed rollout ended; `result` is the content of its message.

    `traceback` is that of its error, `output` what it printed and logged.
    """

    seq: int
    at: float
    row: int
    call_id: str
    name: str
    ms: float
    error: str | None
    result: Any
    traceback: str = ""
    output: str = ""


class TextAdded(msgspec.Struct, tag="text", array_like=True, gc=False):
    """More of an answer that a subscribed rollout is just getting; its message comes whole later.

    Args:
        call: Number of the streamed answer in the rollout; a greater one begins again.
        kind: `reasoning`, `text` or `tool`.
        first: Place of the text's first character among all of its kind; where it is beyond what
            was reported before, some was left out.
    """

    seq: int
    at: float
    row: int
    call: int
    kind: str
    first: int
    text: str
