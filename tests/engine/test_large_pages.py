"""Large pages: what a busy process has allocated is moved into them, where the system has some."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tui_eval.worker.memory import allocated

MAPS = """\
00400000-00c00000 r-xp 00000000 fd:00 173521                             /usr/bin/python3
00c00000-01000000 rw-p 00800000 fd:00 173521                             /usr/bin/python3
01100000-01900000 rw-p 00000000 00:00 0                                  [heap]
7f0000000000-7f0000001000 ---p 00000000 00:00 0
7f0000001000-7f0000801000 rw-p 00000000 00:00 0
7f0001100000-7f0001700000 rw-p 00000000 00:00 0
7f0002000000-7f0002100000 rw-p 00000000 00:00 0
7f0004000000-7f0004400000 rw-s 00000000 00:01 1027                       /memfd:signs (deleted)
7ffe00000000-7ffe00800000 rw-p 00000000 00:00 0                          [stack]
"""
"""A heap, a thread's stack behind its guard, objects, what has room for no page, and the rest."""
BUSY = """
import time
from pathlib import Path
from tui_eval.worker.memory import tune_memory

def large_kb():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages:"))

tune_memory()
kept = [str(number) for number in range(600_000)]
before, deadline = large_kb(), time.monotonic() + 30
while not large_kb() and time.monotonic() < deadline:
    sum(map(len, kept))
print(before, large_kb(), kept == [str(number) for number in range(600_000)])
"""


def moves_memory() -> bool:
    """Whether this system moves memory into large pages on request, and only then.

    Where it always does, the pages would not show that anybody requested them.
    """
    try:
        allowed = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
        release = Path("/proc/sys/kernel/osrelease").read_text().split(".")
    except OSError:
        return False
    return "[madvise]" in allowed and (int(release[0]), int(release[1])) >= (6, 1)


def test_pages_are_found_in_what_is_allocated_and_in_no_stack() -> None:
    found = [(f"{begin:x}", f"{end:x}") for begin, end in allocated(MAPS.splitlines())]
    assert found == [("1200000", "1800000"), ("7f0001200000", "7f0001600000")]


@pytest.mark.process
@pytest.mark.skipif(not moves_memory(), reason="the system moves no memory on request")
def test_a_busy_process_has_large_pages() -> None:
    done = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    before, after, is_whole = done.stdout.split()
    assert (before, is_whole) == ("0", "True")
    assert int(after) > 0
