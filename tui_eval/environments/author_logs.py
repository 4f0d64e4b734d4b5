"""Routes the log records of this library in a program of an author's own."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

from tui_eval.environments.outputs import print_prompt_completions_sample
from tui_eval.errors import nearest

__all__ = ["log_level", "print_prompt_completions_sample", "quiet_verifiers", "setup_logging"]

Level: TypeAlias = str | int

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LEVEL_VARIABLE = "VF_LOG_LEVEL"
_FORMAT = "%(asctime)s - %(name)s - %(levelname)s - %(message)s"
_DATES = "%Y-%m-%d %H:%M:%S"


class StandardError(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what `sys.stderr` is at the moment of writing."""

    @property
    def stream(self) -> object:
        return sys.stderr

    @stream.setter
    def stream(self, value: object) -> None: ...


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "timestamp": self.formatTime(record, self.datefmt),
            "level": record.levelname,
            "name": record.name,
            "message": record.getMessage(),
            "module": record.module,
            "function": record.funcName,
            "line": record.lineno,
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


class _Default(str):
    """The level where a caller names none."""

    __slots__ = ()


_DEFAULT = _Default("INFO")
# Authors write to loggers below `verifiers`, as that library does.
_loggers = [logging.getLogger(name) for name in ("tui_eval", "verifiers")]
_lock = threading.RLock()
_installed: list[logging.Handler] = []  # by setup_logging
_requested: list[list[int]] = []  # levels that `log_level` requests now, each in a box of its own
_before: list[tuple[logging.Logger | logging.Handler, int]] = []  # the levels before the first
_variable_heeded = False


def setup_logging(
    level: Level | None = _DEFAULT,
    log_format: str | None = None,
    date_format: str | None = None,
    log_file: str | Path | None = None,
    log_file_level: Level | None = None,
    json_logging: bool = False,
) -> None:
    """Sends the records of the loggers `tui_eval` and `verifiers` to standard error only.

    Calling it again replaces what it did before. Within a run of the program `tui-eval`, records
    go to engine.log at the level that its command line sets, and only `log_file` is heeded.

    Args:
        level: From which level on: a name or a number; None for silence. By default what the
            environment variable `VF_LOG_LEVEL` says, and INFO without it.
        log_format, date_format: As `logging.Formatter` takes them.
        log_file: A file to append to as well.
        log_file_level: From which level on the file gets records; `level` by default.
        json_logging: Writes a JSON object a line instead: timestamp, level, name, message, where
            it was logged (module, function, line), and exception where there is one.

    Raises:
        ValueError: There is no such level.
        OSError: The file cannot be opened.
    """
    source = "level"
    if isinstance(level, _Default) and (wanted := os.environ.get(_LEVEL_VARIABLE)):
        source, level = _LEVEL_VARIABLE, wanted
    chosen = logging.CRITICAL + 1 if level is None else _number(level, source)
    formatter: logging.Formatter = logging.Formatter(log_format or _FORMAT, date_format or _DATES)
    if json_logging:
        formatter = JsonFormatter(datefmt=date_format)
    handlers: list[logging.Handler] = []
    if log_file is not None:
        file_level = chosen if log_file_level is None else _number(log_file_level, "log_file_level")
        handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
        handlers[0].setLevel(file_level)
    in_a_run = _is_in_a_run()
    if not in_a_run:
        screen = logging.NullHandler() if level is None else StandardError()
        screen.setLevel(chosen)
        handlers.append(screen)
    with _lock:
        _remove_installed()
        for handler in handlers:
            handler.setFormatter(formatter)
            _installed.append(handler)
        for logger in _loggers:
            for handler in handlers:
                logger.addHandler(handler)
            if not in_a_run:
                logger.propagate = False
                logger.setLevel(min(handler.level for handler in handlers))
        if _requested:
            _remember_levels()
            _set_levels()


def apply_log_level_variable() -> None:
    """Calls `setup_logging` once if `VF_LOG_LEVEL` is set and nobody has called it yet.

    The first environment that is made does this: importing the library sets up nothing.
    """
    global _variable_heeded
    if _variable_heeded:
        return
    _variable_heeded = True
    if os.environ.get(_LEVEL_VARIABLE) and not _installed and not _is_in_a_run():
        setup_logging()


def hand_over() -> None:
    """Gives the records back to the handlers of the root logger, but for an author's file."""
    with _lock:
        given_back = [one for one in _installed if not isinstance(one, logging.FileHandler)]
        _installed[:] = [one for one in _installed if one not in given_back]
        for logger in _loggers:
            for handler in given_back:
                logger.removeHandler(handler)
            logger.propagate = True


@contextmanager
def log_level(level: Level) -> Iterator[None]:
    """Within the block, only records from this level on are logged.

    Blocks may be nested, and may overlap in tasks or threads: the one that began last decides.
    The level is the process's, not the task's; afterwards it is as it was.

    Args:
        level: A name or a number.

    Raises:
        ValueError: There is no such level.
    """
    box = [_number(level)]
    with _lock:
        if not _requested:
            _remember_levels()
        _requested.append(box)
        _set_levels()
    try:
        yield
    finally:
        with _lock:
            _requested[:] = [other for other in _requested if other is not box]
            _set_levels()


def quiet_verifiers() -> AbstractContextManager[None]:
    """Within the block, only warnings and errors are logged."""
    return log_level(logging.WARNING)


def _remember_levels() -> None:
    screens = [(one, one.level) for one in _installed if isinstance(one, StandardError)]
    _before[:] = [*((one, one.level) for one in _loggers), *screens]


def _set_levels() -> None:
    for one, before in _before:
        one.setLevel(_requested[-1][0] if _requested else before)


def _remove_installed() -> None:
    while _installed:
        handler = _installed.pop()
        for logger in _loggers:
            logger.removeHandler(handler)
        handler.close()


def _is_in_a_run() -> bool:
    """Whether the root logger writes engine.log."""
    return any(isinstance(handler, StandardError) for handler in logging.getLogger().handlers)


def _number(level: Level, source: str = "level") -> int:
    if isinstance(level, int):
        return level
    number = logging.getLevelNamesMapping().get(level.strip().upper())
    if number is None:
        hint = nearest(level.upper(), _LEVELS) or f"The levels are: {', '.join(_LEVELS)}"
        raise ValueError(f"{source}: there is no log level {level!r}. {hint}")
    return number
