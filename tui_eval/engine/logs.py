"""engine.log: everything the engine and people's code print, without secrets."""

from __future__ import annotations

import io
import logging
import os
import sys
from contextvars import ContextVar
from pathlib import Path

from tui_eval.environments.author_logs import StandardError, hand_over
from tui_eval.runs.redaction import Redactor


class _RedactedOutput(io.TextIOBase):
    """Standard output of people's code: a line at a time into the log."""

    def __init__(self, fd: int, redact: Redactor) -> None:
        self._fd = fd
        self._redact = redact

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, text: str) -> int:
        os.write(self._fd, self._redact(text.encode("utf-8", "backslashreplace")))
        return len(text)


class RunLog:
    """engine.log of one of several runs in a process; what comes before it has a path is kept.

    Args:
        verbose: Whether it gets our records below INFO.
    """

    def __init__(self, verbose: bool = False) -> None:
        self.verbose = verbose
        self._fd = -1
        self._early: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        """Appends to the log."""
        if self._fd < 0:
            self._early.append(data)
        else:
            os.write(self._fd, data)

    def open(self, path: Path) -> None:
        """From now on the log is this file.

        Raises:
            OSError: It cannot be written.
        """
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._flush(self._fd)

    def close(self) -> None:
        """The run is over: who still prints does so on the process's standard error."""
        self.is_closed = True
        if self._fd >= 0:
            os.close(self._fd)
        else:
            self._flush(2)

    def _flush(self, fd: int) -> None:
        early, self._early = self._early, []
        os.write(fd, b"".join(early))


CURRENT_LOG: ContextVar[RunLog | None] = ContextVar("log", default=None)
"""Where tasks and threads of a run print, where one process has several."""


class _ManyOutputs(_RedactedOutput):
    """Standard output of people's code, into the log of the run that it belongs to."""

    def write(self, text: str) -> int:
        log = CURRENT_LOG.get()
        if log is None or log.is_closed:
            return super().write(text)
        log.write(self._redact(text.encode("utf-8", "backslashreplace")))
        return len(text)


def print_to_logs(redact: Redactor) -> None:
    """From now on what Python code prints goes to `CURRENT_LOG`, and else to standard error."""
    sys.stdout.flush()
    sys.stderr.flush()
    sys.stdout = sys.stderr = _ManyOutputs(2, redact)


def print_to_log(path: Path, redact: Redactor) -> None:
    """From now on standard output and error of this process go to the end of a file.

    What went to the file they had before is put in front.
    """
    take_output(path, redact)
    sys.stdout = sys.stderr = _RedactedOutput(1, redact)


def take_output(path: Path, redact: Redactor) -> None:
    """As `print_to_log`, for what does not go through Python: other programs, libraries in C."""
    sys.stdout.flush()
    sys.stderr.flush()
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    os.write(fd, redact(_said_so_far()))
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


def _said_so_far() -> bytes:
    try:
        size = os.fstat(2).st_size
        return os.pread(2, size, 0) if size else b""
    except OSError:
        return b""


def set_up_logging(verbose: bool) -> None:
    """Sends the records of all loggers to standard error; ours from DEBUG on if verbose.

    Args:
        verbose: Where a process has several runs: whether any of them is.
    """
    handler = StandardError()
    handler.addFilter(_is_wanted)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    hand_over()
    logging.getLogger("tui_eval").setLevel(logging.DEBUG if verbose else logging.INFO)


def _is_wanted(record: logging.LogRecord) -> bool:
    """Whether the run that a record belongs to is to log it."""
    log = CURRENT_LOG.get()
    is_detail = record.levelno < logging.INFO and record.name.startswith("tui_eval.")
    return log is None or log.verbose or not is_detail
