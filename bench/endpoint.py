"""The fast endpoint as a process: compiled into a folder, started on a free port, stopped."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from bench.figure import NotMeasuredError

SOURCE = Path(__file__).with_name("fast_endpoint.c")
ANSWERS_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of `burst` tokens that gets `rate` a second; a request without one is refused.

    `wait_s` is what Retry-After says; 0 for the whole seconds until there is a token again.
    """

    rate: float
    burst: float
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests, how many of them were refused, and how many were in flight.

    The mean is over the time between the first request and the last one.
    """

    requests: int
    refused: int
    most_in_flight: int
    mean_in_flight: float


class FastEndpoint:
    """An OpenAI-compatible endpoint that is never the bottleneck; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._program = folder / "fast_endpoint"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> FastEndpoint:
        try:
            build = ["cc", "-O2", "-w", "-o", str(self._program), str(SOURCE), "-lm"]
            subprocess.run(build, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise NotMeasuredError("the endpoint is in C: install a compiler, `cc`") from None
        except subprocess.CalledProcessError as error:
            raise NotMeasuredError(f"{SOURCE.name} cannot be built:\n{error.stderr}") from None
        self.restart()
        return self

    def restart(self) -> None:
        """A fresh process on a fresh port: its random latencies restart, the same ones."""
        self._stop()
        self.port = free_port()
        self._process = subprocess.Popen([str(self._program), str(self.port)])
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.01)
        self._stop()
        raise NotMeasuredError(f"the endpoint does not answer on port {self.port}")

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def url(
        self,
        latency_ms: float = 0,
        tool_turns: int = 0,
        drawn: bool = False,
        bucket: Bucket | None = None,
    ) -> str:
        """A base URL that answers after a latency and requests tool calls first.

        Args:
            drawn: Draw each latency from an exponential distribution with that mean.
            bucket: Limit of the requests that are answered; the others get status 429.
        """
        kind = "e" if drawn else "d"
        limited = f"/r{bucket.rate:g}/b{bucket.burst:g}/w{bucket.wait_s:g}" if bucket else ""
        return f"http://127.0.0.1:{self.port}/{kind}{latency_ms:g}/k{tool_turns}{limited}/v1"

    def counts(self) -> Counts:
        """Counts of the endpoint since it started."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=10) as answer:
            counted = json.load(answer)
        return Counts(
            counted["requests"],
            counted["refused"],
            counted["max_inflight"],
            counted["mean_inflight"],
        )


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
