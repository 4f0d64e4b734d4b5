"""Wall time at 200 ms latency against a bare aiohttp loop, and the engine's memory meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from bench.driving import run_bare, run_headless
from bench.figure import Figure, number, spread
from bench.setting import Setting

ROLLOUTS = 10_000
LATENCY_MS = 200


def measure(setting: Setting) -> Iterator[Figure]:
    """10,000 rollouts, 256 in flight, saved."""
    rollouts = ROLLOUTS // 4 if setting.quick else ROLLOUTS
    url = setting.endpoint.url(LATENCY_MS)
    ours, bares, memory = [], [], []
    for _ in range(setting.repeats(3)):
        bares.append(run_bare(setting, "aiohttp", url, rollouts).wall)
        run = run_headless(setting, url, rollouts)
        ours.append(run.wall)
        memory.append(max(sample.memory_mb for sample in run.samples))
    ratios = [our / bare for our, bare in zip(ours, bares, strict=True)]
    yield Figure(
        f"wall of {rollouts:,} at 200 ms: engine / bare aiohttp",
        median(ratios),
        1.3,
        "x",
        f"of {len(ratios)}: {spread(ratios)}; s: engine {number(median(ours))}, bare "
        f"{number(median(bares))}, ideal {rollouts / 256 * LATENCY_MS / 1000:.1f}",
    )
    yield Figure("private memory of the engine, most", max(memory), 150, " MB")
