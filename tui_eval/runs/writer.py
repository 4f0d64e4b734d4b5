"""The one place where a run's lines are written: on disk before anyone gets their events.

A line is one `write()` to a file that is only appended to: a process that dies leaves whole lines
and at most one torn one, and readers need no lock. Flushing to the disk costs milliseconds, so a
thread does it once a second: what a power cut can cost is that second.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.events import RolloutFinished
from tui_eval.open_files import open_surely
from tui_eval.runs.appended_file import PATIENCE_S, AppendedFile
from tui_eval.runs.file_writing import keep_mode, sync_to_disk, temporary_path
from tui_eval.runs.index import encode_entry
from tui_eval.runs.layout import RunDir
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.redaction import Redactor


class RunWriter:
    """Appends to results.jsonl and its index; `also_sync` is called in the flushing thread, too.

    What opens, writes or copies the files raises `OSError` where the disk refuses.
    """

    def __init__(self, run: RunDir, redact: Redactor) -> None:
        """Opens the files; a new run's are created."""
        self.redact = redact
        self._results = AppendedFile(run.results)
        self._index = AppendedFile(run.index)
        self._entries: list[bytes] = []
        self._sync_error: OSError | None = None
        self._unsynced = threading.Event()
        self._wait = threading.Event()
        self._closing = False
        self.also_sync: Callable[[], None] = lambda: None
        self.sync_failed: Callable[[OSError], None] = lambda error: None
        """Is called in that thread where the disk did not keep what it took."""
        self._syncer = threading.Thread(target=self._sync_each_second, daemon=True)
        self._syncer.start()

    def append(self, line: bytes) -> tuple[int, bytes]:
        """Writes one line of results.jsonl, secrets redacted, or several that have none.

        Returns:
            Offset of the line in bytes, and the line as it is written.

        Raises:
            OSError: As for `AppendedFile.append`, or the disk did not keep what it took before.
        """
        line = self.redact.line(line)
        if self._sync_error is not None:
            raise self._sync_error
        offset = self._results.append(line)
        self._unsynced.set()
        return offset, line

    def remember(self, event: RolloutFinished) -> None:
        """Takes an entry for the index, which is written by `flush_index`."""
        self._entries.append(self.redact(encode_entry(event)))

    def flush_index(self) -> None:
        """Writes the remembered entries; called before listeners get the events of these rows.

        The index can be made again from results.jsonl: where the disk refuses, that is no fault,
        and the entries are written with the next ones.
        """
        if self._entries:
            with contextlib.suppress(OSError):
                self._index.append(b"".join(self._entries))
                self._entries.clear()

    def reopen(self) -> None:
        """Continues with the files that are there now: they were replaced, the index is whole."""
        self._results.reopen()
        self._index.reopen()
        self._entries.clear()

    @property
    def is_removed(self) -> bool:
        """Whether somebody removed results.jsonl."""
        return self._results.is_removed

    def copy_to(self, run: RunDir) -> None:
        """Writes what the files have into another directory."""
        self._results.copy_to(run.results)
        self._index.copy_to(run.index)

    def move_to(self, run: RunDir) -> None:
        """Continues in another directory, which has a copy of the files."""
        self._results.reopen(run.results)
        self._index.reopen(run.index)
        self._sync_error = None

    def sync(self) -> None:
        """Flushes what is written to the disk, unless it is elsewhere now; for a thread."""
        self._results.find()
        self._results.sync()
        self._index.sync()
        self._sync_error = None

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
                self._results.sync()
                self.also_sync()
            except OSError as error:
                self._sync_error = error
                self.sync_failed(error)
            self._wait.wait(1.0)

    def close(self) -> None:
        """Flushes everything to the disk and closes the files."""
        self._closing = True
        self._wait.set()
        self._unsynced.set()
        self._syncer.join(PATIENCE_S)
        if self._syncer.is_alive():
            raise OSError(errno.ETIMEDOUT, "the disk does not answer")
        self.flush_index()
        self._index.close()
        try:
            self._results.check()
            self._results.sync()
        finally:
            self._results.close()


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
