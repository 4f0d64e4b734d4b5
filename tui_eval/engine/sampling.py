"""How the engine itself is doing: CPU, loop lag and memory, told now and then."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tui_eval import clock
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import EngineSampled

TICK_S = 0.05
EVERY_TICKS = 10
EVERY_ROLLOUTS = 500


async def sample_engine(
    hub: Hub, finished_by_now: Callable[[], int], others: Callable[[], Iterable[Hub]] = tuple
) -> None:
    """Reports a sample every half second, and every 500 finished rollouts.

    Args:
        finished_by_now: Rollouts of the whole engine.
        others: Hubs that get the same.
    """
    loop = asyncio.get_running_loop()
    lag, ticks, told_at = 0.0, 0, 0
    while True:
        before = loop.time()
        await asyncio.sleep(TICK_S)
        lag = max(lag, loop.time() - before - TICK_S)
        ticks += 1
        finished = finished_by_now()
        if ticks >= EVERY_TICKS or finished - told_at >= EVERY_ROLLOUTS:
            told_at, ticks = finished, 0
            figures = (time.process_time(), lag * 1000, private_mb(), finished)
            for one in (hub, *others()):
                one.publish(EngineSampled(0, clock.now(), *figures))
            lag = 0.0


def private_mb() -> float:
    """Memory of this process that it shares with no other, in MB.

    Where there is no `/proc` it is the most that it has had, with what it shares.
    """
    try:
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
    except (OSError, ValueError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most * (1 if sys.platform == "darwin" else 1024) / 1e6
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE") / 1e6
