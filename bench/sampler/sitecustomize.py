"""Samples what the engine and the workers of a run compute: once a millisecond of CPU time.

Python imports this at its start, where it is on the path: see `bench.journal`. What is counted is
in a file at every moment, as a worker does not end like other programs.
"""

import mmap
import os
import signal
import sys
from pathlib import Path
from types import FrameType

EVERY_S = 0.001
MODULES = {"tui_eval.engine", "tui_eval.worker"}
FILES = tuple(os.environ.get("SAMPLED_FILES", "").split(":"))
FOLDER = os.environ.get("SAMPLES_FOLDER", "")


def counts_in(path: Path) -> memoryview:
    """Two counters that are kept in a file."""
    path.write_bytes(bytes(16))
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 16)).cast("Q")


def begin(counts: memoryview) -> None:
    """Counts samples from now on, and those in which a function of the files is at work."""

    def sample(_: int, frame: FrameType | None) -> None:
        counts[0] += 1
        while frame is not None:
            if frame.f_code.co_filename.endswith(FILES):
                counts[1] += 1
                return
            frame = frame.f_back

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)


if FOLDER and MODULES & {*sys.orig_argv}:
    begin(counts_in(Path(FOLDER) / str(os.getpid())))
