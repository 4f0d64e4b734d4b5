"""The side index of results.jsonl: one event a line, to open a run of any size at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tui_eval.event_frames import HEADER_BYTES, frame
from tui_eval.events import RolloutFinished
from tui_eval.runs.file_writing import keep_mode

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RolloutFinished).decode

BLOCK = 1 << 20


class _Place(msgspec.Struct, tag="done", array_like=True, gc=False):
    """The first fields of `RolloutFinished`: where its line is."""

    seq: int
    at: float
    row: int
    example_id: Any
    number: int
    attempt: int
    offset: int
    length: int


_decode_place = msgspec.msgpack.Decoder(_Place).decode
_Entry = TypeVar("_Entry", RolloutFinished, _Place)


def encode_entry(event: RolloutFinished) -> bytes:
    """An index entry with its length before it."""
    return frame(_encode(event))


class IndexReader:
    """Reads an index that may still grow; a torn last entry is left for the next call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.position = 0
        """Bytes of the index that are read."""
        self.end = 0
        """End in results.jsonl of the last line that the entries name, in bytes."""
        self.covered = 0
        """Bytes of the lines that the entries name: less than `end` where one is missing."""

    def read(self, most: int = -1) -> list[RolloutFinished]:
        """The entries since the last call; an entry that makes no sense ends the reading.

        Args:
            most: Bytes to read at most, longer than any entry; all by default.
        """
        return list(self._read(_decode, most))

    def skip(self) -> int:
        """Reads of every entry only which line it names; returns how many there were."""
        found = 0
        while n := sum(1 for _ in self._read(_decode_place, BLOCK)):
            found += n
        return found

    def _read(self, decode: Callable[[bytes], _Entry], most: int) -> Iterator[_Entry]:
        try:
            with open(self._path, "rb") as file:
                file.seek(self.position)
                data = file.read(most)
        except FileNotFoundError:
            return
        at = 0
        while at + HEADER_BYTES <= len(data):
            size = int.from_bytes(data[at : at + HEADER_BYTES], "big")
            entry = data[at + HEADER_BYTES : at + HEADER_BYTES + size]
            if len(entry) < size:
                return
            try:
                event = decode(entry)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return
            at += HEADER_BYTES + size
            self.position += HEADER_BYTES + size
            self.end = max(self.end, event.offset + event.length)
            self.covered += event.length
            yield event


def new_index(path: Path, events: list[RolloutFinished]) -> Path:
    """A whole index beside the one that it is to replace; none where the disk refuses."""
    temporary = path.with_suffix(f".index.{os.getpid()}.new")
    try:
        temporary.touch(mode=0o600)
        temporary.write_bytes(b"".join(encode_entry(event) for event in events))
        keep_mode(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
