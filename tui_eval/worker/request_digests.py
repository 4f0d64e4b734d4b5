"""Outlines of model calls' requests, and in words which field of one is not as it was.

The journal has no texts. A message stands in it as an outline: a letter for its role, and for each
of its fields a letter and a check of 64 bits. Requests are compared by these, and what differs is
named by them. Settings stand as digests of all of them, with outlines once a rollout: 50 tools take
a kilobyte, with checks of 16 bits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from zlib import adler32, crc32

import msgspec

from tui_eval.messages import fields_of
from tui_eval.runs.plain_json import encode_model, encode_whatever

_DIGEST_BYTES = 8
_SHORT_CHECK = 4
"""Hexadecimal digits of the check of a setting."""
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
_ROLE_OF = {letter: role for role, letter in _ROLES.items()}
_FIELD_OF = {letter: field for field, letter in _FIELDS.items()}
_CHECKED_FIELD = re.compile(r"([A-Z]|\([^)]*\))([0-9a-f]*)")


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
                name: _short_check(value) for name, value in _by_name(sampling_args).items()
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


def outline_of(message: Any) -> str:
    """The outline of a message."""
    outline = ""
    for name, value in fields_of(message).items():
        if name == "role":
            outline = (_ROLES.get(value) or f"({value})") + outline
        elif value is not None:
            outline += _letter(name) + _check(value)
    return outline


def is_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two requests are equal."""
    return len(before.get("messages", ())) == len(now["messages"]) == equal_messages(before, now)


def equal_messages(before: Mapping[str, Any], now: Mapping[str, Any]) -> int:
    """The number of messages up to the first that differs; -1 where the settings do."""
    if any(before.get(part) != now[part] for part in ("model", "sampling", "tools")):
        return -1
    number = 0
    for one, other in zip(before.get("messages", ()), now["messages"], strict=False):
        if one != other:
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
    one, other = earlier[0], messages[0]
    if one[:1] != other[:1]:
        role, role_before = (_ROLE_OF.get(outline[:1], "?") for outline in (other, one))
        return f"role of message {number + 1} is {role}, not {role_before}"
    return _changed(what, one, other)


def _numbered(number: int, outline: str, *_: str) -> str:
    role = _ROLE_OF.get(outline[:1])
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
    for name, check in fields.items():
        if name not in earlier:
            return f"{name} of {what} is new"
        if check != earlier[name]:
            return f"{name} of {what} differs"
    gone = [name for name in earlier if name not in fields]
    return f"{gone[0]} of {what} is gone" if gone else f"{what} differs"


def _checks(outline: str) -> dict[str, str]:
    found = _CHECKED_FIELD.findall(outline)
    return {_FIELD_OF.get(letter) or letter[1:-1]: check for letter, check in found}


def _outline_of_tool(tool: Any) -> str:
    fields = {name: value for name, value in tool.items() if value is not None and name != "name"}
    return "".join(_letter(name) + _short_check(value) for name, value in fields.items())


def _letter(field: str) -> str:
    return _FIELDS.get(field) or f"({field})"


def _check(value: Any) -> str:
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
    elif isinstance(value, list):
        data = encode_whatever([*map(fields_of, value)])
    else:
        data = encode_whatever(value)
    return f"{crc32(data) << 32 | adler32(data):x}"


def _short_check(value: Any) -> str:
    return _check(value)[:_SHORT_CHECK]


def _by_name(sampling_args: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by their names; those of `extra_body` each for itself."""
    found = dict(sampling_args)
    body = found.get("extra_body")
    if isinstance(body, Mapping):
        del found["extra_body"]
        found.update((f"extra_body.{name}", value) for name, value in body.items())
    return found
