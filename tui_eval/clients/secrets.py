"""Keeps keys out of texts that people see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tui_eval import cuts

MASK = "[redacted]"
# Placeholders such as `EMPTY` are no secrets, and replacing so short a text would maim messages.
SHORTEST = 8
_REVEALING = ("auth", "key", "token", "secret", "cookie")


class Secrets:
    """The values that one client must not show; its own repr shows none of them."""

    def __init__(self, values: Iterable[str | None] = ()) -> None:
        self._values = tuple(value for value in values if value and len(value) >= SHORTEST)
        cuts.know(self._values)

    @classmethod
    def of(cls, api_key: str | None, headers: Mapping[str, str]) -> Secrets:
        """The key, and the value of every header whose name says that it is a credential."""
        reported = [
            text
            for name, value in headers.items()
            if is_revealing(name)
            for text in (value, value.rpartition(" ")[2])  # the second without `Bearer` or such
        ]
        return cls([api_key, *reported])

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)})"

    def hide(self, value: Any) -> Any:
        """The same text, list or mapping with every secret replaced by `[redacted]`."""
        if isinstance(value, str):
            for secret in self._values:
                value = value.replace(secret, MASK)
            return value
        if isinstance(value, list):
            return [self.hide(item) for item in value]
        if isinstance(value, dict):
            return {key: self.hide(item) for key, item in value.items()}
        return value

    def hide_in(self, error: BaseException) -> None:
        """Replaces secrets in the texts of an exception and of everything that it came from."""
        if not self._values:
            return
        seen: set[int] = set()
        link: BaseException | None = error
        while link is not None and id(link) not in seen:
            seen.add(id(link))
            hidden = tuple(self.hide(arg) for arg in link.args)
            if hidden != link.args:
                link.args = hidden
            attributes = getattr(link, "__dict__", {})
            for name in ("message", "body"):
                if name in attributes:
                    setattr(link, name, self.hide(attributes[name]))
            link = link.__cause__ or link.__context__


def is_revealing(header: str) -> bool:
    """Whether a header's name says that it carries a credential."""
    return any(part in header.lower() for part in _REVEALING)
