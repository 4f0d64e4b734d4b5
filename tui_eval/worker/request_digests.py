"""Digests of model calls' requests, and in words which field of one is not as it was.

The journal has no texts. A message stands in it as a digest, by which requests are compared, and an
outline: a letter for its role and for each of its fields, and of these but the last a check of 16
bits. Where messages differ and no check does, the last field does: that is a text alone, or tool
calls, which take the longest to be checked. Settings are outlined once a rollout: 50 tools take a
kilobyte.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from zlib import crc32

import msgspec

from tui_eval.messages import SystemMessage, TextMessage, ToolMessage, UserMessage, fields_of
from tui_eval.runs.plain_json import encode_model, encode_whatever

_DIGEST_BYTES = 8
_DIGITS = 2 * _DIGEST_BYTES
_ROLES = {"system": "s", "user": "u", "assistant": "a", "tool": "t", "text": "x"}
_FIELDS = {
    "content": "C",
    "reasoning_content": "R",
    "thinking_blocks": "B",
    "tool_calls": "T",
    "tool_call_id": "I",
    "description": "D",
    "parameters": "P",
    "strict": "S",
}
"""Letters of fields; another one has its name in brackets."""
_OF_ONE_FIELD: dict[type, str] = {SystemMessage: "sC", UserMessage: "uC", TextMessage: "xC"}
"""Outlines of messages that have a content alone; as most have, they are not looked at."""
_ROLE_OF = {letter: role for role, letter in _ROLES.items()}
_FIELD_OF = {letter: field for field, letter in _FIELDS.items()}
_CHECKED_FIELD = re.compile(r"([A-Z]|\([^)]*\))([0-9a-f]{4})?")


class Settings:
    """The settings of a request, with digests and outlines.

    Args:
        model: The model.
        sampling_args: The sampling parameters.
        tools: The tools.
    """

    def __init__(self, model: str, sampling_args: Mapping[str, Any], tools: Sequence[Any]) -> None:
        self.given = model, dict(sampling_args), list(tools)
        self.digests = {
            "model": model,
            "sampling": digest_of(encode_whatever(sampling_args)),
            "tools": digest_of(b"\n".join(map(encode_model, tools))),
        }
        """One of each part of a request but its messages."""

    @cached_property
    def outlines(self) -> dict[str, dict[str, str]]:
        """Outlines of the sampling parameters and tools, with their names, by their digests."""
        _, sampling_args, tools = self.given
        return {
            self.digests["sampling"]: {
                name: _check(value) for name, value in _by_name(sampling_args).items()
            },
            self.digests["tools"]: {tool.name: _outline_of_tool(tool) for tool in tools},
        }

    @cached_property
    def encoded_outlines(self) -> msgspec.Raw:
        """The JSON of those."""
        return msgspec.Raw(encode_whatever(self.outlines))


class SettingsDigests:
    """The settings of the last request, which are seldom others in the next."""

    def __init__(self) -> None:
        self._last = Settings("", {}, ())

    def of(self, model: str, sampling_args: Mapping[str, Any], tools: Sequence[Any]) -> Settings:
        """The settings of a request; the same object as long as nothing changes."""
        if (model, sampling_args, tools) != self._last.given:
            self._last = Settings(model, sampling_args, tools)
        return self._last


def digest_of(data: bytes, size: int = _DIGEST_BYTES) -> str:
    """The digest of some bytes, `size` bytes long, as hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=size).hexdigest()


def digest_of_message(message: Any) -> str:
    """The digest of a message, and its outline."""
    fields = fields_of(message)
    kind = type(message)
    if type(fields.get("content")) is str and not message.__pydantic_extra__:
        if outline := _OF_ONE_FIELD.get(kind):
            return digest_of(encode_whatever(fields)) + outline
        if kind is ToolMessage:
            return f"{digest_of(encode_whatever(fields))}tI{_check(message.tool_call_id)}C"
    outline = letter = ""
    before: Any = None
    for name, value in fields.items():
        if name == "role":
            outline = _ROLES.get(value, "?") + outline
        elif value is not None:
            if letter:
                outline += letter + _check(before)
            letter, before = _letter(name), value
    return digest_of(encode_model(message)) + outline + letter


