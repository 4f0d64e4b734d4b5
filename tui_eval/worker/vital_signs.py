"""What an engine sees of a worker without its help: whether it still moves, and whose code it runs.

A worker whose interpreter is held answers nothing. It writes two numbers into memory that both
processes share: at every turn of its loop the time, and before it calls people's code the rollout.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import re
import signal
import struct
import tempfile
import time

_CELL = struct.Struct("=dqq")
"""The loop's last turn in monotonic seconds, the row whose code was called last, and its stage."""
_WITHOUT_COMMA = re.compile(r"line (\d+) in ")
NOBODY = -1


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

    @staticmethod
    def make_file() -> int:
        """A descriptor of new memory to share; the worker inherits it.

        Raises:
            OSError: There is none.
        """
        with tempfile.TemporaryFile() as file:
            file.truncate(VitalSigns.BYTES)
            os.pwrite(file.fileno(), _CELL.pack(time.monotonic(), NOBODY, 0), 0)
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

    def calls(self, row: int, stage: int) -> None:
        """Code of this rollout is called next, at this stage."""
        struct.pack_into("=qq", self._memory, 8, row, stage)

    def still_for(self) -> float:
        """For how many seconds the loop has not come round."""
        return time.monotonic() - float(_CELL.unpack_from(self._memory, 0)[0])

    def last_called(self) -> tuple[int, int]:
        """The row whose code was called last, or `NOBODY`, and the stage at which it was."""
        return _CELL.unpack_from(self._memory, 0)[1:]

    def close(self) -> None:
        """Lets the memory go."""
        self._memory.close()
        os.close(self._fd)
