"""Vital signs of a worker in shared memory: whether its loop turns, and whose code it runs.

A worker whose interpreter is held answers nothing. So it writes into memory that both processes
share: at every turn of its loop the time, and before it calls people's code the rollout. Where
calls have a limit it also writes the call, and whether the loop is in it now.
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

import msgspec

from tui_eval.error_classes import ERROR_CLASSES, class_at
from tui_eval.events import Stage

_CELL = struct.Struct("=dqBHqq")
"""The loop's last turn in monotonic seconds, the row whose code was called last, the class of its
error, the length of its name, whether the loop is in it, and how many threads are in calls."""
_TURN, _CALL, _IN_CALLS = struct.Struct("=d"), struct.Struct("=qBH"), struct.Struct("=qq")
_CALL_AT = _TURN.size
_IN_CALLS_AT = _CALL_AT + _CALL.size
_CLASSES = tuple(ERROR_CLASSES)
_NUMBERS = {name: number for number, name in enumerate(_CLASSES)}
"""The number of each class of errors in the cell."""
_NUMBER_AT = {stage: _NUMBERS[class_at(stage)] for stage in Stage}
_NUMBER_AT[Stage.MODEL] = _NUMBER_AT[Stage.SETUP]  # a model's call is no code of people
_LONGEST_NAME = 200
_WITHOUT_COMMA = re.compile(r"line (\d+) in ")
NOBODY = -1


class LastCall(msgspec.Struct, frozen=True):
    """The code that a worker called last.

    Args:
        row: Of its rollout, or `NOBODY`.
        error_class: Of its error, one of `error_classes.ERROR_CLASSES`.
        what: Name of the call, for people; empty where that is not known.
        is_running: The loop is in it now, and no thread is in another call.
    """

    row: int
    error_class: str
    what: str
    is_running: bool


class VitalSigns:
    """The shared memory, at either end.

    Behind it, in the same file, a worker writes its stack whenever it gets `WHERE`.

    Args:
        fd: From `make_file`; the caller closes it.
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
        """A descriptor of new shared memory; the worker inherits it.

        Raises:
            OSError: There is none.
        """
        with tempfile.TemporaryFile() as file:
            file.truncate(VitalSigns.BYTES)
            os.pwrite(file.fileno(), _CELL.pack(time.monotonic(), NOBODY, 0, 0, 0, 0), 0)
            os.lseek(file.fileno(), VitalSigns.BYTES, os.SEEK_SET)
            return os.dup(file.fileno())

    def answer_where(self) -> None:
        """Has this process write its stack whenever it gets `WHERE`, whatever holds it.

        It writes it before a signal like SIGSEGV ends it as well.
        """
        faulthandler.register(self.WHERE, file=self._fd, all_threads=False)
        faulthandler.enable(file=self._fd, all_threads=False)

    def stack(self) -> str:
        """The last stack that the worker wrote, as Python prints tracebacks."""
        end = os.fstat(self._fd).st_size
        text = os.pread(self._fd, end - self._read_to, self._read_to).decode("utf-8", "replace")
        self._read_to = end
        lines = _WITHOUT_COMMA.sub(r"line \1, in ", text).splitlines()
        return "\n".join(reversed(lines))

    def beat(self) -> None:
        """Notes a turn of the loop."""
        _TURN.pack_into(self._memory, 0, time.monotonic())

    def code_runs(self, row: int, stage: Stage) -> None:
        """Notes that code of a rollout at this stage is called next.

        Every turn of every rollout does this, so it takes little time.
        """
        if not self._is_in_call:  # which is known better
            _CALL.pack_into(self._memory, _CALL_AT, row, _NUMBER_AT[stage], 0)

    def runs(self, row: int, error_class: str, what: str) -> None:
        """Notes that this thread begins a call of this rollout's code."""
        if threading.current_thread() is threading.main_thread():
            self._is_in_call = True
        else:
            self._threads.add(threading.get_ident())
        name = what.encode("utf-8", "replace")[:_LONGEST_NAME]
        _CALL.pack_into(self._memory, _CALL_AT, row, _NUMBERS[error_class], len(name))
        self._memory[_CELL.size : _CELL.size + len(name)] = name
        self._write_in_calls()

    def waits(self) -> None:
        """Notes that this call has ended."""
        if threading.current_thread() is threading.main_thread():
            self._is_in_call = False
        else:
            self._threads.discard(threading.get_ident())
        self._write_in_calls()

    def _write_in_calls(self) -> None:
        _IN_CALLS.pack_into(self._memory, _IN_CALLS_AT, self._is_in_call, len(self._threads))

    def still_for(self) -> float:
        """Seconds since the last turn of the loop."""
        return time.monotonic() - float(_TURN.unpack_from(self._memory, 0)[0])

    def last_called(self) -> LastCall:
        """The code that was called last."""
        _, row, kind, length, here, threads = _CELL.unpack_from(self._memory, 0)
        name = self._memory[_CELL.size : _CELL.size + length].decode("utf-8", "replace")
        return LastCall(row, _CLASSES[kind], name, bool(here) and not threads)

    def close(self) -> None:
        """Releases the memory."""
        self._memory.close()
        os.close(self._fd)
