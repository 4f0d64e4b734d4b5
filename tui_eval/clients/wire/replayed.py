"""Parts of a model's answers that go back to it: reasoning, and arguments of tool calls.

Reasoning goes only to the endpoint that it came from, under the name it had there: signatures and
encrypted thoughts are worth nothing elsewhere, and many endpoints refuse a message with properties
that they do not know.

Arguments are kept as a model writes them. But servers that fill a chat template from them, and
those that read requests strictly, refuse a history in which they are no JSON object: a slip of the
model would become an error of the endpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tui_eval.provider_profiles import AS_RECEIVED, NOT_SENT

TEXT_FIELDS = ("reasoning", "reasoning_content")
DETAILS = "reasoning_details"
BLOCKS = "thinking_blocks"


class ReasoningRoute(msgspec.Struct, frozen=True):
    """The reasoning that an endpoint takes back.

    Args:
        endpoint: Its URL; reasoning that is known to be another's is not sent.
        field: The name in a message; see `ProviderProfile.reasoning_field`.
    """

    endpoint: str = ""
    field: str = AS_RECEIVED

    def takes(self, message: Any) -> bool:
        """Whether the reasoning of a message is sent; that of no known origin is its author's."""
        return self.field != NOT_SENT and not self.is_elsewhere(message)

    def is_elsewhere(self, message: Any) -> bool:
        """Whether a message is known to be another endpoint's answer."""
        origin = message.get("reasoning_origin")
        return origin is not None and origin["endpoint"] != self.endpoint

    def add(self, wire: dict[str, Any], message: Any) -> None:
        """Writes the reasoning of a message that has some into what is sent of it."""
        if not self.takes(message):
            return
        origin = message.get("reasoning_origin") or {}
        field = self.field
        if field == AS_RECEIVED:
            field = origin.get("field") or "reasoning_content"
        for name, blocks in _by_name(message, origin):
            if blocks and self.field in (AS_RECEIVED, name):
                wire[name] = blocks
        if message.reasoning_content and field in TEXT_FIELDS:
            wire[field] = message.reasoning_content


ANYWHERE = ReasoningRoute()


def _by_name(message: Any, origin: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The blocks of a message under the names that they have in chat completions.

    Those of other protocols have none.
    """
    blocks = message.thinking_blocks or ()
    yield DETAILS, [without_nulls(block) for block in blocks if is_detail(block)]
    if origin.get("field"):
        yield BLOCKS, [without_nulls(block) for block in blocks if is_thinking(block)]


def without_nulls(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block as it is sent: many servers refuse properties that are null."""
    return {name: value for name, value in block.items() if value is not None}


def is_detail(block: Mapping[str, Any]) -> bool:
    """Whether a thinking block came as one of OpenRouter's `reasoning_details`."""
    return str(block.get("type")).startswith("reasoning.")


def is_thinking(block: Mapping[str, Any]) -> bool:
    """Whether a block is one of Anthropic's, which LiteLLM passes on in chat completions."""
    return block.get("type") in ("thinking", "redacted_thinking")


def field_of(message: Any) -> str:
    """The name under which the reasoning of a chat answer's message came."""
    for name in TEXT_FIELDS:
        text = getattr(message, name, None)
        if isinstance(text, str) and text:
            return name
    return DETAILS if getattr(message, DETAILS, None) else BLOCKS


UNPARSED = "unparsed_arguments"
"""Under which name arguments that are no JSON object go back."""

_check = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_read = msgspec.json.Decoder(dict[str, Any]).decode


def replayed(arguments: str) -> str:
    """The text of a JSON object for arguments: as they are, or as a text in an object.

    What only lenient parsers read (NaN, halves of surrogate pairs) counts as no JSON.
    """
    try:
        _check(arguments)
    except (ValueError, RecursionError):
        return msgspec.json.encode(_wrapped(arguments)).decode()
    return arguments


def replayed_object(arguments: str) -> dict[str, Any]:
    """The same as an object, for protocols that have one."""
    try:
        return _read(arguments)
    except (ValueError, RecursionError):
        return _wrapped(arguments)


def _wrapped(arguments: str) -> dict[str, Any]:
    if not arguments.strip():
        return {}
    # Surrogates are put together where they are pairs; a half alone is no character.
    reported = arguments.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return {UNPARSED: reported}
