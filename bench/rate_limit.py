"""A limit of 60 requests a minute that says the wait: nothing is lost, and little is slow."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product

from bench.driving import run_headless
from bench.figure import Figure
from bench.setting import Setting

A_MINUTE = 60
ROLLOUTS = 120
ALLOWED_S = (ROLLOUTS - A_MINUTE) * 60 / A_MINUTE
"""Seconds that the limit needs: the bucket is full at first."""
LATENCIES_S = (0.0, 0.1, 0.3, 1.0)
CONCURRENCIES = (4, 32, 256)
MAX_CONCURRENT = 4
"""Runs at a time: each does next to nothing for a minute."""
_ANSWER = (
    b'{"id":"1","object":"chat.completion","created":1,"model":"mock","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"The answer is 42."},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}'
)


def measure(setting: Setting) -> Iterator[Figure]:
    """Every latency with every concurrency; when quick one of each."""
    every = list(product(LATENCIES_S, CONCURRENCIES))
    if setting.quick:
        every = [(0.0, 4), (0.1, 256), (0.3, 32)]
    with ThreadPoolExecutor(MAX_CONCURRENT) as senders:
        tried = list(senders.map(lambda one: _try(setting, *one), every))
    errored = sum(lost for _, lost in tried)
    yield Figure(f"rollouts lost at {A_MINUTE} a minute, of {len(every)} runs", errored, 0)
    for (latency, most), (wall, _) in zip(every, tried, strict=True):
        name = f"wall / allowed, answers in {latency:g} s, -c {most}"
        yield Figure(name, wall / ALLOWED_S, 1.1, "x", f"{wall:.1f} s")


def _try(setting: Setting, latency: float, most: int) -> tuple[float, int]:
    """Seconds that a run took, and how many of its rollouts errored."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(latency))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        run = run_headless(setting, url, ROLLOUTS, most, may_fail=True)
        return run.wall, ROLLOUTS - len(run.rows)
    finally:
        server.shutdown()


def _handler(latency: float) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()
    tokens, filled_at = float(A_MINUTE), time.monotonic()

    def missing() -> float:
        """Seconds until there is a token; 0 where one was taken."""
        nonlocal tokens, filled_at
        with lock:
            now = time.monotonic()
            tokens = min(A_MINUTE, tokens + (now - filled_at) * A_MINUTE / 60)
            filled_at = now
            if tokens >= 1:
                tokens -= 1
                return 0.0
            return (1 - tokens) * 60 / A_MINUTE

    class Handler(BaseHTTPRequestHandler):
        """Answers after the latency, or refuses with the wait."""

        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            """The list of models."""
            self._send(200, b'{"object":"list","data":[{"id":"mock","object":"model"}]}')

        def do_POST(self) -> None:
            """One answer."""
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            wait = missing()
            if wait:
                self._send(429, b"{}", {"retry-after-ms": str(math.ceil(wait * 1000))})
                return
            time.sleep(latency)
            self._send(200, _ANSWER)

        def _send(self, status: int, body: bytes, more: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, text in {"Content-Length": str(len(body)), **(more or {})}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

    return Handler
