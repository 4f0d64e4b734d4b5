"""Server-sent events: the data of each, however the bytes are cut."""

from __future__ import annotations

from collections.abc import Iterator

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
        """What the last bytes hold where no empty line follows them."""
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
