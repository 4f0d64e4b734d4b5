"""The base of the streams of all protocols: bytes in, one answer out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeAlias

import msgspec

from tui_eval.clients.wire.answer_struct import AnswerStruct
from tui_eval.clients.wire.failed_answers import error_text, raise_if_reported_elsewhere, read_part

OnText: TypeAlias = Callable[[str, str], None]
"""Called with the kind (`reasoning`, `text` or `tool`) and the text of what was added."""

_DONE = b"[DONE]"


class AnswerStream(ABC):
    """One answer, put together from its events.

    Args:
        receive: Receives the text as it comes.
        url: The endpoint's, for messages.
    """

    EVENT: ClassVar[type[AnswerStruct]]
    COUNTS_ON_REQUEST: ClassVar[bool] = False
    """Whether tokens are counted in a stream only where the request says so."""

    def __init__(self, on_text: OnText, url: Any = "the endpoint") -> None:
        self._on_text = on_text
        self._url = url
        self._reader = EventReader()
        self.is_over = False
        """Whether the endpoint said that nothing follows."""

    @classmethod
    def for_stream(cls, body: dict[str, Any]) -> dict[str, Any]:
        """A request body that requests a stream in place of a whole answer."""
        requested = {**body, "stream": True}
        if cls.COUNTS_ON_REQUEST:
            requested["stream_options"] = {
                "include_usage": True,
                **(body.get("stream_options") or {}),
            }
        return requested

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether what came is all of the answer: something said why it ended."""

    @abstractmethod
    def add(self, event: Any) -> None:
        """Takes in the next event, an `EVENT`."""

    @abstractmethod
    def answer(self) -> Any:
        """The answer so far."""

    def is_foreign(self, event: Any) -> bool:
        """Whether an event has nothing of what the protocol's have: a type, nearly always."""
        return not event.type

    def feed(self, chunk: bytes) -> None:
        """Takes in bytes as they come.

        Raises:
            ReportedError: The endpoint said what went wrong, with a status.
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
            raise_if_reported_elsewhere(data)
        self.add(event)


def _is_cut(data: bytes) -> bool:
    """Whether this is the beginning of some JSON, without its end."""
    try:
        msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    return False


def silence(kind: str, text: str) -> None:
    """Receives nothing."""


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


_BOM = b"\xef\xbb\xbf"


class EventReader:
    """Takes bytes as they come and gives the data of every event that they complete.

    Comments and other fields than `data` are left out, as are events without data.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._is_first = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that end in this chunk."""
        # Parts of a line are joined once, so that a long one that comes in many costs no more.
        is_over = b"\n" in chunk or b"\r" in chunk or (self._rest and self._rest[-1][-1:] == b"\r")
        if chunk:
            self._rest.append(chunk)
        if not (is_over or self._is_first):
            return
        text = b"".join(self._rest)
        if self._is_first:
            if len(text) < len(_BOM) and _BOM.startswith(text):
                return
            self._is_first = False
            text = text.removeprefix(_BOM)
        lines = text.splitlines(keepends=True)
        # A line is over only when what follows shows that its end is not half of "\r\n".
        self._rest = []
        if lines and not lines[-1].endswith(b"\n"):
            self._rest.append(lines.pop())
        for line in lines:
            yield from self._take(line.rstrip(b"\r\n"))

    def end(self) -> Iterator[bytes]:
        """Reads the last bytes, where no empty line follows them."""
        rest, self._rest = b"".join(self._rest), []
        yield from self._take(rest.rstrip(b"\r"))
        yield from self._take(b"")

    def _take(self, line: bytes) -> Iterator[bytes]:
        if not line:
            if self._data:
                yield b"\n".join(self._data)
                self._data = []
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
