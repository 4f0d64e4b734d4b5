"""A rollout's messages for its subscribers: plain data, and a streamed answer in whole words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from tui_eval import clock, cuts
from tui_eval.events import TextAdded, ToolFinished
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.row import message_dict

LONGEST_HELD = 4096
"""Most characters without an end of a word that are held back."""

_WORD_END = re.compile(r".*[^0-9A-Za-z_\-.+/=~]", re.DOTALL)


class RunningAnswer:
    """The text of an answer in flight, by its kind.

    A word is published when it is over: so a secret that comes in pieces is whole when events are
    redacted.

    Args:
        call: Number of the answer in its rollout.
    """

    def __init__(self, row: int, call: int) -> None:
        self._row = row
        self._call = call
        self._texts: dict[str, list[str]] = {}
        self._length: dict[str, int] = {}
        self._held: dict[str, str] = {}

    def add(self, kind: str, text: str) -> TextAdded | None:
        """Adds text; returns the part that may be published, if any."""
        text = self._held.get(kind, "") + text
        ends = _WORD_END.match(text)
        cut = ends.end() if ends else 0
        if len(text) - cut > LONGEST_HELD:
            cut = len(text)
        cut = cuts.before_begun(text, cut)
        self._held[kind] = text[cut:]
        if not cut:
            return None
        first = self._length.get(kind, 0)
        self._texts.setdefault(kind, []).append(text[:cut])
        self._length[kind] = first + cut
        return self._event(kind, first, text[:cut])

    def events(self) -> Iterator[TextAdded]:
        """All text that may be published, for a late subscriber."""
        for kind, texts in self._texts.items():
            yield self._event(kind, 0, "".join(texts))

    def _event(self, kind: str, first: int, text: str) -> TextAdded:
        return TextAdded(0, clock.now(), self._row, self._call, kind, first, text)


def with_plain_result(done: ToolFinished) -> ToolFinished:
    """The same event with its result as plain data."""
    if isinstance(done.result, str) or done.result is None:
        return done
    parts = [part if isinstance(part, dict) else part.model_dump() for part in done.result]
    return replace(done, result=Cleaner().clean(parts))


def plain_message(message: Any) -> dict[str, Any]:
    """A message as its row will have it: values of people's code may be nested endlessly."""
    found = message_dict(message)
    if all(isinstance(value, str) for value in found.values()):
        return found
    cleaned: dict[str, Any] = Cleaner().clean(found)
    return cleaned
