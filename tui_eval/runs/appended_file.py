"""A file that one process appends to: each time all of it, or nothing.

A disk may refuse at any moment: it is full, gone, or read-only. What it took of a refused record is
cut off again, at once or before the next one, so that the file has whole records only. A file that
is not at its path any more would take what nobody finds: that is a refusal, too. So is a call that
the disk does not answer.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from tui_eval.open_files import open_surely
from tui_eval.runs.file_writing import sync_to_disk

PATIENCE_S = 2.0
"""Seconds; a disk that takes less is only slow."""


class _Call:
    __slots__ = ("error", "is_over", "work")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.error: Exception | None = None
        self.is_over = threading.Lock()
        """Held until it is."""
        self.is_over.acquire()


class DiskThread:
    """Makes calls one after the other, in a thread that is there once there is one."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._late: _Call | None = None

    @property
    def is_held(self) -> bool:
        """Whether a call that was given up is not over yet."""
        late = self._late
        return late is not None and late.is_over.locked()

    def take_late(self) -> bool | None:
        """Whether a call that was given up and is over has done its work; None without one.

        Raises:
            TimeoutError: It is not over yet.
        """
        if self.is_held:
            raise _no_answer()
        late, self._late = self._late, None
        return None if late is None else late.error is None

    def run(self, work: Callable[[], None]) -> None:
        """Makes a call and waits for its end; raises what it raises.

        Raises:
            TimeoutError: The disk does not answer; the call continues.
        """
        if self._thread is None:
            calls = self._calls
            self._thread = threading.Thread(target=_make, args=(calls,), name="disk", daemon=True)
            self._thread.start()
        call = _Call(work)
        self._calls.put(call)
        if not call.is_over.acquire(timeout=PATIENCE_S):
            self._late = call
            raise _no_answer()
        if call.error is not None:
            raise call.error

    def end(self) -> None:
        """Ends the thread once its calls are over; a later call has another one."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread, self._calls = None, SimpleQueue()


def _make(calls: SimpleQueue[_Call | None]) -> None:
    while (call := calls.get()) is not None:
        try:
            call.work()
        except Exception as error:
            call.error = error
        call.is_over.release()


def _no_answer() -> OSError:
    return OSError(errno.ETIMEDOUT, "the disk does not answer")


_BLOCK = 1 << 20
FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class FileChangedError(OSError):
    """Somebody else wrote to the file or removed it: no waiting mends that."""


class AppendedFile:
    """Appends to a file, which is made where it is not there and has to stay at its path.

    What opens, reads or writes it raises `OSError` where the disk refuses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = open_surely(path, FLAGS, 0o600)
        self.size = 0
        """Bytes of whole records."""
        self._disk = DiskThread()
        self._begin()

    def _begin(self) -> None:
        status = os.fstat(self._fd)
        self.size = self._synced = status.st_size
        self._is_torn = self._is_doubtful = False
        self._tried = b""
        """Bytes that a call in progress has to write."""
        self._is_known = os.path.samestat(self.path.stat(), status)
        """Whether its file system distinguishes files: not all of those of servers do."""

    def append(self, data: bytes) -> int:
        """Writes data at the end; returns where it begins, in bytes.

        Raises:
            FileChangedError: Somebody else wrote to the file, or removed it.
            OSError: The disk refused or does not answer, or the file is not at its path any more.
        """
        taken = 0
        if (is_done := self._disk.take_late()) is not None:
            if is_done and data.startswith(self._tried):
                taken = len(self._tried)  # a disk that is always slow would never get on else
            else:
                self._is_torn = True
        self._tried = data
        self._disk.run(lambda: self._append(data[taken:], taken))
        self._tried = b""
        offset = self.size
        self.size += len(data)
        return offset

    def _append(self, data: bytes, taken: int) -> None:
        """Writes data behind what was taken late, which is cut off where that is refused."""
        try:
            self.check(taken)
            if data:
                write_all(self._fd, data)
        except FileChangedError:
            raise
        except OSError:
            self._is_torn = True
            self._cut_back()
            raise

    @property
    def is_removed(self) -> bool:
        """Whether somebody removed it: it is gone with its descriptor."""
        return os.fstat(self._fd).st_nlink == 0

    def check(self, taken: int = 0) -> None:
        """Sees that it is at its path and has what was written.

        Args:
            taken: Bytes behind that, which the disk has taken late.

        Raises:
            FileChangedError: Somebody else wrote to the file, or removed it.
            OSError: It is not at its path any more.
        """
        if self._is_torn:
            self._cut_back()
        own, name = os.fstat(self._fd), self.path.name
        if own.st_size != self.size + taken or not own.st_nlink:
            what = "changed" if own.st_nlink else "removed"
            raise FileChangedError(errno.EBUSY, f"somebody else {what} {name}", str(self.path))
        self.find(own)

    def find(self, own: os.stat_result | None = None) -> None:
        """Sees that it is at its path; not where it was removed.

        Args:
            own: Its status, where that is known.

        Raises:
            OSError: It is not, or the disk refuses.
        """
        own = own or os.fstat(self._fd)
        if own.st_nlink and not os.path.samestat(self.path.stat(), own) and self._is_known:
            what = f"another {self.path.name} is there now"
            raise FileNotFoundError(errno.ESTALE, what, str(self.path))

    def _cut_back(self) -> None:
        os.ftruncate(self._fd, self.size)
        self._is_torn = False

    def read(self, offset: int, length: int) -> bytes:
        """Bytes at a place of the file, even if it is no longer at its path."""
        return os.pread(self._fd, length, offset)

    def copy_to(self, path: Path) -> None:
        """Writes what it has to a new file, also where it is not at its path any more."""
        with path.open("xb") as copy:
            path.chmod(0o600)
            at = 0
            while at < self.size:
                at += copy.write(self.read(at, min(_BLOCK, self.size - at)))
            copy.flush()
            sync_to_disk(copy.fileno())

    def reopen(self, path: Path | None = None) -> None:
        """Continues with the file that is at its path now, or at another one.

        The descriptor keeps its number, for a thread that may be flushing it.
        """
        path = path or self.path
        new = os.open(path, FLAGS, 0o600)
        os.dup2(new, self._fd, inheritable=False)
        os.close(new)
        self._disk.end()
        self._disk = DiskThread()
        self.path = path
        self._begin()

    def sync(self) -> None:
        """Flushes it to the disk; may be called in another thread.

        What a refusal may have lost, as the system takes it for written, is written again.
        """
        size = self.size
        if self._is_doubtful:
            self._write_again(self._synced, size)
        try:
            sync_to_disk(self._fd)
        except OSError:
            self._is_doubtful = True
            raise
        self._synced, self._is_doubtful = size, False

    def _write_again(self, at: int, end: int) -> None:
        fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)  # the other one writes at the end
        try:
            if not os.path.samestat(os.fstat(fd), os.fstat(self._fd)) and self._is_known:
                raise FileNotFoundError(errno.ESTALE, "another file is there now", str(self.path))
            while at < end:
                at += os.pwrite(fd, self.read(at, min(_BLOCK, end - at)), at)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Closes it, once, so that nobody writes to another file; not one whose disk does not
        answer.
        """
        fd, self._fd = self._fd, -1
        self._disk.end()
        if fd >= 0 and not self._disk.is_held:
            os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Writes all of data; where the disk refuses, which raises, some of it may be written."""
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, data[written:])