def is_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two requests are equal; records of earlier versions have no outlines."""
    return len(before.get("messages", ())) == len(now["messages"]) == equal_messages(before, now)


def equal_messages(before: Mapping[str, Any], now: Mapping[str, Any]) -> int:
    """The number of messages up to the first that differs; -1 where the settings do."""
    if any(before.get(part) != now[part] for part in ("model", "sampling", "tools")):
        return -1
    number = 0
    for one, other in zip(before.get("messages", ()), now["messages"], strict=False):
        if one[:_DIGITS] != other[:_DIGITS]:
            break
        number += 1
    return number


def difference(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    outlines: Mapping[str, Mapping[str, str]],
) -> str:
    """Differences of a request from an earlier one, for people.

    Args:
        before: A request in the journal.
        now: Another request.
        outlines: Those of settings, by the digest of all of them.
    """
    if before.get("model") != now["model"]:
        return f"the model is {now['model']}, not {before.get('model')}"
    for part, kind in (("sampling", "sampling parameter"), ("tools", "tool")):
        if before.get(part) != now[part]:
            return _changed_setting(kind, outlines.get(before.get(part, "")), outlines[now[part]])
    number = equal_messages(before, now)
    earlier, messages = before.get("messages", ())[number:], now["messages"][number:]
    what = _numbered(number + 1, *(messages or earlier))
    if not earlier or not messages:
        return f"{what} is {'new' if messages else 'gone'}"
    one, other = earlier[0][_DIGITS:], messages[0][_DIGITS:]
    if one and one[0] != other[:1]:
        role, role_before = (_ROLE_OF.get(outline[:1], "?") for outline in (other, one))
        return f"role of message {number + 1} is {role}, not {role_before}"
    return _changed(what, one, other)


def _numbered(number: int, digest: str, *_: str) -> str:
    role = _ROLE_OF.get(digest[_DIGITS : _DIGITS + 1])
    return f"message {number} ({role})" if role else f"message {number}"


def _changed_setting(kind: str, before: Mapping[str, str] | None, now: Mapping[str, str]) -> str:
    if before is None:
        return f"one of the {kind}s differs"
    for name, outline in now.items():
        if name not in before:
            return f"{kind} {name} is new"
        if outline != before[name]:
            return _changed(f"{kind} {name}", before[name], outline)
    for name in before:
        if name not in now:
            return f"{kind} {name} is gone"
    what = "the order" if list(before) != list(now) else "one"
    return f"{what} of the {kind}s differs"


def _changed(what: str, before: str, now: str) -> str:
    """Says which field differs, by two outlines."""
    earlier, fields = _checks(before), _checks(now)
    if not before or not (earlier or fields):
        return f"{what} differs"
    for name, check in fields.items():
        if name not in earlier:
            return f"{name} of {what} is new"
        if check and earlier[name] and check != earlier[name]:
            return f"{name} of {what} differs"
    gone = [name for name in earlier if name not in fields]
    return f"{gone[0]} of {what} is gone" if gone else f"{[*fields][-1]} of {what} differs"


def _checks(outline: str) -> dict[str, str]:
    found = _CHECKED_FIELD.findall(outline)
    return {_FIELD_OF.get(letter) or letter[1:-1]: check for letter, check in found}


def _outline_of_tool(tool: Any) -> str:
    fields = {name: value for name, value in tool.items() if value is not None and name != "name"}
    return "".join(_letter(name) + _check(value) for name, value in fields.items())


def _letter(field: str) -> str:
    return _FIELDS.get(field) or f"({field})"


def _check(value: Any) -> str:
    if type(value) is str:
        return f"{crc32(value.encode('utf-8', 'surrogatepass')) & 0xFFFF:04x}"
    return f"{crc32(encode_whatever(value)) & 0xFFFF:04x}"


def _by_name(sampling_args: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by their names; those of `extra_body` each for itself."""
    found = dict(sampling_args)
    body = found.get("extra_body")
    if isinstance(body, Mapping):
        del found["extra_body"]
        found.update((f"extra_body.{name}", value) for name, value in body.items())
    return found
