"""The memory of a process that runs rollouts for hours: few garbage collections, large pages."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

COLLECTED_AFTER = 100_000
"""New objects between two garbage collections; rollouts that begin at once make fewer."""
PAGE_BYTES = 2 << 20
BUSY_S = 0.5
"""CPU seconds of the process before its memory is moved, which takes up to 0.2."""
LOOKS_EVERY_S = 0.5
"""Between two looks at how large the process is, in a thread that lives as long as it does."""
GROWN_BYTES = 8 << 20
"""Growth by rollouts in flight after which memory is moved, and moved again."""
_GIVE, _MOVE = 14, 25
"""`MADV_HUGEPAGE` and `MADV_COLLAPSE` of Linux."""
_ALLOWED = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def tune_memory() -> None:
    """Makes the process spend less time on its memory; called once everything is loaded."""
    _collect_seldom()
    _use_large_pages()


def _collect_seldom() -> None:
    """Freezes the objects that stay to the end, and makes garbage collections rarer.

    Looking through modules and dataset in every full collection takes a quarter of the engine's
    CPU time, and a tenth of a second each time; Python's usual seven hundred new objects between
    collections are what one rollout makes, and take another tenth. Until now there were none:
    what is loaded stays.
    """
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER)
    gc.enable()


@cache
def _use_large_pages() -> None:
    """Starts a thread that moves memory into pages of 2 MB, once the process is large and busy.

    After a rollout has waited for its model the processor's caches hold nothing of it, and with
    pages of 4 KB not even its addresses: looking those up takes 6 % of the CPU time of an engine
    and its workers in a virtual machine. Nothing happens where the system has no such pages, or
    its administrator allows none.
    """
    with contextlib.suppress(OSError):
        if sys.platform == "linux" and "[never]" not in _ALLOWED.read_text():
            threading.Thread(target=_move_as_it_grows, name="large-pages", daemon=True).start()


def _move_as_it_grows() -> None:
    began = time.process_time()
    with contextlib.suppress(OSError, ImportError):  # it works without: some Pythons lack ctypes
        moved = _resident_bytes()  # few rollouts fit into the caches as they are
        while True:
            time.sleep(LOOKS_EVERY_S)
            resident = _resident_bytes()
            if time.process_time() - began > BUSY_S and resident > moved + GROWN_BYTES:
                moved = resident
                move_to_large_pages()


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def move_to_large_pages() -> None:
    """Moves allocated memory; it stays where the system has no free page.

    Memory allocated there later gets large pages at once. Moving is new in Linux 6.1.

    Raises:
        OSError: The process cannot see its memory.
        ImportError: This Python has no ctypes.
    """
    import ctypes

    advise = ctypes.CDLL(None).madvise
    advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    for begin, end in allocated(Path("/proc/self/maps").read_text().splitlines()):
        advise(begin, end - begin, _GIVE)
        for page in range(begin, end, PAGE_BYTES):
            advise(page, PAGE_BYTES, _MOVE)


def allocated(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Address ranges of allocated memory that pages of 2 MB fit into, without threads' stacks.

    Args:
        maps: Lines of `/proc/PID/maps`.

    Returns:
        First address, and the one behind the last, of each range.
    """
    behind_guard = 0
    for line in maps:
        place, access, _, _, inode, *name = line.split(maxsplit=5)
        begin, end = (int(one, 16) for one in place.split("-"))
        is_memory = access == "rw-p" and inode == "0" and name in ([], ["[heap]"])
        if is_memory and begin != behind_guard:  # a stack is large, and hardly used
            begin = -(-begin // PAGE_BYTES) * PAGE_BYTES
            end = end // PAGE_BYTES * PAGE_BYTES
            if begin < end:
                yield begin, end
        behind_guard = end if access == "---p" else 0
