"""The end of a worker's process, as its engine sees it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Iterator

import pytest

from tui_eval.engine.transport.started_worker import StartedWorker, start_worker

pytestmark = pytest.mark.process

LIVES_AS_LONG_AS_ITS_SOCKET = """
import socket, sys
socket.socket(fileno=int(sys.argv[sys.argv.index("--socket-fd") + 1])).recv(1)
"""


@pytest.fixture
def worker() -> Iterator[StartedWorker]:
    """One that ends with this process at the latest."""
    started = start_worker((sys.executable, "-c", LIVES_AS_LONG_AS_ITS_SOCKET))
    with contextlib.closing(started.printed), started.socket:
        yield started
        started.popen.kill()
        started.popen.wait()


def waiting_threads(worker: StartedWorker) -> list[threading.Thread]:
    return [one for one in threading.enumerate() if str(worker.popen.pid) in one.name]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a thread waits here: see below")
async def test_no_thread_waits_for_a_worker(worker: StartedWorker) -> None:
    files = len(os.listdir("/proc/self/fd"))
    waiting = asyncio.create_task(worker.wait())
    await asyncio.sleep(0)  # it waits now
    assert waiting_threads(worker) == [] and not worker.has_ended
    worker.popen.kill()
    assert await waiting == -9
    assert len(os.listdir("/proc/self/fd")) == files


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a thread waits here: see below")
async def test_a_wait_that_is_given_up_leaves_no_file_open(worker: StartedWorker) -> None:
    files = len(os.listdir("/proc/self/fd"))
    waiting = asyncio.create_task(worker.wait())
    await asyncio.sleep(0)  # it waits now
    assert len(os.listdir("/proc/self/fd")) == files + 1
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(os.listdir("/proc/self/fd")) == files


async def test_a_thread_waits_where_the_system_has_no_descriptors_of_processes(
    worker: StartedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    waiting = asyncio.create_task(worker.wait())
    await asyncio.sleep(0)  # it waits now
    assert len(waiting_threads(worker)) == 1 and not worker.has_ended
    worker.popen.kill()
    assert await waiting == -9
