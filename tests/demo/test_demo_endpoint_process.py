"""Start and end of the endpoint's process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "tui_eval.demo.endpoint", "--speed", "0"]
PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(child.pid, child.stdout.readline().decode(), flush=True)
time.sleep(600)
"""


def start() -> subprocess.Popen[str]:
    return subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def is_gone(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rsplit(")", 1)[1].split()[0] == "Z"


@pytest.mark.parametrize("end", ["stdin", "SIGTERM", "SIGINT"])
def test_ends_cleanly_and_prints_nothing_but_its_port(end: str) -> None:
    process = start()
    assert process.stdin is not None and process.stdout is not None
    assert json.loads(process.stdout.readline()).keys() == {"port"}
    if end != "stdin":
        process.send_signal(getattr(signal, end))
    rest, _ = process.communicate(timeout=20)
    assert (process.returncode, rest) == (0, "")


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="reads the state of a process in /proc")
def test_dies_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *COMMAND], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline().split()[0])
    try:
        assert not is_gone(pid)
        parent.kill()
        parent.wait()
        parent.stdout.close()
        assert until(lambda: is_gone(pid))
    finally:
        if not is_gone(pid):
            os.kill(pid, signal.SIGKILL)


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*COMMAND, "--port", str(port)], input="", capture_output=True, text=True, timeout=30
        )
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"127.0.0.1:{port}" in done.stderr


def test_starts_without_heavy_imports() -> None:
    code = (
        "import sys, tui_eval.demo.endpoint;"
        "print([m for m in ('pydantic', 'openai', 'anthropic', 'textual', 'numpy')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "[]", done.stderr
