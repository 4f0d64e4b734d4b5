"""Draws on a terminal, and leaves it whole whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import threading
from typing import Any, TextIO

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

GIVEN_BACK = "".join(
    (
        *("\x1b[?2004l", "\x1b[?7h", "\x1b[?2048l"),  # bracketed paste, line wrap, resize reports
        *("\x1b[?1000l", "\x1b[?1003l", "\x1b[?1015l", "\x1b[?1006l", "\x1b[?1016l"),  # mouse
        *("\x1b[<u", "\x1b[?1049l", "\x1b[?25h", "\x1b[?1004l"),  # keys, screen, cursor, focus
    )
)
"""What undoes everything that the driver asks of a terminal."""


class TerminalOutput:
    """Takes what is written to a terminal, also once that is gone: it leads nowhere then.

    The thread that writes would die of the error, its queue would fill up, and the loop would wait
    for room in it for ever, deaf to the signal that told of the loss.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def fileno(self) -> int:
        """The terminal's number."""
        return self._file.fileno()

    def write(self, text: str) -> None:
        """Writes as far as there is a terminal."""
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        """Flushes as far as there is a terminal."""
        with contextlib.suppress(OSError):
            self._file.flush()


class TerminalDriver(LinuxDriver):
    """Textual's own, but for two things.

    Its loop sleeps and wakes with the job, not a signal handler; and it outlives its terminal.
    """

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        file = sys.__stderr__ or sys.__stdout__  # the first is not there if the caller closed it
        assert file is not None
        self._file = TerminalOutput(file)  # type: ignore[assignment]
        self._is_taken = False
        self._is_undone = False
        self._has_slept = False
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._sleep)
        loop.add_signal_handler(signal.SIGCONT, self._wake)

    def start_application_mode(self) -> None:
        """Takes the terminal."""
        self._is_taken, self._is_undone = True, False
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def stop_application_mode(self) -> None:
        """Gives the terminal back, as far as what is written reaches it: see `close`."""
        if self._mouse_pixels:
            self.write("\x1b[?1016l")
        super().stop_application_mode()
        self._is_undone = True

    def close(self) -> None:
        """Waits until all is written."""
        super().close()
        self._is_taken = self._is_taken and not self._is_undone

    def give_back(self) -> None:
        """Gives the terminal back where that was cut short; else there is nothing to do."""
        if not self._is_taken:
            return
        self._is_taken = False
        self.exit_event.set()  # what reads the keys would keep the process alive
        if self.attrs_before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
        with contextlib.suppress(OSError):
            os.write(2, GIVEN_BACK.encode())

    def _sleep(self) -> None:
        """Ctrl-Z: nothing else runs on the loop before the terminal is ours again."""
        self.suspend_application_mode()
        self._must_signal_resume = True
        self._has_slept = True
        self._stop_process()
        while self._is_in_background():
            self._stop_process()
        self.resume_application_mode()

    def _stop_process(self) -> None:
        # To this thread: it goes no further before it has stopped.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    def _is_in_background(self) -> bool:
        try:
            return os.tcgetpgrp(self.fileno) != os.getpgrp()
        except OSError:
            return False

    def _wake(self) -> None:
        """After a stop that nobody could prepare for, whoever had the terminal meanwhile."""
        if self._has_slept:
            self._has_slept = False
        elif self._is_taken and not self._is_in_background():
            self.suspend_application_mode()
            self._must_signal_resume = True
            self.resume_application_mode()
