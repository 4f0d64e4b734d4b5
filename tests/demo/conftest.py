"""Endpoints in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

RunEndpoint = Callable[..., AbstractContextManager[str]]


@contextmanager
def _running(*flags: str) -> Iterator[str]:
    """The base URL of an endpoint in a process of its own, which ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tui_eval.demo.endpoint", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        port = json.loads(process.stdout.readline())["port"]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=20)
        finally:
            process.kill()
            process.stdout.close()


@pytest.fixture(scope="session")
def run_endpoint() -> RunEndpoint:
    """`with run_endpoint("--seed", "3") as url: ...`."""
    return _running


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with _running("--speed", "0") as url:
        yield url
