"""What the streams of all protocols have in common: bytes in, one answer out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import msgspec

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.failed_answers import error_text, raise_told_elsewhere, read_part
from tui_eval.clients.wire.server_sent import EventReader

Hear: TypeAlias = Callable[[str, str], None]
"""Called with the kind (`reasoning`, `text` or `tool`) and the text of what was added."""

_DONE = b"[DONE]"


class AnswerStream(ABC):
    """One answer, put together from its events.

    Args:
        hear: Hears the text as it comes.
        url: The endpoint's, for messages.
    """

    EVENT: ClassVar[type[AnswerStruct]]
    COUNTS_WHEN_ASKED: ClassVar[bool] = False
    """Whether tokens are counted in a stream only where the request says so."""

    def __init__(self, hear: Hear, url: Any = "the endpoint") -> None:
        self._hear = hear
        self._url = url
        self._reader = EventReader()
        self.is_over = False
        """Whether the endpoint said that nothing follows."""

    @classmethod
    def asked_for(cls, body: dict[str, Any]) -> dict[str, Any]:
        """A request body that asks for a stream in place of a whole answer."""
        asked = {**body, "stream": True}
        if cls.COUNTS_WHEN_ASKED:
            asked["stream_options"] = {"include_usage": True, **(body.get("stream_options") or {})}
        return asked

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether what came is all of the answer: something said why it ended."""

    @abstractmethod
    def add(self, event: Any) -> None:
        """Takes in the next event, an `EVENT`."""

    @abstractmethod
    def answer(self) -> Any:
        """What came so far as one answer."""

    @abstractmethod
    def is_foreign(self, event: Any) -> bool:
        """Whether an event has nothing of what the protocol's have."""

    def feed(self, chunk: bytes) -> None:
        """Takes in bytes as they come.

        Raises:
            ToldError: The endpoint said what went wrong, with a status.
            InvalidModelResponseError: It said so without one, or what it sent cannot be read.
        """
        for data in self._reader.feed(chunk):
            self._take(data)

    def end(self) -> None:
        """Takes in what the last bytes hold, if that is a whole event; raises as `feed` does."""
        for data in self._reader.end():
            if not _is_cut(data):
                self._take(data)

    def _take(self, data: bytes) -> None:
        data = data.strip()
        if self.is_over or not data:
            return
        if data == _DONE:
            self.is_over = True
            return
        event = read_part(data, self.EVENT, self._url)
        error = getattr(event, "error", None)
        if error:
            raise error_text(error)
        if self.is_foreign(event):
            raise_told_elsewhere(data)
        self.add(event)


def _is_cut(data: bytes) -> bool:
    """Whether this is the beginning of some JSON, without its end."""
    try:
        msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    return False


def silence(kind: str, text: str) -> None:
    """Hears nothing."""


def more_logprobs(before: Any, more: Any) -> Any:
    """Lists of log probabilities with those of another chunk behind them."""
    if not isinstance(before, dict) or not isinstance(more, dict):
        return more
    joined = dict(before)
    for name, value in more.items():
        held = joined.get(name)
        joined[name] = [*held, *value] if isinstance(held, list) and isinstance(value, list) else (
            held if value is None else value
        )  # fmt: skip
    return joined
