"""Runs the screen on a terminal and notes, from outside, what it shows and when."""

from __future__ import annotations

import bisect
import json
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.driving import command_line
from bench.figure import NotMeasuredError
from bench.setting import Setting
from bench.terminal import Terminal
from tui_eval.events import RolloutFinished
from tui_eval.runs.index import IndexReader
from tui_eval.runs.layout import RunDir

QUIT = b"\x11"
ENDS_WITHIN_S = 300.0
POLL_INTERVAL_S = 0.25


@dataclass(frozen=True, slots=True)
class RunSession:
    """Record of one run on the screen.

    Args:
        rows: The finished rows.
        lags_ms: By how much a 5 ms timer on the screen's loop was late, while rollouts ran and
            until the key to leave was pressed.
        shown_after_ms: For each finished row, from its event to the count on the terminal.
        memory_mb: Private memory of the screen, at most.
        cpu_share: CPU seconds of the screen a second, while rollouts ran.
        left_after_s: From the key to leave to the end of the process.
    """

    rows: list[RolloutFinished]
    lags_ms: list[float]
    shown_after_ms: list[float]
    memory_mb: float
    cpu_share: float
    left_after_s: float


class Counts:
    """The count of finished rollouts as it changes on the terminal."""

    def __init__(self, total: int) -> None:
        self._pattern = re.compile(rf"([\d,]+)/{total:,}\b".encode())
        self._tail = b""
        self.changes: list[tuple[float, int]] = []

    def take(self, at: float, data: bytes) -> None:
        """Reads one piece of output; a number may be torn in two."""
        data = self._tail + data
        self._tail = data[-40:]
        found = [int(text.replace(b",", b"")) for text in self._pattern.findall(data)]
        if found and found[-1] > self.newest:
            self.changes.append((at, found[-1]))

    @property
    def newest(self) -> int:
        """The count as it stands."""
        return self.changes[-1][1] if self.changes else 0


def watch(
    setting: Setting, options: dict[str, str], total: int, leave_after_s: float | None = None
) -> RunSession:
    """Runs `tui-eval bench-math` on a terminal, to its end or for some seconds of rollouts.

    Raises:
        NotMeasuredError: The run did not come to where it should.
    """
    out = setting.new_path(".json")
    probe = [sys.executable, "-m", "bench.screen_probe", str(out), "bench-math"]
    counts = Counts(total)
    with Terminal(
        [*probe, *command_line(options)], setting.variables(), setting.folder, counts.take
    ) as end:
        memory = _Memory(end.process.pid)
        leave_at = None if leave_after_s is None else time.monotonic() + leave_after_s

        def done() -> bool:
            memory.look()
            if leave_at is not None:
                return time.monotonic() > leave_at
            return counts.newest >= total

        end.read_until(done, ENDS_WITHIN_S)
        memory.look(at_once=True)
        quit_at = time.time()
        end.type(QUIT)
        left_after_s = end.wait()
    notes = json.loads(out.read_text())
    rows = IndexReader(RunDir(Path(notes["path"])).index).read()
    if not rows or any(row.reward != 1.0 for row in rows):
        raise NotMeasuredError(f"{notes['path']}: {len(rows)} rows, not all of them right")
    began, ended = min(row.started_at for row in rows), max(row.at for row in rows)
    return RunSession(
        rows=rows,
        lags_ms=[
            lag
            for at, lag, _ in notes["lags"]
            # When the tick was due: a stall counts if it began before the key to leave. Textual
            # then waits up to 0.2 s on the loop for its key thread, which `left_after_s` has.
            if began <= at - lag / 1000 <= min(ended, quit_at)
        ],
        shown_after_ms=shown_after(sorted(row.at for row in rows), counts.changes),
        memory_mb=memory.most,
        cpu_share=cpu_share(notes["lags"], began, ended),
        left_after_s=left_after_s,
    )


def cpu_share(ticks: list[tuple[float, float, float]], began: float, ended: float) -> float:
    """CPU seconds a second between two moments, by the CPU clock read at each tick."""
    within = [(at, cpu) for at, _, cpu in ticks if began <= at <= ended]
    if len(within) < 2:
        raise NotMeasuredError("the screen's timer did not tick while rollouts ran")
    return (within[-1][1] - within[0][1]) / (within[-1][0] - within[0][0])


def shown_after(finished_at: list[float], changes: list[tuple[float, int]]) -> list[float]:
    """Milliseconds from each finished row to the first count on the terminal that has it."""
    shown_counts = [count for _, count in changes]
    passed = []
    for place, at in enumerate(finished_at, start=1):
        change = bisect.bisect_left(shown_counts, place)
        if change < len(changes):
            passed.append((changes[change][0] - at) * 1000)
    return passed


class _Memory:
    """The private memory of a process, looked at now and then."""

    def __init__(self, pid: int) -> None:
        self._statm = Path(f"/proc/{pid}/statm")
        self._looked_at = 0.0
        self.most = 0.0

    def look(self, at_once: bool = False) -> None:
        now = time.monotonic()
        if not at_once and now - self._looked_at < POLL_INTERVAL_S:
            return
        self._looked_at = now
        resident, shared = self._statm.read_text().split()[1:3]
        private = (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE") / 1e6
        self.most = max(self.most, private)
