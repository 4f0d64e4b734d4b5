"""Secrets taken out of bytes at the moment they are written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from tui_eval import cuts

SHORTEST = 6
"""Shorter values are no secrets: `EMPTY` or `x` would blot out ordinary text."""

JSON_TEXTS_IN_JSON = 2
"""Depth of a secret in JSON text: a tool call is JSON text inside of a JSON line."""


class Redactor:
    """Replaces secrets by as many asterisks, so that lengths, and so framing, stay as they are.

    `secrets` are all forms in which they may be written, the longest first.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        found: set[bytes] = set()
        for secret in secrets:
            if len(secret) < SHORTEST:
                continue
            for written in _forms(secret):
                for _ in range(1 + JSON_TEXTS_IN_JSON):
                    found.add(written.encode("utf-8", "surrogateescape"))
                    written = json.dumps(written, ensure_ascii=False)[1:-1]
        self.secrets = sorted(found, key=len, reverse=True)

    @classmethod
    def of_process(cls, secrets: Iterable[str]) -> Redactor:
        """One whose secrets no later cut of a text in this process goes through."""
        redact = cls(secrets)
        cuts.know(one.decode("utf-8", "surrogateescape") for one in redact.secrets)
        return redact

    def __call__(self, data: bytes) -> bytes:
        """The same bytes without the secrets."""
        for secret in self.secrets:
            if secret in data:
                data = data.replace(secret, b"*" * len(secret))
        return data

    def text(self, text: str) -> str:
        """The same text without the secrets."""
        return self(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def line(self, line: bytes) -> bytes:
        """A JSON object with its newline, without the secrets and still the same kind of object.

        Where a secret is part of a number or of a name, only the texts are gone through.
        """
        redacted = self(line)
        if redacted is line:
            return line
        before = msgspec.json.decode(line)
        try:
            if msgspec.json.decode(redacted).keys() == before.keys():
                return redacted
        except msgspec.DecodeError:
            pass
        return msgspec.json.encode(self._texts(before)) + b"\n"

    def _texts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self._texts(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._texts(item) for item in value]
        return value


def _forms(secret: str) -> set[str]:
    """A secret as it is, and as JSON in ASCII, Python and URLs write it: mostly all the same."""
    data = secret.encode("utf-8", "surrogateescape")
    quoted = quote(data, safe=""), quote(data), quote_plus(data)
    return {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], *quoted}
