"""CPU of late rollouts against early ones: the work a rollout is the same in a long run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from bench.driving import Sample, run_headless
from bench.figure import Figure, NotMeasuredError, number, spread
from bench.setting import Setting

ROLLOUTS = 22_000  # more than LATE needs: the engine reports its state once a second
EARLY, LATE = (1000, 2000), (19_000, 20_000)


def measure(setting: Setting) -> Iterator[Figure]:
    """One saved run a repeat; the engine's own samples, interpolated."""
    url = setting.endpoint.url()
    examples = f'{{"num_examples": {ROLLOUTS}}}'
    early, late = [], []
    for _ in range(setting.repeats(5, 2)):
        samples = run_headless(setting, url, ROLLOUTS, env_args=examples).samples
        early.append(cpu_between(samples, *EARLY))
        late.append(cpu_between(samples, *LATE))
    ratios = [after / before for after, before in zip(late, early, strict=True)]
    yield Figure(
        "CPU of rollouts 19,001 to 20,000 / of 1,001 to 2,000",
        median(ratios),
        1.2,
        "x",
        f"of {len(ratios)}: {spread(ratios)}; ms each: {number(median(early))}, then "
        f"{number(median(late))}",
    )


def cpu_between(samples: Sequence[Sample], first: int, last: int) -> float:
    """CPU milliseconds a rollout, from so many finished to so many."""
    used = cpu_at(samples, last) - cpu_at(samples, first)
    return 1000 * used / (last - first)


def cpu_at(samples: Sequence[Sample], finished: int) -> float:
    """CPU seconds when so many rollouts had finished, interpolated.

    Raises:
        NotMeasuredError: No two samples stand around that moment.
    """
    for before, after in pairwise(samples):
        if before.finished <= finished <= after.finished and before.finished < after.finished:
            share = (finished - before.finished) / (after.finished - before.finished)
            return before.cpu_s + share * (after.cpu_s - before.cpu_s)
    raise NotMeasuredError(f"the engine reported no samples around {finished} rollouts")
