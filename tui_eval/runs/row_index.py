"""The rows of a results file as events: from an index on disk, and scanned where it ends."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import BinaryIO

import msgspec

from tui_eval.event_frames import HEADER_BYTES, frame
from tui_eval.events import LineUnreadable, RolloutFinished
from tui_eval.runs.formats.rows import UNKNOWN, read_row, row_event
from tui_eval.runs.index import IndexReader, encode_entry
from tui_eval.runs.layout import RunDir, cache_root
from tui_eval.runs.scan import BLOCK, Line, lines_of
from tui_eval.runs.writer import write_atomically

VERSION = 5
TAIL_BYTES = 4096
BATCH = 500
SLICE = 1 << 20
"""Bytes of the results file between two batches: what the caches of a processor hold."""
FIRST_BATCH_BYTES = 1 << 16
CACHED_BYTES = 1 << 21
"""A smaller file is read again each time."""
MOST_FAULTS = 1000
"""Unreadable lines that are reported one by one; the others are only counted."""
MOST_DOUBTS = 200
"""Rows with a fault that are reported one by one."""
FORGOTTEN_S = 60 * 24 * 3600.0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[RolloutFinished]).decode


class BrokenIndexError(Exception):
    """An index in the cache makes no sense: somebody else wrote there."""


class _Kept(msgspec.Struct):
    """Extent of an index in the cache; written after its entries."""

    version: int
    source: str
    size: int
    mtime_ns: int
    covered: int
    tail: str
    entries: int
    lines: int
    unreadable: int
    faults: list[LineUnreadable]
    examples: int
    most: int
    repeated: list[int]


class RowIndex:
    """Reads a results file once; what is known of it already is not read again.

    Our own runs have their index `beside` them, whose entries know their places. For others it is
    in the user's cache, checked by size, modification time and the file's last bytes, and only what
    was appended is scanned. A last line without its newline that is no row is left for later: it
    may still be written.
    """

    def __init__(self, run: RunDir, *, beside: bool) -> None:
        self.run = run
        self._beside = beside
        self._path = run.index if beside else _cached_path(run.results)
        self.covered = 0
        """Bytes of the results file that are read."""
        self.lines = 0
        """Newlines in them."""
        self.unreadable = 0
        self.faults: list[LineUnreadable] = []
        self._doubts = 0
        self.torn: LineUnreadable | None = None
        """The last line, where it is not finished."""
        self.shape: tuple[int, int] | None = None
        """Examples, and rollouts of the largest one, as far as the index on disk goes."""
        self.repeated: frozenset[int] = frozenset()
        """Offsets of repeated lines; found out by who reads the index."""
        self._entries = 0
        self._file: BinaryIO | None = None
        self._unwritten: list[RolloutFinished] | None = None
        self._refused = False
        self._read_tail = ""
        (self._check_beside if beside else self._check_cached)()
        if not beside and not self.covered:
            self._unwritten = []

    def _check_cached(self) -> None:
        try:
            kept = msgspec.json.decode(self._state_path.read_bytes(), type=_Kept)
            status = self.run.results.stat()
            long_enough = self._path.stat().st_size >= kept.entries
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return
        same = (status.st_size, status.st_mtime_ns) == (kept.size, kept.mtime_ns)
        grown = status.st_size > kept.size
        if kept.version != VERSION or not long_enough or not (same or grown):
            return
        if kept.source != str(self.run.results.resolve()):
            return
        if not self._begins_with(kept.covered, kept.tail):
            return
        self.covered, self.lines, self._entries = kept.covered, kept.lines, kept.entries
        self.unreadable, self.faults = kept.unreadable, kept.faults
        self._doubts = sum(fault.shown for fault in self.faults)
        self.shape, self.repeated = (kept.examples, kept.most), frozenset(kept.repeated)

    def _check_beside(self) -> None:
        reader = IndexReader(self._path)
        found = reader.skip()
        try:
            index, results = self._path.stat(), self.run.results.stat()
        except OSError:
            return
        if reader.covered != reader.end or reader.end > results.st_size:
            return
        newer = index.st_mtime >= results.st_mtime
        if newer if reader.end == results.st_size else self._tail(reader.end, 1) == _digest(b"\n"):
            self.covered, self.lines, self._entries = reader.end, found, reader.position

    @property
    def _state_path(self) -> Path:
        return self._path.with_suffix(".json")

    def _tail(self, end: int, most: int = TAIL_BYTES) -> str:
        return _digest(self._read(max(end - most, 0), end))

    def _read(self, start: int, end: int) -> bytes:
        """Bytes of the results file; none where it cannot be read."""
        try:
            with open(self.run.results, "rb") as file:
                file.seek(start)
                return file.read(end - start)
        except OSError:
            return b""

    def kept(self) -> Iterator[list[RolloutFinished]]:
        """The events that are known already, some at a time."""
        if self._unwritten is not None:
            yield from _batches(list(map(copy, self._unwritten)))
            return
        if self._file is not None:
            self._file.flush()
        yield from self._entries_beside() if self._beside else self._entries_cached()

    def _entries_beside(self) -> Iterator[list[RolloutFinished]]:
        reader = IndexReader(self._path)
        while reader.position < self._entries:
            entries = reader.read(min(BLOCK, self._entries - reader.position))
            if not entries:
                return
            yield from _batches(entries)

    def _entries_cached(self) -> Iterator[list[RolloutFinished]]:
        """One frame a batch: a fourth of the time that one a row takes."""
        end = self._entries
        if not end:
            return
        with open(self._path, "rb") as file:
            while file.tell() < end:
                size = int.from_bytes(file.read(HEADER_BYTES), "big")
                try:
                    entries = _decode(file.read(size))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise BrokenIndexError(f"{self._path}: {error}") from error
                yield entries

    def scanned(self) -> Iterator[list[RolloutFinished]]:
        """The events behind what is covered, some at a time."""
        self.torn = None
        found: list[RolloutFinished] = []
        due = self.covered + FIRST_BATCH_BYTES
        requested: int | str | None = None
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(open(self.run.results, "rb", buffering=0))
            except FileNotFoundError:
                return
            lines = lines_of(file, self.covered) if file.seek(0, 2) > self.covered else ()
            for offset, raw in lines:
                read = read_row(self.lines + 1, offset, raw, requested)
                ends = raw[-1] == 10
                if isinstance(read, RolloutFinished):
                    found.append(read)
                    if read.question and read.number == UNKNOWN:  # so it will have a place
                        requested = read.example_id
                elif read is not None and read.row is not None:
                    found.append(row_event(read))
                    self._doubt(read)
                elif read is not None:
                    fault = self._fault(read)
                    if not ends:
                        self.torn = fault
                        break
                    self.unreadable += 1
                    if len(self.faults) < MOST_FAULTS:
                        self.faults.append(fault)
                self.covered = offset + len(raw)
                self.lines += ends
                if self.covered >= due or len(found) >= BATCH:
                    yield found
                    found = []
                    due = self.covered + SLICE
        self._read_tail = self._tail(self.covered)
        yield found

    def _doubt(self, line: Line) -> None:
        self._doubts += 1
        if self._doubts <= MOST_DOUBTS:
            fault = self._fault(line)
            if self._doubts == MOST_DOUBTS:
                fault.why += "; further lines like this are shown and not reported"
            self.faults.append(fault)

    def _fault(self, line: Line) -> LineUnreadable:
        name, why = self.run.name, line.fault
        place = line.number, line.offset, line.length
        return LineUnreadable(0, 0.0, name, *place, why, line.ends, line.row is not None)

    def once(self, events: list[RolloutFinished]) -> list[RolloutFinished]:
        """Events without those of lines that are there twice."""
        left_out = self.repeated
        return [one for one in events if one.offset not in left_out] if left_out else events

    def keep(self, events: list[RolloutFinished]) -> None:
        """Writes events behind the others; in memory where the disk refuses."""
        if not events or (self._refused and self._beside):
            return
        if self._unwritten is not None and not self._refused and self.covered > CACHED_BYTES:
            events, self._unwritten = self._unwritten + events, None
        if self._unwritten is None:
            try:
                if self._file is None:
                    self._file = self._open()
                entries = [*map(encode_entry, events)] if self._beside else [frame(_encode(events))]
                self._entries += self._file.write(b"".join(entries))
                return
            except OSError:
                self._refused = True
                if self._beside:
                    return
                self._unwritten = [event for batch in self.kept() for event in batch]
        self._unwritten += map(copy, events)  # those that are reported get places

    def _open(self) -> BinaryIO:
        """The index, cut off where it ends to hold; one process at a time writes it."""
        if not self._beside:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            forget_old_indexes()
        file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(self._entries)
            file.seek(self._entries)
        except OSError:
            file.close()
            raise
        return file

    def save(self, shape: tuple[int, int]) -> None:
        """Writes what the index covers now, a `shape`; it may be read on and saved again."""
        if self._file is None:
            return
        try:
            self._file.flush()
            if not self._beside:
                known = self.shape or (0, 0)
                self._save_state((max(shape[0], known[0]), max(shape[1], known[1])))
        except OSError:
            return

    def _save_state(self, shape: tuple[int, int]) -> None:
        status = self.run.results.stat()
        kept = _Kept(
            version=VERSION,
            source=str(self.run.results.resolve()),
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            covered=self.covered,
            tail=self._tail(self.covered),
            entries=self._entries,
            lines=self.lines,
            unreadable=self.unreadable,
            faults=self.faults,
            examples=shape[0],
            most=shape[1],
            repeated=sorted(self.repeated),
        )
        write_atomically(self._state_path, msgspec.json.encode(kept))

    def still_holds(self) -> bool:
        """Whether the file still begins with what was read of it."""
        try:
            long_enough = self.run.results.stat().st_size >= self.covered
        except OSError:
            return False
        return long_enough and self._begins_with(self.covered, self._read_tail)

    def _begins_with(self, covered: int, tail: str) -> bool:
        """Whether what was read is there, and its last line, if without a newline, is no longer."""
        start = max(covered - 1, 0)
        around = self._read(start, covered + 1)
        before, after = around[: covered - start], around[covered - start :]
        is_whole = before in (b"", b"\n") or after in (b"", b"\n")
        return is_whole and self._tail(covered) == tail

    def discard(self) -> None:
        """Removes an index that is broken from the cache."""
        self.close()
        with contextlib.suppress(OSError):
            self._state_path.unlink()

    def close(self) -> None:
        """Lets go of the files."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _batches(events: list[RolloutFinished]) -> Iterator[list[RolloutFinished]]:
    return (events[start : start + BATCH] for start in range(0, len(events), BATCH))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _cached_path(results: Path) -> Path:
    name = _digest(str(results.resolve()).encode("utf-8", "surrogateescape"))
    return cache_root() / "index" / f"{name}.index"


def forget_old_indexes(now: float | None = None) -> None:
    """Removes indexes from the cache that nobody has written for two months."""
    now = time.time() if now is None else now
    for path in (cache_root() / "index").glob("*.*"):
        with contextlib.suppress(OSError):
            if now - path.stat().st_mtime > FORGOTTEN_S:
                path.unlink()
