"""A sweep of 500 evaluations: the engine's CPU from its start to its first request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

from bench.figure import Figure, NotMeasuredError, spread
from bench.setting import Setting

EVALUATIONS = 500
TAKES_AT_MOST_S = 60.0
CPU_AT_MOST_S = 1.0

SWEEP = """
model = "mock"
api_base_url = "{url}/v1"
api_key_var = ""
num_examples = 1
rollouts_per_example = 1

[[ablation]]
env_id = "reverse-text"

[ablation.sweep.env_args]
seed = {seeds}
"""


class FirstRequest:
    """A server that notes what an engine has used when its first completion is requested."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.pid = 0
        self.cpu = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                if not outer.came.is_set():
                    outer.cpu = cpu_of(outer.pid)
                    outer.came.set()
                self.send_error(400)

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()


def cpu_of(pid: int) -> float:
    """User and system time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(setting: Setting) -> Iterator[Figure]:
    """An engine of its own for each repeat, preflight included."""
    seconds = [_measure(setting) for _ in range(setting.repeats(5, 2))]
    what = f"CPU of the engine to the first request of {EVALUATIONS} evaluations"
    yield Figure(what, median(seconds), CPU_AT_MOST_S, " s", spread(seconds))


def _measure(setting: Setting) -> float:
    server = FirstRequest()
    path = setting.new_path(".toml")
    path.write_text(SWEEP.format(url=server.url, seeds=list(range(EVALUATIONS))))
    engine = subprocess.Popen(
        [sys.executable, "-m", "tui_eval.engine", "-"],
        cwd=setting.folder,
        env=setting.variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        server.pid = engine.pid
        assert engine.stdin is not None and engine.stderr is not None
        engine.stdin.write(json.dumps({"env_id": str(path)}).encode())
        engine.stdin.close()
        if not server.came.wait(TAKES_AT_MOST_S):
            engine.kill()
            said = engine.stderr.read().decode("utf-8", "replace")
            raise NotMeasuredError(f"the engine requested nothing:\n{said[-2000:]}")
        return server.cpu
    finally:
        engine.kill()
        engine.wait()
        server.close()
