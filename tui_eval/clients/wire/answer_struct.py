"""The base of all answers, those of the short way and the SDK's objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tui_eval.types import ResponseTokens


class AnswerStruct(msgspec.Struct):
    """A part of an answer that can be dumped as the SDK's objects can."""

    def model_dump(self) -> dict[str, Any]:
        """The same as plain dicts and lists."""
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        return dumped

    def is_sound(self) -> bool:
        """Whether a whole answer needs no second look: it says no error, and why it ended."""
        return True


def as_data(value: Any) -> Any:
    """Plain dicts and lists for an object of the SDK; plain data as it is.

    The SDK does not validate what it reads, and would warn of what is not as it should be.
    """
    dump = getattr(value, "model_dump", None)
    return value if dump is None else dump(by_alias=True, exclude_unset=True, warnings=False)


def copy_known(into: AnswerStruct, reported: Any, names: Iterable[str]) -> None:
    """Sets those of the fields that are reported, which are those that are not None."""
    for name in names:
        value = getattr(reported, name)
        if value is not None:
            setattr(into, name, value)


_OUT_OF_RANGE = "Number out of range"


def decode_answer(content: bytes, kind: Any) -> Any:
    """An answer from JSON; what msgspec refuses (lone surrogates, NaN, 1e999) goes a slower way.

    Raises:
        ValueError: The content is no JSON, or has a field of another type than the protocol's.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        if _OUT_OF_RANGE not in str(error):
            raise
        return msgspec.convert(json.loads(content), kind)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(content), kind)


def response_tokens(
    prompt_ids: Any, completion_ids: Any, logprobs: Sequence[Any], routed_experts: Any = None
) -> ResponseTokens | None:
    """The token ids of one answer: the prompt's tokens are masked out, the completion's count.

    Args:
        logprobs: Natural logarithms, one for each token of the completion.

    Returns:
        None where ids are missing, or do not come with one number each.
    """
    if prompt_ids is None or completion_ids is None:
        return None
    if len(completion_ids) != len(logprobs) or None in logprobs:
        return None
    return ResponseTokens(
        prompt_ids=prompt_ids,
        prompt_mask=[0] * len(prompt_ids),
        completion_ids=completion_ids,
        completion_mask=[1] * len(completion_ids),
        completion_logprobs=list(logprobs),
        routed_experts=routed_experts,
    )
