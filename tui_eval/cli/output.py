"""stdout and stderr as this program writes them: nothing that is printed can end it.

What the system refuses is lost, and so is all that comes after it. A reader that has gone, as in
`| head` or with the window of a terminal, is no fault. A full disk or a stdout that the caller
closed is one: the program says so and does not end with 0.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Outlet(io.FileIO):
    """A file descriptor that takes everything; `refusal` is why it took nothing more."""

    refusal: OSError | None = None

    def write(self, data: Buffer) -> int:
        """Writes what the descriptor takes, and drops the rest where it takes nothing more."""
        while self.refusal is None:
            try:
                written = super().write(data)
            except OSError as error:
                self.refusal = error
                break
            if written is not None:
                return written
            select.select([], [self], [])  # somebody made the terminal non-blocking
        return memoryview(data).nbytes


def ready_streams() -> None:
    """Gives stdin, stdout and stderr their streams, also those that the caller closed.

    What they cannot encode is replaced. A stdout that was closed refuses what is printed on it.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    sys.stdout = _writer(sys.stdout, os.O_RDONLY)
    sys.stderr = _writer(sys.stderr, os.O_WRONLY)


def _writer(stream: TextIO | None, instead: int) -> TextIO:
    """A stream that never raises in place of one.

    Args:
        instead: How /dev/null is opened where there is no stream.
    """
    outlet = Outlet(os.open(os.devnull, instead) if stream is None else stream.fileno(), "w", False)
    text = stream if isinstance(stream, io.TextIOWrapper) else None
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding=text.encoding if text else "utf-8",
        errors="replace",
        line_buffering=text is not None and text.line_buffering,
        write_through=text is not None and text.write_through,
    )


def is_gone() -> bool:
    """Whether stdout takes nothing any more."""
    return _refusal() is not None


def _refusal() -> OSError | None:
    outlet = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return outlet.refusal if isinstance(outlet, Outlet) else None


def _is_hung_up(refusal: OSError) -> bool:
    """Whether stdout is a terminal that has gone."""
    is_device = stat.S_ISCHR(os.fstat(sys.stdout.fileno()).st_mode)
    return is_device and refusal.errno == errno.EIO


def last_code(code: int) -> int:
    """The exit code of a command that has printed everything: 1 where stdout refused some of it."""
    sys.stdout.flush()
    refusal = _refusal()
    if refusal is None or isinstance(refusal, BrokenPipeError) or _is_hung_up(refusal):
        return code
    print(f"error: stdout cannot be written: {refusal.strerror}", file=sys.stderr, flush=True)
    return 1
