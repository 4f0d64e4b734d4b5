"""Counts how often the same request has come, so that equal rollouts can differ."""

from __future__ import annotations

import hashlib
from collections import OrderedDict


class Repetitions:
    """A bounded count of equal requests; the one not seen for longest is forgotten first.

    Args:
        most: How many different requests are remembered.
    """

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, content: bytes) -> int:
        """How often this content came before: 0 the first time."""
        key = hashlib.blake2b(content, digest_size=16).digest()
        seen = self._counts.pop(key, 0)
        self._counts[key] = seen + 1
        if len(self._counts) > self._most:
            self._counts.popitem(last=False)
        return seen
