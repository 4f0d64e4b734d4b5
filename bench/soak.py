"""An hour under random faults of endpoint, workers and environment; three minutes with --quick.

Answers fail, break off, come late or are no JSON; workers are killed and stopped; the environment
raises. Every rollout that began has one row or is in flight, and nothing grows.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from aiohttp import web

from bench.counting_endpoint import CountingEndpoint
from bench.driving import command_line
from bench.figure import Figure, NotMeasuredError, number
from bench.setting import Setting
from tui_eval.processes import private_memory
from tui_eval.runs.lock import holder

LASTS_S, QUICK_LASTS_S = 3600.0, 180.0
LATENCY_S = 0.25
LATE_S = 4.0
IN_FLIGHT = 24
EXAMPLES = 40_000
"""Examples of which two rollouts each take more than an hour."""
FAULTS = 0.02
"""The share of requests that meet one of the faults."""
WORKER_FAULT_EVERY_S = 8.0
STOPPED_FOR_S = 3.0
SAMPLES_EVERY_S = 1.0
STOPPED = 130
RECENT = 8 * IN_FLIGHT
"""Rollouts before the last one that may still be at work, or wait to be tried again."""
HANGS_AFTER_S = 45.0
"""Without a row for so long nothing moves: a retried request waits for less."""
STARTS_WITHIN_S, ENDS_WITHIN_S = 30.0, 60.0
LOG_LINES = 40
"""Lines of the log that say why it ended."""


class FaultyEndpoint(CountingEndpoint):
    """Answers as a bad day has it."""

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if random.random() > FAULTS:
            return await super()._answer(request)
        match random.choice(["500", "429", "cut", "late", "garbage"]):
            case "500":
                return web.json_response({"error": {"message": "upset"}}, status=500)
            case "429":
                refused = {"error": {"message": "too many"}}
                return web.json_response(refused, status=429, headers={"Retry-After": "1"})
            case "cut":
                response = web.StreamResponse(headers={"Content-Length": "1000"})
                await response.prepare(request)
                await response.write(b'{"id": ')
                assert request.transport is not None, "it is open: it was written to"
                request.transport.abort()
                return response
            case "late":
                await asyncio.sleep(LATE_S)
                return await super()._answer(request)
            case _:
                return web.Response(body=b"<html>not now</html>", content_type="text/html")


@dataclass
class _Seen:
    """Record of a run: MB of engine and workers each second, and what was done to it."""

    engine_mb: list[float] = field(default_factory=list)
    workers_mb: list[float] = field(default_factory=list)
    worker_faults: Counter[str] = field(default_factory=Counter)
    longest_still_s: float = 0.0


def measure(setting: Setting) -> Iterator[Figure]:
    """One run, stopped at its time and resumed for what it had in flight."""
    lasts_s = QUICK_LASTS_S if setting.quick else LASTS_S
    with FaultyEndpoint(LATENCY_S) as endpoint:
        soak = Soak(setting, endpoint)
        seen = soak.run(lasts_s)
        rows = soak.rows()
    faults = ", ".join(f"{count} {name}" for name, count in seen.worker_faults.items())
    note = f"{len(rows):,} rows in {lasts_s:.0f} s, {len(endpoint.answers):,} answers; {faults}"
    still_s = seen.longest_still_s
    yield Figure("soak: longest time without a row", still_s, HANGS_AFTER_S, " s", note)
    yield Figure("soak: rollouts without a row, or with two", soak.unaccounted(rows), 0)
    yield _growth("engine", seen.engine_mb)
    yield _growth("workers", seen.workers_mb)


def _growth(whose: str, samples: list[float]) -> Figure:
    """The last quarter beside the second: what is warm does not grow."""
    quarter = len(samples) // 4
    early, late = median(samples[quarter : 2 * quarter]), median(samples[-quarter:])
    what = f"soak: memory of the {whose}, last quarter / second"
    return Figure(what, late / early, 1.05, "x", f"MB: {number(early)} and {number(late)}")


class Soak:
    """One run under faults."""

    def __init__(self, setting: Setting, endpoint: CountingEndpoint) -> None:
        self._setting = setting
        self._outputs = setting.new_path("-outputs")
        args = json.dumps({"faulty": True, "num_examples": EXAMPLES})
        options = setting.raw_options(endpoint.url, EXAMPLES, IN_FLIGHT, args)
        options |= {"rollouts_per_example": "2", "output_dir": str(self._outputs)}
        self._words = ["bench-six-turns", *command_line(options)]

    def run(self, lasts_s: float) -> _Seen:
        """Runs it for a time, stops it, and has what was in flight finished.

        Raises:
            NotMeasuredError: It did not begin, hung, or ended otherwise than it was to.
        """
        more = ("-s", "--no-stream", "--max-retries", "2", "--timeout", "60", "-w", "2", "-d")
        process = self._start(*self._words, *more)
        seen = _Seen()
        try:
            self._watch(process, time.monotonic() + lasts_s, seen)
            process.send_signal(signal.SIGTERM)
            code = process.wait(ENDS_WITHIN_S)
        finally:
            process.kill()
        if code != STOPPED:
            raise NotMeasuredError(self._with_log(f"it ended with {code}"))
        return seen

    def _with_log(self, what: str) -> str:
        """A sentence with the last lines of the run's log."""
        log = self._run() / "engine.log"
        last = log.read_text(errors="replace").splitlines()[-LOG_LINES:] if log.is_file() else []
        return "\n    ".join([what, *last])

    def _how_it_stands(self) -> str:
        """Sentence that it hangs, with what each of its rollouts waits for."""
        words = [sys.executable, "-m", "tui_eval", "status", str(self._run())]
        variables = self._setting.variables()
        said = subprocess.run(
            words, env=variables, capture_output=True, text=True, timeout=ENDS_WITHIN_S, check=False
        )
        why = f"no row for {HANGS_AFTER_S:.0f} s\n{said.stdout}{said.stderr}"
        return self._with_log(why)

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tui_eval", *words],
            cwd=self._setting.folder,
            env=self._setting.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _run(self) -> Path:
        return next(iter(self._outputs.glob("evals/*/*/")), self._outputs / "none")

    def _watch(self, process: subprocess.Popen[bytes], until: float, seen: _Seen) -> None:
        moved_at, next_fault = time.monotonic(), time.monotonic() + WORKER_FAULT_EVERY_S
        written = 0
        while (now := time.monotonic()) < until:
            if process.poll() is not None:
                raise NotMeasuredError(self._with_log(f"it ended with {process.returncode}"))
            held = holder(self._run() / "lock")
            if held is not None and held.pid:
                if (now_written := self._written()) > written:
                    written, moved_at = now_written, now
                seen.longest_still_s = max(seen.longest_still_s, now - moved_at)
                if now - moved_at > HANGS_AFTER_S:
                    raise NotMeasuredError(self._how_it_stands())
                workers = _workers(held.pid)
                seen.engine_mb.append((private_memory(held.pid) or 0) / 1e6)
                seen.workers_mb.append(sum(private_memory(pid) or 0 for pid in workers) / 1e6)
                if workers and now > next_fault:
                    next_fault = now + WORKER_FAULT_EVERY_S * random.uniform(0.5, 1.5)
                    seen.worker_faults[_upset(random.choice(workers))] += 1
            elif now - moved_at > STARTS_WITHIN_S:
                raise NotMeasuredError(f"{self._run()}: nothing began")
            time.sleep(SAMPLES_EVERY_S)

    def _written(self) -> int:
        """Bytes of rows on disk."""
        results = self._run() / "results.jsonl"
        return results.stat().st_size if results.is_file() else 0

    def rows(self) -> list[dict[str, Any]]:
        """Every row on disk."""
        with open(self._run() / "results.jsonl") as file:
            return [json.loads(line) for line in file]

    def unaccounted(self, rows: list[dict[str, Any]]) -> int:
        """Rollouts that began long before the last one and have no row, or two."""
        places = Counter(2 * row["example_id"] + row["tui_eval"]["rollout"] for row in rows)
        doubled = sum(count - 1 for count in places.values())
        return doubled + len(set(range(max(places) - RECENT)) - places.keys())


def _workers(engine: int) -> list[int]:
    """The processes of an engine that run rollouts."""
    with suppress(FileNotFoundError, ProcessLookupError):
        found = Path(f"/proc/{engine}/task/{engine}/children").read_text().split()
        return [int(pid) for pid in found if b"tui_eval.worker" in _command(pid)]
    return []


def _command(pid: str) -> bytes:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _upset(pid: int) -> str:
    """Kills a worker, or stops it for a while."""
    with suppress(ProcessLookupError):
        if random.random() < 0.5:
            os.kill(pid, signal.SIGKILL)
            return "workers killed"
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED_FOR_S)
        os.kill(pid, signal.SIGCONT)
    return "workers stopped"
