"""One opening of a results file in a process of its own, as a screen does it.

python -m bench.opened_run RESULTS [typed] prints JSON: what it cost. With `typed` it is the bare
typed pass that openings are compared with.
"""

from __future__ import annotations

import asyncio
import json
import mmap
import sys
import threading
import time
from array import array
from pathlib import Path
from typing import Any

import msgspec

TICK_S = 1 / 12
"""Seconds between two looks of a screen for events."""
LAG_EVERY_S = 0.02
ROLLOUTS = 60


class Timing(msgspec.Struct, gc=False):
    """Durations of a row."""

    generation_ms: float = 0.0
    total_ms: float = 0.0


class Row(msgspec.Struct, gc=False):
    """Fields of a row that a list shows, without its conversation."""

    example_id: int
    reward: float
    metrics: dict[str, float]
    error: Any = None
    stop_condition: str | None = None
    timing: Timing | None = None


def typed_pass(path: Path) -> dict[str, float]:
    """Decodes every line of the mapped file, and nothing else."""
    decode = msgspec.json.Decoder(Row).decode
    before, rows, at = time.process_time(), 0, 0
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        view = memoryview(mapped)
        while (end := mapped.find(b"\n", at)) >= 0:
            decode(view[at:end])
            at, rows = end + 1, rows + 1
    return {"cpu_s": time.process_time() - before, "rows": rows}


def private_mb() -> float:
    """Memory that is this process' own."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def thread_cpu_s(name: str) -> float:
    """CPU time of a thread of this process, as Linux counts it in nanoseconds."""
    number = next(one.native_id for one in threading.enumerate() if one.name == name)
    return int(Path(f"/proc/self/task/{number}/schedstat").read_text().split()[0]) / 1e9


async def opening(path: Path) -> dict[str, float]:
    """Opens the file through the feed, drains it tick by tick, and reads single rollouts."""
    from tui_eval.events import ReadingMoved, RolloutFinished
    from tui_eval.feeds.saved_feed import SavedFeed
    from tui_eval.runs.saved_run import find_run

    found: dict[str, float] = {"rows": 0, "private_mb": 0.0, "longest_lag_ms": 0.0}
    places = array("q")
    ticks = 0
    began, cpu = time.perf_counter(), time.process_time()
    feed = SavedFeed(find_run(path))
    await feed.start()
    watch = asyncio.create_task(_watch(found))
    over = False
    while not over:
        while events := feed.drain(500):
            for event in events:
                if isinstance(event, RolloutFinished):
                    found.setdefault("first_s", time.perf_counter() - began)
                    places.extend((event.row, event.offset, event.length))
                elif isinstance(event, ReadingMoved):
                    over = event.done >= event.total
        ticks += 1
        if ticks % 8 == 0:
            found["private_mb"] = max(found["private_mb"], private_mb())
        if not over:
            await asyncio.sleep(TICK_S)
    found["cpu_s"], found["whole_s"] = time.process_time() - cpu, time.perf_counter() - began
    found["reader_cpu_s"] = thread_cpu_s("saved run")
    found["private_mb"] = max(found["private_mb"], private_mb())
    watch.cancel()
    read = [(places[i], places[i + 1], places[i + 2]) for i in range(0, len(places), 3)]
    found["rows"] = len(read)
    found |= _reading(feed, read)
    await feed.close()
    return found


async def _watch(found: dict[str, float]) -> None:
    while True:
        due = time.perf_counter() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        lag = (time.perf_counter() - due) * 1000
        found["longest_lag_ms"] = max(found["longest_lag_ms"], lag)


def _reading(feed: Any, places: list[tuple[int, int, int]]) -> dict[str, float]:
    """Milliseconds of the slowest of some rollouts, and of the longest one there is."""

    def read(place: tuple[int, int, int]) -> float:
        began = time.perf_counter()
        feed.saved(*place).entries()
        return (time.perf_counter() - began) * 1000

    longest = max(places, key=lambda place: place[2])
    some = [place for place in places[:: max(len(places) // ROLLOUTS, 1)] if place != longest]
    return {
        "next_ms": max(map(read, some)),
        "longest_ms": read(longest),
        "longest_mb": longest[2] / 1e6,
    }


def main() -> None:
    """Prints what was measured."""
    path = Path(sys.argv[1])
    print(json.dumps(typed_pass(path) if "typed" in sys.argv[2:] else asyncio.run(opening(path))))


if __name__ == "__main__":
    main()
