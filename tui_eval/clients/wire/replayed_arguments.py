"""Arguments of the model's own tool calls, as they go back to it with the conversation.

What a model writes is kept as it is. But servers that fill a chat template from the arguments, and
those that read requests strictly, refuse a history in which they are no JSON object: a slip of the
model would become an error of the endpoint.
"""

from __future__ import annotations

from typing import Any

import msgspec

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
