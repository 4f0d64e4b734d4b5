"""The token ids of a conversation's next prompt, made from those of an earlier turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.chat_request import to_chat_messages
from tui_eval.clients.wire.reasoning import ANYWHERE, ReasoningRoute


class TokenizeAnswer(AnswerStruct):
    """What vLLM's `/tokenize` answers."""

    tokens: list[int]


class EarlierTurn(msgspec.Struct, frozen=True):
    """An earlier turn with whose messages a prompt begins.

    Args:
        messages: How many of the prompt's messages are the turn's.
        prompt_length: Of the turn's own prompt, in tokens.
        ids: Of its prompt and what the model said, as the model saw and made them.
    """

    messages: int
    prompt_length: int
    ids: list[int]


def earlier_turn(
    state: Any, prompt: Sequence[dict[str, Any]], reasoning: ReasoningRoute = ANYWHERE
) -> EarlierTurn | None:
    """The latest turn of a rollout that a prompt continues from; None where there is no usable one.

    Usable is a turn whose ids are known and whole, which ended of itself, and whose messages, as
    they go over the wire, are the first of the prompt. Prompts with more than text have none.

    Args:
        state: The rollout's state, or None.
        prompt: The messages on the wire.
        reasoning: Which reasoning they take back.
    """
    if not state or any(isinstance(message.get("content"), list) for message in prompt):
        return None
    for step in reversed(state.get("trajectory") or ()):
        tokens = step.get("tokens")
        if not tokens or tokens.get("is_truncated") or step.get("is_truncated"):
            continue
        said, _ = to_chat_messages([*step["prompt"], *step["completion"]], reasoning)
        if len(said) < len(prompt) and prompt[: len(said)] == said:
            ids = [*tokens["prompt_ids"], *tokens["completion_ids"]]
            return EarlierTurn(len(said), len(tokens["prompt_ids"]), ids)
    return None


def stitch(turn: EarlierTurn, before: list[int], whole: list[int]) -> list[int] | None:
    """The ids of a prompt: the earlier turn's as they were, and the template's for the rest.

    The template may put something behind the token that ends a message, often a line break, which
    the model never makes itself. It is what `before` has behind the last token of that kind.

    Args:
        turn: Where the prompt continues from.
        before: The turn's messages in the template's tokens.
        whole: All messages in the template's tokens.

    Returns:
        None where the template does not keep the turn as it was, such as one that drops reasoning.
    """
    if whole[: len(before)] != before or not turn.ids or turn.ids[-1] not in before:
        return None
    end = len(before) - before[::-1].index(turn.ids[-1])
    if end <= turn.prompt_length:
        return None
    return turn.ids + whole[end:]
