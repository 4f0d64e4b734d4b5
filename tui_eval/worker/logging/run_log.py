"""engine.log: all output of the engine and of people's code, without secrets."""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tui_eval.environments.author_logs import StandardError, hand_over
from tui_eval.errors import is_ours
from tui_eval.fold.error_place import is_peoples
from tui_eval.observer import CURRENT
from tui_eval.runs.redaction import Redactor
from tui_eval.worker.logging.output_stamps import redact_so_far, stamp, stamped

_OURS = tuple(map(logging.getLogger, ("tui_eval", "verifiers")))
"""Authors write to loggers below `verifiers`, as that library does."""
_TALKATIVE = ("anthropic", "asyncio", "httpcore", "httpx", "openai")
"""Loggers of libraries that make records for every request, and are limited to warnings."""
_OF_ROLLOUTS = "tui_eval.rollout"
"""Logger whose records have the rollout as their first argument."""
_LINE = re.compile(rb"^(?=[^\n])", re.MULTILINE)
_ENDS_WITHIN_S = 1.0
"""Seconds that the end of a log waits for a thread that prints."""


class LogLines:
    """Lines appended to a log. Several rollouts may print at once, in pieces.

    A secret may be printed in pieces, too: the end of what a rollout printed is held back while it
    is the begin of one, and all else is appended at once.
    """

    def __init__(self, put: Callable[[bytes], object]) -> None:
        self._put = put
        self._lock = threading.RLock()
        self._missing, self._why = 0, ""
        self._is_within = False
        self._whose: int | None = None
        """The rollout of the last line, where that has not ended."""
        self._cut: set[int | None] = set()
        """Rollouts whose last line another one ended: the end that they print is late."""
        self._held: dict[int | None, tuple[bytes, Redactor]] = {}
        """Ends of output that are held back, shorter than a secret each, by rollout."""

    def print(self, data: bytes, row: int | None, redact: Redactor) -> None:
        """Appends output without secrets; it may be part of a line.

        Args:
            row: Of the rollout that printed it; None for others.
        """
        with self._lock:
            if row in self._held:
                data = self._held.pop(row)[0] + data
            clean, rest = redact_so_far(data, redact.secrets)
            if rest:
                self._held[row] = rest, redact
            if clean:
                self._print(clean, row)

    def _print(self, data: bytes, row: int | None) -> None:
        begun = b""
        if self._is_within and row != self._whose:
            self._cut.add(self._whose)
            self._is_within, begun = False, b"\n"
        if row in self._cut:
            self._cut.discard(row)
            data = data.removeprefix(b"\n")
        if self._is_within:
            begun, end, data = data.partition(b"\n")
            begun += end
            self._is_within = not end
        if data:
            self._is_within, self._whose = not data.endswith(b"\n"), row
            data = _LINE.sub(stamp(place(row)), data)
        self._append(begun + data)

    def log(self, record: bytes) -> None:
        """Appends whole lines as they are."""
        with self._lock:
            self._append(b"\n" + record if self._is_within else record)
            self._is_within = False

    def end(self) -> None:
        """Appends what is held back, and ends the last line; a log that is stuck stays as it is."""
        if not self._lock.acquire(timeout=_ENDS_WITHIN_S):
            return
        try:
            held, self._held = self._held, {}
            for row, (rest, redact) in held.items():
                self._print(redact(rest), row)
            if self._is_within:
                self.log(b"")
        finally:
            self._lock.release()

    def _append(self, data: bytes) -> None:
        """Appends; data that the disk refuses is lost, without an error."""
        missing = b""
        if self._missing:
            text = f"{self._missing:,} bytes could not be written here: {self._why}\n"
            missing = b"\n" + stamp() + text.encode()
        try:
            self._put(missing + data)
            self._missing = 0
        except OSError as error:
            self._missing += len(data)
            self._why = error.strerror or str(error)


def place(row: int | None) -> str:
    """The name of a rollout in a line of the log, by its row."""
    return "" if row is None else f"[{row}]"


class _Bytes(io.RawIOBase):
    """The byte stream below the standard output of people's code."""

    name = "<engine.log>"

    def __init__(self, fd: int, redact: Redactor, lines: Callable[[], LogLines]) -> None:
        self._fd = fd
        self.redact = redact
        self._lines = lines

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, data: Any) -> int:
        observer, printed, redact = CURRENT.get(), bytes(data), self.redact
        observer.printed(printed.decode("utf-8", "replace"), redact.text)
        self._lines().print(printed, observer.row, redact)
        return len(data)

    def log(self, record: bytes) -> None:
        self._lines().log(self.redact(record))


class _Log:
    """The file of this process's own lines; standard error before there is one."""

    fd = 2

    def take(self, fd: int) -> None:
        """Sets the file."""
        if self.fd != 2:
            os.close(self.fd)
        self.fd = fd

    def write(self, data: bytes) -> None:
        os.write(self.fd, data)


_LOG = _Log()
_LINES = LogLines(_LOG.write)
end_output = _LINES.end
"""Writes the last of this process's own lines; what ends it without `atexit` calls it."""
atexit.register(end_output)


class _Output(io.TextIOWrapper):
    """The standard output of people's code, which goes to the log."""

    def __init__(self, fd: int, redact: Redactor) -> None:
        self._bytes = _Bytes(fd, redact, self.lines)
        super().__init__(self._bytes, "utf-8", "backslashreplace", "\n", write_through=True)

    def lines(self) -> LogLines:
        """The log that it goes to now."""
        return _LINES

    def close(self) -> None:
        """Does nothing: one rollout would close it for all others."""

    def redact(self, redact: Redactor) -> None:
        """Sets the secrets to take out."""
        self._bytes.redact = redact

    @property
    def redactor(self) -> Redactor:
        """The function that takes secrets out."""
        return self._bytes.redact

    def log(self, record: str) -> None:
        """Appends a record of a logger, of whole lines."""
        self._bytes.log(record.encode("utf-8", "backslashreplace"))


