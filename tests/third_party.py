"""The npm package `@copilotkit/aimock`, an endpoint that somebody else wrote."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PACKAGE = "@copilotkit/aimock"
VERSION = "1.43.0"
CACHE = Path(__file__).parents[1] / ".cache" / "aimock"
_LISTENING = re.compile(r"http://127\.0\.0\.1:(\d+)")


def installed_aimock() -> Path:
    """The program's path; installs it once, and skips the test where that cannot be done."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("node and npm are needed for the third-party endpoint")
    program = CACHE / VERSION / "node_modules" / PACKAGE / "dist" / "cli.js"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _install(npm, program.parents[4])
    return program


def _install(npm: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder)]
    try:
        done = subprocess.run(
            [*command, f"{PACKAGE}@{VERSION}"], capture_output=True, text=True, timeout=90
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm install {PACKAGE} took longer than 90 s")
    if done.returncode:
        pytest.skip(f"npm install {PACKAGE} failed: {done.stderr.strip()[-300:]}")


@contextmanager
def running_aimock(fixtures: list[dict[str, Any]], folder: Path) -> Iterator[str]:
    """The URL of an endpoint that answers by these fixtures, until the block ends."""
    program = installed_aimock()
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": fixtures}))
    process = subprocess.Popen(
        ["node", str(program), "-p", "0", "-f", str(file), "--strict"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{_port_of(process)}"
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def _port_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        found = _LISTENING.search(line)
        if found:
            return found.group(1)
    raise AssertionError(f"aimock did not start: {''.join(said)}")
