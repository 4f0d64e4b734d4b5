"""Parameters that an endpoint does not take: found in its refusal, left out, and remembered.

A request that is refused for a parameter which has another name, or which nobody typed, is sent
once more without it. Requests that come later are written so from the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tui_eval.provider_profiles import ENCRYPTED, NOT_SENT

OTHER_NAME = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
"""Names of a parameter at other endpoints."""
OWN = ("n", "stream", "stream_options", "store")
"""Parameters that are sent although nobody types them, and may be left out."""
REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
"""Names under which a message takes reasoning back."""

_HOW_TO_TURN_OFF = {
    **dict.fromkeys(REASONING, f'write reasoning_field = "{NOT_SENT}" into its [[endpoint]] table'),
    "include": "write encrypted_reasoning = false into its [[endpoint]] table",
}
_REFUSED = (400, 422)
_UNKNOWN = re.compile(
    r"unsupported|not support|n't support|no longer support|unrecogni[sz]ed|unknown|deprecated"
    r"|extra.(?:forbidden|input|field)|unexpected|not permitted|not allowed|additional propert"
    r"|cannot find field|not a valid|invalid (?:parameter|argument|property)",
    re.IGNORECASE,
)
"""Phrases that refuse a parameter as such; others find fault with its value."""
_NO_SWITCH = frozenset(("model", "messages", "input", "prompt", "tools", "system", "instructions"))
"""Parameters without which there is no request."""
_WORD = re.compile(r"(?P<quote>['\"`]?)(?P<name>[A-Za-z_][\w.\[\]]*)(?P=quote)")
_BEFORE = re.compile(
    r"(?:parameter|argument|field|property|key|name|option|supplied)s?\W*$", re.IGNORECASE
)
_COMMON_WORDS = frozenset(
    ("n", "stop", "stream", "include", "store", "text", "user", "reasoning", "metadata", "seed")
)
"""Parameters that messages may also speak of as words."""


def refused_parameter(error: Exception, body: dict[str, Any]) -> str | None:
    """The parameter of a request that its refusal names; None where it names none."""
    if getattr(error, "status_code", None) not in _REFUSED:
        return None
    reported = getattr(error, "body", None)
    known = {*body, *_in_messages(body)} - _NO_SWITCH
    named = [_last_name(place) for place in _places(reported)]
    for text in [*_texts(reported), str(error)]:
        named += _names_in(text)
        if "encrypted content" in text.lower():
            named.append("include")
    return next((name for name in named if name in known), None)


def _in_messages(body: dict[str, Any]) -> set[str]:
    messages = body.get("messages") or ()
    return {name for message in messages for name in REASONING if name in message}


def _places(body: Any) -> Iterator[str]:
    """Places of the fault that a refusal names: OpenAI's `param`, pydantic's `loc`."""
    if isinstance(body, dict):
        if isinstance(body.get("param"), str):
            yield body["param"]
        if isinstance(body.get("loc"), list):
            yield ".".join(map(str, body["loc"]))
        body = list(body.values())
    if isinstance(body, list):
        for one in body:
            yield from _places(one)


def _texts(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict | list):
        for one in body.values() if isinstance(body, dict) else body:
            yield from _texts(one)


def _names_in(text: str) -> Iterator[str]:
    for word in _WORD.finditer(text):
        name = _last_name(word["name"])
        is_name = word["quote"] or name not in _COMMON_WORDS or _BEFORE.search(text[: word.start()])
        if is_name:
            yield name


def _last_name(place: str) -> str:
    """The name at the end of `messages[1].reasoning_content`, `body.include.0` and the like."""
    names = [part for part in re.split(r"[.\[\]]+", place) if part and not part.isdecimal()]
    if ENCRYPTED in place:
        return "include"
    return names[-1] if names else ""


def is_unknown_there(error: Exception) -> bool:
    """Whether a refusal finds fault with a parameter as such, not with its value."""
    return bool(_UNKNOWN.search(f"{error} {getattr(error, 'body', '')}"))


def without(body: dict[str, Any], name: str) -> dict[str, Any] | None:
    """A request without a parameter; None where only its author can do without it."""
    other = OTHER_NAME.get(name)
    if other is not None and name in body:
        return {other if key == name else key: value for key, value in body.items()}
    if name in OWN and name in body:
        return _left_out(body, name)
    if name in _in_messages(body):
        messages = [_left_out(message, name) for message in body["messages"]]
        return {**body, "messages": messages}
    if name == "include" and ENCRYPTED in (body.get(name) or ()):
        rest = [one for one in body[name] if one != ENCRYPTED]
        return {**body, name: rest} if rest else _left_out(body, name)
    return None


def _left_out(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


def instead(name: str) -> str:
    """The remedy for a refused parameter, in a few words."""
    other = OTHER_NAME.get(name)
    return f"{other} is sent in its place" if other else "it is left out"


def how_to_turn_off(name: str) -> str:
    """The flag that keeps a parameter from being sent."""
    return _HOW_TO_TURN_OFF.get(name) or f"""leave it out with -S '{{"{name}": null}}'"""


class Refusals:
    """Refused parameters of one request so far."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._tried: set[str] = set()

    def answer(self, error: Exception, body: dict[str, Any]) -> dict[str, Any]:
        """The request without what its refusal names.

        Raises:
            Exception: The `error`, where it names nothing that can be left out, or names it again.
                What it names is then its `refused_parameter`.
        """
        name = refused_parameter(error, body)
        if name is None:
            raise error
        is_unknown = is_unknown_there(error)
        if is_unknown or name not in REASONING:  # which may also be missing
            error.refused_parameter = name  # type: ignore[attr-defined]
        other = without(body, name) if is_unknown and name not in self._tried else None
        if other is None:
            raise error
        self.names.append(name)
        self._tried |= {name, OTHER_NAME.get(name, name)}
        return other


class LearntParameters:
    """Refused parameters of each model, for all later requests."""

    def __init__(self) -> None:
        self._refused: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._refused)

    def keep(self, model: str, refusals: Refusals) -> list[str]:
        """Remembers refusals of a request that was answered in the end; returns the new ones."""
        if not refusals.names:
            return []
        known = self._refused.setdefault(model, [])
        new = [name for name in refusals.names if name not in known]
        known += new
        return new

    def written(self, body: dict[str, Any]) -> dict[str, Any]:
        """A request as its endpoint takes it."""
        for name in self._refused.get(body["model"], ()):
            body = without(body, name) or body
        return body
