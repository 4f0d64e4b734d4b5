"""An endpoint with a token bucket: adaptive concurrency against the best fixed one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from bench.driving import run_headless
from bench.endpoint import Bucket
from bench.figure import Figure, NotMeasuredError, number, spread
from bench.setting import Setting

MOST = 64
LATENCY_MS = 200
"""The mean; each is drawn from an exponential distribution."""
BUCKET = Bucket(rate=150, burst=100)
TAKES_ABOUT_S = 30
TRIED = (8, 16, 24, 28, 32, 40, MOST)


@dataclass(frozen=True, slots=True)
class Seen:
    """Rollouts a second, the share of refused requests, and rollouts that failed."""

    rate: float
    refused: float
    failed: int

    def __str__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{number(self.rate)}/s with {self.refused:.0%} refused{failed}"


def measure(setting: Setting) -> Iterator[Figure]:
    """Every fixed concurrency in turn, then the adaptive one; and an endpoint without a bucket."""
    seconds = TAKES_ABOUT_S / 3 if setting.quick else TAKES_ABOUT_S
    fixed = {most: _try(setting, BUCKET, seconds, most, "--no-adaptive") for most in TRIED}
    adaptive = _try(setting, BUCKET, seconds)
    best = max(fixed, key=lambda most: fixed[most].rate)
    yield Figure(
        f"throughput, adaptive at -c {MOST} / best of {len(fixed)} fixed",
        adaptive.rate / fixed[best].rate,
        0.85,
        "x",
        f"{adaptive}; -c {best}: {fixed[best]}; -c {MOST}: {fixed[MOST]}",
        at_least=True,
    )
    ratios = []
    for _ in range(setting.repeats(3)):
        plain = _try(setting, None, seconds / 3, MOST, "--no-adaptive")
        ratios.append(_try(setting, None, seconds / 3).rate / plain.rate)
    yield Figure(
        f"the same without a bucket, adaptive / fixed -c {MOST}",
        median(ratios),
        0.95,
        "x",
        f"of {len(ratios)}: {spread(ratios)}",
        at_least=True,
    )


def _try(
    setting: Setting, bucket: Bucket | None, seconds: float, most: int = MOST, *more: str
) -> Seen:
    """One run of about so many seconds at a fresh endpoint."""
    setting.endpoint.restart()
    url = setting.endpoint.url(LATENCY_MS, drawn=True, bucket=bucket)
    a_second = min(most * 1000 / LATENCY_MS, bucket.rate if bucket else most * 1000 / LATENCY_MS)
    rollouts = int(a_second * seconds)
    run = run_headless(setting, url, rollouts, most, more=more, may_fail=True)
    if not run.rows:
        raise NotMeasuredError("every rollout failed")
    counts = setting.endpoint.counts()
    failed = rollouts - len(run.rows)
    return Seen(len(run.rows) / run.wall, counts.refused / counts.requests, failed)
