"""What an engine knows of the end of a worker's process."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

import pytest

from tui_eval.engine.transport.started_worker import StartedWorker, start_worker

pytestmark = pytest.mark.process

SLEEPS = (sys.executable, "-c", "import time; time.sleep(600)")


async def end(worker: StartedWorker) -> int:
    waiting = asyncio.create_task(worker.wait())
    await asyncio.sleep(0)
    assert not worker.has_ended
    worker.popen.kill()
    code = await waiting
    assert worker.has_ended
    worker.socket.close()
    return code


@pytest.mark.skipif(sys.platform != "linux", reason="its kernel has descriptors of processes")
async def test_no_thread_waits_for_a_worker():
    worker, threads = start_worker(SLEEPS), set(threading.enumerate())
    waiting = asyncio.create_task(worker.wait())
    await asyncio.sleep(0)
    assert set(threading.enumerate()) == threads
    open_files = set(os.listdir("/proc/self/fd"))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(open_files - set(os.listdir("/proc/self/fd"))) == 1
    assert await end(worker) == -9


async def test_a_thread_waits_where_the_system_has_no_descriptors_of_processes(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert await end(start_worker(SLEEPS)) == -9
