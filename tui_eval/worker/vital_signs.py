"""What an engine sees of a worker without its help: whether it still moves, and whose code it runs.

A worker whose interpreter is held answers nothing. It writes into memory that both processes share:
at every turn of its loop the time, and before it calls people's code the rollout. Where calls have
a limit it is also known what is called, and whether the loop is in it now.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import re
import signal
import struct
import tempfile
import threading
import time
from dataclasses import dataclass

from tui_eval.error_classes import ERROR_CLASSES

_CELL = struct.Struct("=dqqqBH")
"""The loop's last turn in monotonic seconds, the row whose code was called last, whether the loop
is in it, how many threads are in calls, the class of its error, and the length of its name."""
_CLASSES = tuple(ERROR_CLASSES)
_LONGEST_NAME = 200
_WITHOUT_COMMA = re.compile(r"line (\d+) in ")
NOBODY = -1


@dataclass(frozen=True, slots=True)
class LastCall:
    """The code that a worker called last.

    Args:
        row: Whose it is, or `NOBODY`.
        error_class: What fails with it, one of `error_classes.ERROR_CLASSES`.
        what: What was called, for people; empty where that is not known.
        is_running: The loop is in it now, and no thread is in another call.
    """

    row: int
    error_class: str
    what: str
    is_running: bool


class VitalSigns:
    """The shared memory, at either end.

    Behind it, in the same file, a worker writes where it stands whenever it gets `WHERE`.

    Args:
        fd: As `make_file` gives it; it is the caller's to close.
    """

    BYTES = mmap.PAGESIZE
    WHERE = signal.SIGUSR2

    def __init__(self, fd: int) -> None:
        self._fd = os.dup(fd)
        self._memory = mmap.mmap(fd, self.BYTES)
        self._read_to = self.BYTES
        self._is_in_call = False
        self._threads: set[int] = set()

    @staticmethod
    def make_file() -> int:
        """A descriptor of new memory to share; the worker inherits it.

        Raises:
            OSError: There is none.
        """
        with tempfile.TemporaryFile() as file:
            file.truncate(VitalSigns.BYTES)
            os.pwrite(file.fileno(), _CELL.pack(time.monotonic(), NOBODY, 0, 0, 0, 0), 0)
            os.lseek(file.fileno(), VitalSigns.BYTES, os.SEEK_SET)
            return os.dup(file.fileno())

    def answer_where(self) -> None:
        """From now on this process writes its stack whenever it gets `WHERE`, whatever holds it.

        It does so as well before a signal like SIGSEGV ends it.
        """
        faulthandler.register(self.WHERE, file=self._fd, all_threads=False)
        faulthandler.enable(file=self._fd, all_threads=False)

    def stack(self) -> str:
        """The stack that the worker has written last, as Python prints tracebacks."""
        end = os.fstat(self._fd).st_size
        text = os.pread(self._fd, end - self._read_to, self._read_to).decode("utf-8", "replace")
        self._read_to = end
        lines = _WITHOUT_COMMA.sub(r"line \1, in ", text).splitlines()
        return "\n".join(reversed(lines))

    def beat(self) -> None:
        """The loop has come round."""
        struct.pack_into("=d", self._memory, 0, time.monotonic())

    def calls(self, row: int, error_class: str) -> None:
        """Code of this rollout is called next, whose errors are of this class."""
        if not self._is_in_call:  # which is known better
            self._write(row, error_class, "")

    def runs(self, row: int, error_class: str, what: str) -> None:
        """This thread is in a call of this rollout's code from now on."""
        if threading.current_thread() is threading.main_thread():
            self._is_in_call = True
        else:
            self._threads.add(threading.get_ident())
        self._write(row, error_class, what)

    def waits(self) -> None:
        """It is in none any more."""
        if threading.current_thread() is threading.main_thread():
            self._is_in_call = False
        else:
            self._threads.discard(threading.get_ident())
        struct.pack_into("=qq", self._memory, 16, self._is_in_call, len(self._threads))

    def _write(self, row: int, error_class: str, what: str) -> None:
        name = what.encode("utf-8", "replace")[:_LONGEST_NAME]
        here, threads, kind = self._is_in_call, len(self._threads), _CLASSES.index(error_class)
        struct.pack_into("=qqqBH", self._memory, 8, row, here, threads, kind, len(name))
        self._memory[_CELL.size : _CELL.size + len(name)] = name

    def still_for(self) -> float:
        """For how many seconds the loop has not come round."""
        return time.monotonic() - float(_CELL.unpack_from(self._memory, 0)[0])

    def last_called(self) -> LastCall:
        """The code that was called last."""
        _, row, here, threads, kind, length = _CELL.unpack_from(self._memory, 0)
        name = self._memory[_CELL.size : _CELL.size + length].decode("utf-8", "replace")
        return LastCall(row, _CLASSES[kind], name, bool(here) and not threads)

    def close(self) -> None:
        """Lets the memory go."""
        self._memory.close()
        os.close(self._fd)
