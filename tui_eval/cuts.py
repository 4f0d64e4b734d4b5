"""Cuts of texts that may hold secrets: none goes through one, as nothing would find its rest.

Secrets are taken out where texts are written, and most texts are cut long before.
"""

from __future__ import annotations

from collections.abc import Iterable

_KNOWN: list[str] = []


def know(secrets: Iterable[str]) -> None:
    """Lets no later cut in this process go through one of these secrets."""
    _KNOWN.extend(one for one in secrets if one not in _KNOWN)


def known() -> list[str]:
    """The secrets that this process knows, for another one."""
    return [*_KNOWN]


def head(text: str, most: int) -> str:
    """The first characters of a text, fewer where a secret stands over the cut."""
    at = most
    while 0 < at < len(text) and (found := _over(text, at)):
        at = found[0]
    return text[:at]


def tail(text: str, most: int) -> str:
    """The last characters of a text, fewer where a secret stands over the cut."""
    at = max(len(text) - most, 0)
    while 0 < at < len(text) and (found := _over(text, at)):
        at = found[1]
    return text[at:]


def middle(text: str, most: int) -> str:
    """The beginning and the end of a text, with dots in place of what is between them."""
    half = (most - 3) // 2
    return text if len(text) <= most else f"{head(text, half)}...{tail(text, half)}"


def before_begun(text: str, at: int) -> int:
    """A place of a text that more may follow: `at`, or where a secret begins that goes beyond."""
    last = text[at - 1] if at else "\0"
    for secret in _KNOWN:
        for begin in range(max(at - len(secret) + 1, 0), at) if last in secret else ():
            if secret.startswith(text[begin : begin + len(secret)]):
                return before_begun(text, begin)
    return at


def _over(text: str, at: int) -> tuple[int, int] | None:
    """The place of a secret that a cut would go through."""
    for secret in _KNOWN:
        size = len(secret)
        begin = text.find(secret, max(at - size + 1, 0), at + size - 1)
        if begin >= 0:
            return begin, begin + size
    return None
