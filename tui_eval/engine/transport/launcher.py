"""The launcher of an engine: starts it as a process of its own, and ends it for sure.

The engine is a process of its own so that a run continues without its screen, and several screens
may show it. It has a session of its own, so that a Ctrl-C in the terminal reaches the screen alone,
which then asks. The socket listens before the process starts, so that a screen can always connect.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tui_eval.engine.transport.sockets import bind_socket, socket_folder

STOPS_WITHIN_S = 2.0
STOPS_WITHOUT_DISK_S = 10.0
"""The same where its disk does not answer: pending lines are put elsewhere first."""
DIES_WITHIN_S = 5.0
"""Seconds after a kill. A process that takes longer is held by the kernel, in a disk call."""
POLL_INTERVAL_S = 0.5
PRINTED_LINES = 12


class Launch(NamedTuple):
    """The start of an engine on a request (see `config.plan.Request`), by whoever shows its run."""

    request: Mapping[str, Any]

    def start(self) -> EngineProcess:
        """Starts the engine.

        The socket listens before the engine runs, so that a connection never comes too early.

        Raises:
            OSError: The socket or the process could not be made.
        """
        folder = socket_folder()
        name = uuid.uuid4().hex[:12]
        socket_path, log = folder / f"{name}.sock", folder / f"{name}.log"
        sock = bind_socket(str(socket_path))
        try:
            log.touch(mode=0o600)
            with open(log, "w+b") as out, tempfile.TemporaryFile(dir=folder) as requested:
                requested.write(json.dumps(self.request).encode())
                requested.seek(0)
                process = subprocess.Popen(
                    [
                        *(sys.executable, "-m", "tui_eval.engine", "-"),
                        *("--socket-fd", str(sock.fileno()), "--socket", str(socket_path)),
                    ],
                    stdin=requested,
                    stdout=out,
                    stderr=out,
                    pass_fds=[sock.fileno()],
                    start_new_session=True,
                )
        finally:
            sock.close()
        return EngineProcess(process, socket_path, log)


class EngineProcess:
    """An engine that this process started. It is in a session of its own: a Ctrl-C in the
    terminal does not reach it, `stop` does."""

    def __init__(self, process: subprocess.Popen[bytes], socket_path: Path, log: Path) -> None:
        self._process = process
        self.socket_path = socket_path
        self._log = log
        self._kill_at: float | None = None
        self._given_up_at: float | None = None
        self.stopping = False
        """Whether `stop` was called."""
        self.is_held = False
        """Whether it was killed and does not end: one of its calls to a disk never returns."""

    @property
    def pid(self) -> int:
        """The engine's process id."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """The exit code once the engine has ended; negative where a signal ended it."""
        return self._process.poll()

    def stop(self, within_s: float = STOPS_WITHIN_S) -> None:
        """Requests a clean end within so many seconds; a later call adds none."""
        self.stopping = True
        if self.exit_code() is None:
            kill_at = time.monotonic() + within_s
            self._kill_at = kill_at if self._kill_at is None else min(self._kill_at, kill_at)
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Waits for the end, at most as long as `stop` allows; returns the exit code.

        After a stop no process of the engine is left, but for those that left its session. Where
        the engine `is_held`, that is the code of a killed one.
        """
        while not self.is_held:
            try:
                code = self._process.wait(self._patience())
                if self.stopping:
                    self._end_session()
                return code
            except subprocess.TimeoutExpired:
                now = time.monotonic()
            if self._given_up_at is not None:
                self.is_held = now >= self._given_up_at
            elif self._kill_at is not None and now >= self._kill_at:
                self.kill()
        return -signal.SIGKILL

    def _patience(self) -> float:
        """Seconds until the next look: `stop` may be called meanwhile."""
        until = self._kill_at if self._given_up_at is None else self._given_up_at
        left = POLL_INTERVAL_S if until is None else until - time.monotonic()
        return min(max(left, 0.0), POLL_INTERVAL_S)

    def kill(self) -> None:
        """Ends the engine at once, and whatever it left running in its session."""
        if self._given_up_at is None:
            self._given_up_at = time.monotonic() + DIES_WITHIN_S
        self._end_session()

    def _end_session(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:  # see `signal_group`
            self._process.kill()

    def last_output(self) -> str:
        """The end of the engine's output before its run had a log."""
        try:
            text = self._log.read_text("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-PRINTED_LINES:])

    def clean_up(self) -> None:
        """Removes the socket, the early log, and the lock of a suite that was killed."""
        for path in self.socket_path.parent.glob(f"{self.socket_path.stem}.*"):
            path.unlink(missing_ok=True)
