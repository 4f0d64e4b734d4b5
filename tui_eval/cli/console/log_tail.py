"""Logs of runs on stderr as they are written, where that is requested."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

from tui_eval.cli.console.printing import print_stderr
from tui_eval.events import EvaluationMoved, Event, RunStarted
from tui_eval.fold.log_records import whole_lines
from tui_eval.runs.layout import RunDir
from tui_eval.runs.run_info import read_log, read_requested

MOST_AT_ONCE = 1 << 20
"""Bytes that are printed at once, so that signals and progress come in between."""


class RunLogs:
    """Prints the logs of this session's verbose runs.

    Args:
        verbose: All of them are; else those are whose plan says so.
    """

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._began = time.time()
        self._tails: dict[str, _Tail | None] = {}

    def handle(self, event: Event) -> None:
        """Takes in an event, which may be the begin or the end of a run."""
        if isinstance(event, RunStarted):
            self._follow(event.path, "", is_resumed=event.worked_ms > 0)
        elif isinstance(event, EvaluationMoved) and event.path:
            self._follow(event.path, f"[{event.index + 1}] ", is_resumed=event.finished > 0)

    def _follow(self, path: str, prefix: str, *, is_resumed: bool) -> None:
        run = RunDir(Path(path))
        if path not in self._tails:
            wanted = self._verbose or read_requested(run).get("verbose") is True
            since = self._began if is_resumed else None
            self._tails[path] = _Tail(run.log, prefix, since) if wanted else None

    def show(self) -> None:
        """Prints the lines added since the last call."""
        for tail in self._tails.values():
            if tail is not None:
                tail.show()

    def show_rest(self) -> None:
        """Prints the rest, once the log is complete."""
        for tail in self._tails.values():
            while tail is not None and tail.show(final=True):
                pass


class _Tail:
    """The lines of one log.

    Args:
        since: Unix seconds; earlier lines are left out. None for the whole log.
    """

    def __init__(self, path: Path, prefix: str, since: float | None) -> None:
        self._path = path
        self._prefix = prefix
        self._at = 0
        self._since = "" if since is None else _stamp(since)

    def show(self, *, final: bool = False) -> bool:
        """Prints whole lines, at most so many; returns whether there were any.

        Args:
            final: Nobody writes any more: a last line that was not ended is whole.
        """
        read, size = read_log(self._path, self._at, MOST_AT_ONCE)
        full = len(read) == MOST_AT_ONCE
        whole = whole_lines(read, full=full, final=final and self._at + len(read) == size)
        self._at += len(whole)
        lines = whole.decode("utf-8", "replace").splitlines()
        if self._since:
            lines = list(itertools.dropwhile(self._is_older, lines))
        if lines:
            self._since = ""
            print_stderr(self._prefix + line for line in lines)
        return bool(whole)

    def _is_older(self, line: str) -> bool:
        return not line[:4].isdigit() or line < self._since


def _stamp(at: float) -> str:
    """Begin of a log record of that time."""
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(at))},{int(at % 1 * 1000):03d}"
