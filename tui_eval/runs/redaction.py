"""Secrets taken out of bytes at the moment they are written."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST = 6
"""Shorter values are no secrets: `EMPTY` or `x` would blot out ordinary text."""


class Redactor:
    """Replaces secrets by as many asterisks, so that lengths, and so framing, stay as they are."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        found = {secret.encode() for secret in secrets if len(secret) >= SHORTEST}
        escaped = {secret.replace(b'"', b'\\"') for secret in found}
        self._secrets = sorted(found | escaped, key=len, reverse=True)

    def __call__(self, data: bytes) -> bytes:
        """The same bytes without the secrets."""
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, b"*" * len(secret))
        return data
