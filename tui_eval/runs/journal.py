"""Journal of what is in flight: answers of unfinished rollouts, and rollouts without a score.

A model's answer is paid for when it comes, and a group is scored when its last rollout is
generated, which may be an hour after the first. Without the journal a stop in between would pay
for all of that again. It holds only what results.jsonl has not yet, and is rewritten once most
of it has got there. A record without a state is an answer; the last record of a rollout that has
one stands for all its answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.runs.appended_file import AppendedFile
from tui_eval.runs.layout import RunDir
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.writer import write_atomically

_MOST_OUTDATED = 32 << 20
"""Bytes of records that nobody needs, from which on the file may be rewritten."""
_CLOSED = b'{"closed":true}\n'
"""Stands at the end of a session that was stopped: nothing in flight has ended its engine."""


class _Waiting(msgspec.Struct, frozen=True):
    """A record that is written next.

    `written` is called once it is, or is needed no more; None for a generated rollout.
    """

    row: int
    line: bytes
    written: Callable[[], None] | None


class Journal:
    """Appends answers and generated rollouts, and forgets them once their rows are written.

    Where the disk refuses, records wait in memory until `retry` writes them.

    Args:
        written: Is called after each writing: somebody is to call `sync` soon.
        refused: Is called where the disk refuses, once until a retry; what is not said to wait for
            one raises `OSError` then.
    """

    def __init__(
        self,
        run: RunDir,
        redact: Redactor,
        written: Callable[[], None] = lambda: None,
        refused: Callable[[OSError], None] = lambda error: None,
    ) -> None:
        self._path = run.journal
        self._redact = redact
        self._written = written
        self._refused = refused
        self._is_refused = False
        self._live: dict[int, list[tuple[int, int]]] = {}
        """Places of the records of each row: offset and length."""
        self._live_bytes = 0
        self._most_outdated = _MOST_OUTDATED
        self._forgotten: list[bytes] = []
        self._waiting: list[_Waiting] = []
        self._earlier: list[tuple[int, bytes]] | None = None
        """Records of an earlier session that the file is to have first."""
        self._file: AppendedFile | None = None
        self._is_read = False

    def add(self, row: int, line: bytes) -> None:
        """Keeps one generated rollout, a line of `encode_state`; its answers are in it."""
        self._waiting.append(_Waiting(row, line, None))
        self._write_waiting()

    def add_answer(self, row: int, line: bytes) -> asyncio.Future[None]:
        """Keeps one answer of a rollout; one `write()` has all that come at once.

        Done once it is written, however long the disk refuses.
        """
        done = asyncio.get_running_loop().create_future()
        self.keep_answer(row, line, lambda: None if done.done() else done.set_result(None))
        return done

    def keep_answer(self, row: int, line: bytes, written: Callable[[], None]) -> None:
        """The same, where nothing is awaited; calls `written` once it is, which may not raise."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write_waiting)
        self._waiting.append(_Waiting(row, line, written))

    @property
    def waiting(self) -> list[bytes]:
        """Records that are not written, in their order, without secrets."""
        return [self._redact.line(one.line) for one in self._waiting]

    def retry(self) -> None:
        """Writes what the disk refused, or raises as it still does."""
        self._write()
        self._is_refused = False

    def _write_waiting(self) -> None:
        if self._is_refused:
            return
        try:
            self._write()
        except OSError as error:
            self._is_refused = True
            self._refused(error)

    def _write(self) -> None:
        if self._earlier is not None:
            self._rewrite(self._earlier)
            self._earlier = None
        places = self._append([one.line for one in self._waiting])
        waiting, self._waiting = self._waiting, []
        for one, place in zip(waiting, places, strict=True):
            if one.written is None:
                self._drop(one.row)
            self._remember(one.row, place)
            if one.written is not None:
                one.written()

    def keep(self, records: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Takes records of an earlier session; nothing else is in the file once it is written."""
        self._is_read = True
        self._earlier = [(row, encode_whatever(record) + b"\n") for row, record in records]
        self._write_waiting()

    def hold(self) -> None:
        """Has all that comes wait until `retry`."""
        self._is_refused = True

    @property
    def is_removed(self) -> bool:
        """Whether somebody removed its file."""
        return self._file is not None and self._file.is_removed

    def copy_to(self, path: Path) -> None:
        """Writes what the file has to a new one; in a thread, while it is held."""
        if self._live or self._file is not None:
            self._open().copy_to(path)

    def move_to(self, path: Path) -> None:
        """Continues with another file, which `copy_to` has written."""
        self._path = path
        if self._file is not None:
            self._file.reopen(path)

    def forget(self, row: int) -> None:
        """The rollout's row is in results.jsonl now, or another attempt begins."""
        for one in [one for one in self._waiting if one.row == row]:
            self._waiting.remove(one)
            if one.written is not None:
                one.written()
        if self._drop(row):
            self._forgotten.append(msgspec.json.encode({"row": row, "forgotten": True}) + b"\n")
        outdated = (self._file.size if self._file is not None else 0) - self._live_bytes
        if outdated > max(self._live_bytes, self._most_outdated) and not self._is_refused:
            try:
                self._rewrite(self._lines())
                self._most_outdated = _MOST_OUTDATED
            except OSError:  # the file that there is has all of it
                self._most_outdated = 2 * outdated

    def lines(self, row: int) -> list[bytes]:
        """The records of a rollout, in their order."""
        self._write_waiting()
        waiting = [one.line for one in self._waiting if one.row == row]
        return [*(self._read(*place) for place in self._live.get(row, ())), *waiting]

    def _read(self, offset: int, length: int) -> bytes:
        return self._open().read(offset, length)

    def _append(self, lines: Sequence[bytes]) -> list[tuple[int, int]]:
        """Writes lines by one `write()`; where each of them is then: offset and length."""
        if not lines:
            return []
        before, whole = b"".join(self._forgotten), b"".join(lines)
        if self._redact(whole) is not whole:
            lines = [self._redact.line(line) for line in lines]
            whole = b"".join(lines)
        at = self._open().append(before + whole) + len(before)
        self._forgotten.clear()
        self._written()
        places = []
        for line in lines:
            places.append((at, len(line)))
            at += len(line)
        return places

    def _open(self) -> AppendedFile:
        if self._file is None:
            file = AppendedFile(self._path)
            try:
                if file.size and file.read(file.size - 1, 1) != b"\n":
                    file.append(b"\n")
            except OSError:
                file.close()
                raise
            self._file = file
        return self._file

    def _remember(self, row: int, place: tuple[int, int]) -> None:
        self._live.setdefault(row, []).append(place)
        self._live_bytes += place[1]

    def _drop(self, row: int) -> bool:
        places = self._live.pop(row, ())
        self._live_bytes -= sum(length for _, length in places)
        return bool(places)

    def _lines(self) -> list[tuple[int, bytes]]:
        return [(row, self._read(*place)) for row, places in self._live.items() for place in places]

    def _rewrite(self, lines: Sequence[tuple[int, bytes]]) -> None:
        if lines:
            write_atomically(self._path, b"".join(line for _, line in lines))
        else:
            self._path.unlink(missing_ok=True)
        file, self._file = self._file, None
        if file is not None:
            file.close()
        self._live.clear()
        self._forgotten.clear()
        self._live_bytes = at = 0
        for row, line in lines:
            self._remember(row, (at, len(line)))
            at += len(line)

    def sync(self) -> None:
        """Flushes what it has to the disk; may be called in another thread."""
        try:
            if (file := self._file) is not None:
                file.sync()
        except OSError as error:
            if error.errno != errno.EBADF:  # it was rewritten meanwhile
                raise

    def close(self) -> None:
        """Closes the file; what is not forgotten stays for a resume.

        Raises:
            OSError: The disk refused; what it did not take is still `waiting`.
        """
        try:
            self.retry()
            with contextlib.suppress(OSError):  # a resume finds out without it
                if self._live:
                    self._append([_CLOSED])
                elif self._is_read:
                    self._path.unlink(missing_ok=True)
            self.sync()
        finally:
            file, self._file = self._file, None
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()
