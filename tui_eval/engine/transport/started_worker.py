"""The process of a worker: started before much else is loaded, and waited for.

It imports little, so that an engine starts its first worker before it imports its own half.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import BinaryIO

import msgspec

from tui_eval.worker.vital_signs import VitalSigns


class StartedWorker(msgspec.Struct, frozen=True):
    """A worker's process, with this end of its connection and the memory shared with it.

    Args:
        socket: This end of the connection.
        printed: The file that gets its output until it has a log.
        variables: Its environment variables at the start.
    """

    popen: subprocess.Popen[bytes]
    socket: socket.socket
    signs: VitalSigns
    printed: BinaryIO
    variables: dict[str, str]

    @property
    def has_ended(self) -> bool:
        """Whether `wait` has seen its end."""
        return self.popen.returncode is not None

    async def wait(self) -> int:
        """Waits for its end; returns its exit code, negative where a signal ended it."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        fd = _process_fd(self.popen.pid)
        if fd is None:
            name = f"waits for worker {self.popen.pid}"
            threading.Thread(
                target=self._wait_in_thread, args=[loop, ended], name=name, daemon=True
            ).start()
            await ended
        else:
            loop.add_reader(fd, _end_once, ended)
            try:
                await ended
            finally:
                loop.remove_reader(fd)
                os.close(fd)
        return self.popen.wait()

    def _wait_in_thread(self, loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
        self.popen.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_end_once, ended)


def _process_fd(pid: int) -> int | None:
    """A descriptor that is readable once the process has ended; None where there is none.

    A thread that waits would do, too, but each has an arena of the allocator to itself, and what
    is allocated there is not given back: an engine that replaced many workers grew.
    """
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):
            return os.pidfd_open(pid)
    return None


def _end_once(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


def start_worker(
    words: Sequence[str] = (sys.executable, "-m", "tui_eval.worker"),
) -> StartedWorker:
    """Starts a worker's process, by default in this process's own interpreter.

    Raises:
        OSError: It could not be started.
    """
    own, its = socket.socketpair()
    signs_fd = VitalSigns.make_file()
    printed = tempfile.TemporaryFile()  # noqa: SIM115 (the worker closes it)
    try:
        popen = subprocess.Popen(
            [*words, "--socket-fd", str(its.fileno()), "--signs-fd", str(signs_fd)],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            pass_fds=[its.fileno(), signs_fd],
        )
        return StartedWorker(popen, own, VitalSigns(signs_fd), printed, dict(os.environ))
    except BaseException:
        own.close()
        printed.close()
        raise
    finally:
        its.close()
        os.close(signs_fd)
