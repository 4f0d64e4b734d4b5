"""What the answers of the short way have in common."""

from __future__ import annotations

from typing import Any

import msgspec


class AnswerStruct(msgspec.Struct):
    """A part of an answer that can be dumped as the SDK's objects can."""

    def model_dump(self) -> dict[str, Any]:
        """The same as plain dicts and lists."""
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        return dumped
