"""Every limit of concurrency as the server sees it: never passed, and kept busy meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from bench.driving import run_headless
from bench.endpoint import Counts, FastEndpoint
from bench.figure import Figure
from bench.setting import Setting

LIMIT = 8
LATENCY_MS = 100
TAKES_ABOUT_S = 8
BUSY_AT_LEAST = 0.9
"""The share of the limit that is in flight in the mean, from the first request to the last."""


def measure(setting: Setting) -> Iterator[Figure]:
    """The same limit set in four ways."""
    (folder := setting.new_path("-judge")).mkdir()
    registry = setting.new_path(".toml")
    with FastEndpoint(folder) as judge:
        commands: tuple[tuple[str, int, list[str], list[str]], ...] = (
            ("-c", LIMIT, [], []),
            ("--max-concurrent-generation", 64, ["--max-concurrent-generation", str(LIMIT)], []),
            (
                "max_concurrent of an endpoint",
                64,
                ["-e", str(registry), "-m", "limited"],
                ["model", "api_base_url"],
            ),
        )
        for name, most, more, without in commands:
            setting.endpoint.restart()
            registry.write_text(_registry(setting))
            _run(setting, judge, 0, most, more, without)
            yield from _figures(name, setting.endpoint.counts())
        judge.restart()
        _run(setting, judge, LATENCY_MS, 64, ["--max-concurrent-scoring", str(LIMIT)])
        yield from _figures("--max-concurrent-scoring", judge.counts())


def _registry(setting: Setting) -> str:
    url = setting.endpoint.url(LATENCY_MS)
    return (
        f'[[endpoint]]\nendpoint_id = "limited"\nmodel = "mock"\nurl = "{url}"\n'
        f"max_concurrent = {LIMIT}\n"
    )


def _run(
    setting: Setting,
    judge: FastEndpoint,
    judge_ms: float,
    most: int,
    more: Sequence[str],
    without: Sequence[str] = (),
) -> None:
    seconds = TAKES_ABOUT_S / 4 if setting.quick else TAKES_ABOUT_S
    run_headless(
        setting,
        setting.endpoint.url(0 if judge_ms else LATENCY_MS),
        int(seconds * 1000 / LATENCY_MS * LIMIT),
        most,
        json.dumps({"judge_url": judge.url(judge_ms)}),
        more=more,
        environment="bench-judged",
        without=without,
    )


def _figures(name: str, counts: Counts) -> Iterator[Figure]:
    yield Figure(f"most in flight with {name} at {LIMIT}", counts.most_in_flight, LIMIT)
    yield Figure(
        "in flight in the mean, while work remains",
        counts.mean_in_flight,
        BUSY_AT_LEAST * LIMIT,
        "",
        f"{counts.requests} requests",
        at_least=True,
    )
