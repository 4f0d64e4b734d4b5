"""What an engine sees of a worker without its help: whether it still moves, and whose code it runs.

A worker whose interpreter is held answers nothing. It writes two numbers into memory that both
processes share: at every turn of its loop the time, and before it calls people's code the rollout.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time

_CELL = struct.Struct("=dqq")
"""The loop's last turn in monotonic seconds, the row whose code was called last, and its stage."""
NOBODY = -1


class VitalSigns:
    """The shared memory, at either end.

    Args:
        fd: Of a file of `BYTES`.
    """

    BYTES = mmap.PAGESIZE

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, self.BYTES)

    @staticmethod
    def make_file() -> int:
        """A descriptor of new memory to share; the worker inherits it.

        Raises:
            OSError: There is none.
        """
        with tempfile.TemporaryFile() as file:
            file.truncate(VitalSigns.BYTES)
            os.pwrite(file.fileno(), _CELL.pack(time.monotonic(), NOBODY, 0), 0)
            return os.dup(file.fileno())

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
