"""The side index of results.jsonl: one event a line, to open a run of any size at once."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tui_eval.events import HEADER_BYTES, RolloutFinished, frame

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RolloutFinished).decode


def encode_entry(event: RolloutFinished) -> bytes:
    """An index entry with its length before it."""
    return frame(_encode(event))


class IndexReader:
    """Reads an index that may still grow; a torn last entry is left for the next call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self.end = 0
        """Where in results.jsonl the last line is over that the entries name, in bytes."""
        self.covered = 0
        """Bytes of the lines that the entries name: less than `end` where one is missing."""

    def read(self) -> list[RolloutFinished]:
        """The entries since the last call; an entry that makes no sense ends the reading."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        found: list[RolloutFinished] = []
        at = 0
        while at + HEADER_BYTES <= len(data):
            size = int.from_bytes(data[at : at + HEADER_BYTES], "big")
            entry = data[at + HEADER_BYTES : at + HEADER_BYTES + size]
            if len(entry) < size:
                break
            try:
                event = _decode(entry)
            except (msgspec.DecodeError, UnicodeDecodeError):
                break
            found.append(event)
            self.end = max(self.end, event.offset + event.length)
            self.covered += event.length
            at += HEADER_BYTES + size
        self._position += at
        return found


def write_index(path: Path, events: list[RolloutFinished]) -> None:
    """Replaces the whole index atomically."""
    temporary = path.with_suffix(f".index.{os.getpid()}.new")
    temporary.write_bytes(b"".join(encode_entry(event) for event in events))
    temporary.replace(path)
