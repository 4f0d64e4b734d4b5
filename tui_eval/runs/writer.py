"""The one place where a run's lines are written: on disk before anyone gets their events.

A line is one `write()` to a file that is only appended to: a process that dies leaves whole lines
and at most one torn one, and readers need no lock. Flushing to the disk costs milliseconds, so a
thread does it once a second: what a power cut can cost is that second.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.events import RolloutFinished
from tui_eval.open_files import open_surely
from tui_eval.runs.file_writing import keep_mode, sync_to_disk, temporary_path
from tui_eval.runs.index import encode_entry
from tui_eval.runs.layout import RunDir
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.redaction import Redactor

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class RunWriter:
    """Appends to results.jsonl and its index.

    A line is written by one `write()`, so it survives the death of the process; a thread calls
    `sync_to_disk` at most once a second, so it survives power loss but for that second.
    `also_sync` is called in that thread, too.
    """

    def __init__(self, run: RunDir, redact: Redactor) -> None:
        """Opens the files; a new run's are created.

        Raises:
            OSError: The directory cannot be written.
        """
        self.run = run
        self.redact = redact
        self._results = os.open(run.results, FLAGS, 0o600)
        self._index = os.open(run.index, FLAGS, 0o600)
        self._offset = os.fstat(self._results).st_size
        self._entries: list[bytes] = []
        self._index_holds = True
        self._sync_error: OSError | None = None
        self._unsynced = threading.Event()
        self._wait = threading.Event()
        self._closing = False
        self.also_sync: Callable[[], None] = lambda: None
        self._syncer = threading.Thread(target=self._sync_each_second, daemon=True)
        self._syncer.start()

    def append(self, line: bytes) -> tuple[int, bytes]:
        """Writes one line of results.jsonl, secrets redacted.

        Returns:
            Offset of the line in bytes, and the line as it is written.

        Raises:
            OSError: The disk refused, and what was written of the line is taken back; or
                somebody else removed the file or wrote to it.
        """
        line = self.redact.line(line)
        if self._sync_error is not None:
            raise self._sync_error
        status = os.fstat(self._results)
        if status.st_nlink == 0 or status.st_size != self._offset:
            raise OSError("somebody else removed or changed results.jsonl")
        offset = self._offset
        write_line(self._results, line, offset)
        self._offset += len(line)
        self._unsynced.set()
        return offset, line

    def remember(self, event: RolloutFinished) -> None:
        """Takes an entry for the index, which is written by `flush_index`."""
        self._entries.append(self.redact(encode_entry(event)))

    def flush_index(self) -> None:
        """Writes the remembered entries; called before listeners get the events of these rows.

        The index can be made again from results.jsonl: a disk that refuses ends the index, not
        the run.
        """
        data, self._entries = b"".join(self._entries), []
        if data and self._index_holds:
            try:
                _write_all(self._index, data)
            except OSError:
                self._index_holds = False

    def reopen(self) -> None:
        """Continues with the files that are there now: they were replaced.

        The descriptors keep their numbers, for the thread that may be flushing one of them.

        Raises:
            OSError: They cannot be opened.
        """
        for path, fd in ((self.run.results, self._results), (self.run.index, self._index)):
            new = os.open(path, FLAGS, 0o600)
            os.dup2(new, fd, inheritable=False)
            os.close(new)
        self._offset = os.fstat(self._results).st_size
        self._index_holds = True

    def sync(self) -> None:
        """Flushes what is written to the disk; for a thread.

        Raises:
            OSError: The disk refused.
        """
        sync_to_disk(self._results)
        sync_to_disk(self._index)

    def sync_soon(self) -> None:
        """Has what was written flushed to the disk within a second."""
        self._unsynced.set()

    def _sync_each_second(self) -> None:
        while True:
            self._unsynced.wait()
            self._unsynced.clear()
            if self._closing:
                return
            try:
                sync_to_disk(self._results)
                self.also_sync()
            except OSError as error:
                self._sync_error = error
                return
            self._wait.wait(1.0)

    def close(self) -> None:
        """Flushes everything to the disk and closes the files."""
        self._closing = True
        self._wait.set()
        self._unsynced.set()
        self._syncer.join()
        self.flush_index()
        results, index = self._results, self._index
        self._results = self._index = -1  # who writes now does not write to another file
        os.close(index)
        try:
            sync_to_disk(results)
        finally:
            os.close(results)


def write_line(fd: int, line: bytes, offset: int) -> None:
    """Writes a line at the end of a file, all of it or, where the disk refuses, nothing.

    Args:
        offset: Where the file ends now; a refused line is cut off there.

    Raises:
        OSError: The disk refused.
    """
    try:
        _write_all(fd, line)
    except OSError:
        os.ftruncate(fd, offset)
        raise


def _write_all(fd: int, data: bytes) -> None:
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, data[written:])


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces a file by new content: readers see the old or the new, never half."""
    temporary = temporary_path(path, os.getpid())
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with open(open_surely(temporary, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            sync_to_disk(file.fileno())
        keep_mode(temporary, path)
        temporary.replace(path.resolve())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_metadata(run: RunDir, metadata: dict[str, Any], redact: Redactor) -> None:
    """Replaces metadata.json."""
    text = msgspec.json.format(encode_whatever(metadata), indent=2)
    write_atomically(run.metadata, redact(text) + b"\n")
