"""What is in flight: answers of rollouts that are not finished, and rollouts without a score.

A model's answer is paid for when it comes, and a group is scored when its last rollout is
generated, which may be an hour after the first. Without the journal a stop in between would pay
for all of that again. It holds only what results.jsonl has not yet, and is written anew once most
of it has got there. A record without a state is an answer; the last record of a rollout that has
one stands for all its answers.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tui_eval.open_files import open_surely
from tui_eval.runs.file_writing import sync_to_disk
from tui_eval.runs.layout import RunDir
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.writer import write_atomically, write_line

_MOST_DEAD = 32 << 20
"""Bytes of records that nobody needs, from which on the file may be written anew."""
_CLOSED = b'{"closed":true}\n'
"""Stands at the end of a session that was stopped: nothing in flight has ended its engine."""


class Journal:
    """Appends answers and generated rollouts, and forgets them once their rows are written.

    Args:
        written: Is called after each writing: somebody is to call `sync` soon.
    """

    def __init__(
        self, run: RunDir, redact: Redactor, written: Callable[[], None] = lambda: None
    ) -> None:
        self._path = run.journal
        self._redact = redact
        self._written = written
        self._live: dict[int, list[tuple[int, int]]] = {}
        """Where the records of each row are: offset and length."""
        self._live_bytes = 0
        self._size = 0
        self._forgotten: list[bytes] = []
        self._waiting: list[tuple[int, bytes, asyncio.Future[None]]] = []
        """Answers that are written next: of which row, the line, and who waits for that."""
        self._fd: int | None = None
        self._is_read = False

    def add(self, row: int, line: bytes) -> None:
        """Keeps one generated rollout; its answers are in it.

        Args:
            line: See `encode_state`.

        Raises:
            OSError: The disk refused.
        """
        self._write_waiting()
        [place] = self._append([line])
        self._drop(row)
        self._remember(row, place)

    def add_answer(self, row: int, line: bytes) -> asyncio.Future[None]:
        """Keeps one answer of a rollout; one `write()` has all that come at once.

        Args:
            line: A record with its newline, as `read_journal` gives it back.

        Returns:
            It is done once the answer is written, and has the `OSError` where the disk refused.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._write_waiting)
        written = loop.create_future()
        self._waiting.append((row, line, written))
        return written

    def _write_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            places = self._append([line for _, line, _ in waiting])
        except OSError as error:
            for *_, written in waiting:
                if not written.done():
                    written.set_exception(error)
            return
        for (row, _, written), place in zip(waiting, places, strict=True):
            self._remember(row, place)
            if not written.done():  # who waits for it may have been cancelled
                written.set_result(None)

    def keep(self, records: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Takes records of an earlier session; nothing else is in the file then.

        Raises:
            OSError: The disk refused.
        """
        self._is_read = True
        lines = [(row, encode_whatever(record) + b"\n") for row, record in records]
        self._write_anew(lines)

    def forget(self, row: int) -> None:
        """The rollout's row is in results.jsonl now, or another attempt begins.

        Raises:
            OSError: The disk refused.
        """
        if any(waits == row for waits, *_ in self._waiting):
            self._write_waiting()
        if self._drop(row):
            self._forgotten.append(msgspec.json.encode({"row": row, "forgotten": True}) + b"\n")
        if self._size - self._live_bytes > max(self._live_bytes, _MOST_DEAD):
            self._write_anew(self._lines())

    def lines(self, row: int) -> list[bytes]:
        """The records of a rollout, in their order."""
        self._write_waiting()
        return [self._read(*place) for place in self._live.get(row, ())]

    def _read(self, offset: int, length: int) -> bytes:
        return os.pread(self._open(), length, offset)

    def _append(self, lines: Sequence[bytes]) -> list[tuple[int, int]]:
        """Writes lines by one `write()`; where each of them is then: offset and length."""
        if not lines:
            return []
        fd = self._open()
        lines = [self._redact.line(line) for line in lines]
        before = b"".join(self._forgotten)
        write_line(fd, before + b"".join(lines), self._size)
        self._forgotten.clear()
        self._written()
        self._size += len(before)
        places = []
        for line in lines:
            places.append((self._size, len(line)))
            self._size += len(line)
        return places

    def _open(self) -> int:
        if self._fd is None:
            self._fd = open_surely(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._size = os.fstat(self._fd).st_size
            if self._size and os.pread(self._fd, 1, self._size - 1) != b"\n":
                write_line(self._fd, b"\n", self._size)
                self._size += 1
        return self._fd

    def _remember(self, row: int, place: tuple[int, int]) -> None:
        self._live.setdefault(row, []).append(place)
        self._live_bytes += place[1]

    def _drop(self, row: int) -> bool:
        places = self._live.pop(row, ())
        self._live_bytes -= sum(length for _, length in places)
        return bool(places)

    def _lines(self) -> list[tuple[int, bytes]]:
        return [(row, self._read(*place)) for row, places in self._live.items() for place in places]

    def _write_anew(self, lines: Sequence[tuple[int, bytes]]) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if lines:
            write_atomically(self._path, b"".join(line for _, line in lines))
        else:
            self._path.unlink(missing_ok=True)
        self._live.clear()
        self._forgotten.clear()
        self._live_bytes = self._size = 0
        for row, line in lines:
            self._remember(row, (self._size, len(line)))
            self._size += len(line)

    def sync(self) -> None:
        """Flushes what it has to the disk; may be called in another thread.

        Raises:
            OSError: The disk refused.
        """
        try:
            if (fd := self._fd) is not None:
                sync_to_disk(fd)
        except OSError as error:
            if error.errno != errno.EBADF:  # it was written anew meanwhile
                raise

    def close(self) -> None:
        """Closes the file; what is not forgotten stays for a resume.

        Raises:
            OSError: The disk refused.
        """
        self._write_waiting()
        if self._live:
            self._append([_CLOSED])
        elif self._is_read:
            self._path.unlink(missing_ok=True)
        if self._fd is not None:
            self.sync()
            os.close(self._fd)
            self._fd = None