class _Records(StandardError):
    """Records of loggers, which have their own time."""

    def emit(self, record: logging.LogRecord) -> None:
        observer = CURRENT.get()
        record.place = place(_row_of(record, observer.row))
        if observer.row is not None and not is_ours(record.pathname):
            observer.printed(f"{_KEPT.format(record)}\n", _early().redactor.text)
        output = sys.stderr
        if not isinstance(output, _Output):
            super().emit(record)
            return
        try:
            output.log(self.format(record) + self.terminator)
        except Exception:
            self.handleError(record)


_KEPT = logging.Formatter("%(levelname)s %(name)s: %(message)s")
"""Format of a record in the output of a call."""


def _row_of(record: logging.LogRecord, row: int | None) -> int | None:
    """The row of a record's rollout, or else of the one that runs here."""
    of_rollouts = record.name == _OF_ROLLOUTS and isinstance(record.args, tuple) and record.args
    return getattr(of_rollouts[0], "row", row) if of_rollouts else row


class RunLog:
    """engine.log of one of several runs in a process; lines before it has a path are kept.

    Args:
        verbose: Whether it gets records below INFO.
    """

    def __init__(self, verbose: bool = False) -> None:
        self.verbose = verbose
        self.lines = LogLines(self._write)
        self.is_closed = False
        self._fd = -1
        self._early: list[bytes] = []

    def open(self, path: Path) -> None:
        """Opens the log at this path.

        Raises:
            OSError: It cannot be written.
        """
        before = self._fd
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if before >= 0:
            os.close(before)
        self._flush(self._fd)

    def close(self) -> None:
        """Closes the log: later output goes to the process's standard error."""
        self.lines.end()
        self.is_closed = True
        if self._fd >= 0:
            os.close(self._fd)
        else:
            self._flush(2)

    def _write(self, data: bytes) -> None:
        if self._fd < 0:
            self._early.append(data)
        else:
            os.write(self._fd, data)

    def _flush(self, fd: int) -> None:
        early, self._early = self._early, []
        os.write(fd, b"".join(early))


CURRENT_LOG: ContextVar[RunLog | None] = ContextVar("log", default=None)
"""The log of a task's or thread's run, where one process has several."""


class _ManyOutputs(_Output):
    """The standard output of people's code, which goes to the log of its run."""

    def lines(self) -> LogLines:
        log = CURRENT_LOG.get()
        return super().lines() if log is None or log.is_closed else log.lines


def print_to_logs(redact: Redactor) -> None:
    """Sends output of Python code to `CURRENT_LOG` from now on, and else to standard error."""
    sys.stdout.flush()
    sys.stderr.flush()
    _early().redact(redact)
    sys.stdout = sys.stderr = _ManyOutputs(2, redact)


@contextlib.contextmanager
def early_output() -> Iterator[None]:
    """Gives output of Python code its time within the block, before there is a log."""
    output = _early()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        yield


@functools.cache
def _early() -> _Output:
    """The output before there is a log; handlers made at imports keep it for good."""
    return _Output(2, Redactor())


def print_to_log(path: Path, redact: Redactor, engine: int | None = None) -> None:
    """Sends this process's standard output and error to the end of a file from now on.

    The contents of their previous file are put in front.

    Args:
        engine: See `stamped`.
    """
    take_output(path, redact, engine)
    _early().redact(redact)
    sys.stdout = sys.stderr = _Output(1, redact)


def take_output(path: Path, redact: Redactor, engine: int | None = None) -> None:
    """Does as `print_to_log` for output of other programs and of libraries in C."""
    sys.stdout.flush()
    sys.stderr.flush()
    end_output()
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.write(fd, redact(_output_so_far()))
    pipe = stamped(fd, redact.secrets, engine)
    for output in (1, 2):
        os.dup2(fd if pipe is None else pipe, output)
    if pipe is not None:
        os.close(pipe)
    _LOG.take(fd)


def _output_so_far() -> bytes:
    try:
        size = os.fstat(2).st_size
        return os.pread(2, size, 0) if size else b""
    except OSError:
        return b""


def set_up_logging(verbose: bool, env_ids: Collection[str] = ("",)) -> None:
    """Sends the records of all loggers to standard error: of our and people's code from INFO on,
    or from DEBUG on if verbose; of libraries from WARNING on.

    Args:
        verbose: Where a process has several runs: whether any of them is.
        env_ids: Environments, which may be installed as libraries are.
    """
    handler = _Records()
    handler.addFilter(functools.partial(_is_wanted, env_ids=env_ids))
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s%(place)s: %(message)s")
    )
    level = logging.DEBUG if verbose else logging.INFO
    logging.basicConfig(level=level, handlers=[handler], force=True)
    hand_over()
    for logger in _OURS:
        logger.setLevel(level)
    for logger in map(logging.getLogger, _TALKATIVE):
        logger.setLevel(logger.level or logging.WARNING)


def _is_wanted(record: logging.LogRecord, env_ids: Collection[str]) -> bool:
    """Whether a record is to be logged by its run."""
    requested = logging.getLogger(record.name)
    while not requested.level and requested.parent is not None:
        requested = requested.parent
    is_level_ours = (
        requested in _OURS or requested is logging.root
    )  # else somebody chose this logger
    if record.levelno >= logging.WARNING or not is_level_ours:
        return True
    if requested is logging.root and not any(is_peoples(record.pathname, one) for one in env_ids):
        return False
    log = CURRENT_LOG.get()
    return log is None or log.verbose or record.levelno >= logging.INFO
