"""A real terminal: the program on a pty, its screen kept by a terminal emulator."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyte
from preloaded import PreloadedProgram, may_be_preloaded

PATIENCE_S = 30.0
PROGRAM = ("-m", "tui_eval")


def _forget_signals() -> None:
    """A window's shell gets all signals, also where these tests run in the background."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """Runs `tui-eval`, or another module of Python, on a terminal of its own.

    `raw` holds every byte that the program wrote to it.

    Args:
        typed: Keys that wait before the program begins.
        term: What kind of terminal it is.
        answers: Whether it answers what it is asked, as for its cursor.
        preloaded: Whether `tui-eval` may begin with its modules loaded.
    """

    def __init__(
        self,
        folder: Path,
        env: dict[str, str],
        *args: str,
        size: tuple[int, int] = (120, 40),
        command: Sequence[str] = PROGRAM,
        typed: str = "",
        term: str = "xterm-256color",
        answers: bool = False,
        preloaded: bool = True,
    ) -> None:
        columns, lines = size
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._fd, inner = pty.openpty()
        self.answered = 0
        if answers:
            self.screen.write_process_input = self._answer
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.settings_before = termios.tcgetattr(inner)
        self._inner = inner
        self.type(typed)
        env = {**env, "TERM": term, "COLUMNS": "", "LINES": ""}
        is_preloaded = preloaded and command == PROGRAM and may_be_preloaded(env)
        self.process = (PreloadedProgram if is_preloaded else subprocess.Popen)(
            [sys.executable, *command, *args],
            cwd=folder,
            env=env,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=_forget_signals,
        )

    @property
    def text(self) -> str:
        """The text on the screen now."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, within: float = 0.05) -> None:
        """Takes in what the program wrote."""
        ready, _, _ = select.select([self._fd], [], [], within)
        if ready:
            data = os.read(self._fd, 1 << 16)
            self.raw += data
            self._stream.feed(data)

    def read_all(self) -> None:
        """Takes in what a program that has stopped or ended wrote until then."""
        while select.select([self._fd], [], [], 0.1)[0]:
            self.read()

    def wait_for(self, wanted: str | Callable[[], object], within: float = PATIENCE_S) -> None:
        """Reads until a text is on the screen, or a condition holds."""
        deadline = time.monotonic() + within
        while not (wanted() if callable(wanted) else wanted in self.text):
            assert time.monotonic() < deadline, f"not seen: {wanted}\n{self.text}"
            self.read()

    def type(self, keys: str) -> None:
        """Types keys."""
        os.write(self._fd, keys.encode())

    def _answer(self, answer: str) -> None:
        self.type(answer)
        self.answered += 1

    @property
    def takes_more(self) -> bool:
        """Whether what the program writes now does not have to wait until somebody reads."""
        return bool(select.select([], [self._inner], [], 0)[1])

    @property
    def has_taken_keys(self) -> bool:
        """Whether the program has read all that was typed."""
        waiting = fcntl.ioctl(self._inner, termios.FIONREAD, struct.pack("I", 0))
        return struct.unpack("I", waiting) == (0,)

    def type_until(self, text: str, wanted: str, times: int = 5) -> None:
        """Types until something is there: what a screen shows may come before what it knows."""
        for _ in range(times):
            self.type(text)
            with suppress(AssertionError):
                self.wait_for(wanted, within=3)
                return
        self.wait_for(wanted)

    def cut(self) -> None:
        """Takes the terminal away: what is written to it fails from now on."""
        os.close(self._inner)
        os.close(self._fd)
        self._inner = self._fd = -1

    def hang_up(self) -> None:
        """Closes the window: the program gets both signals that the kernel sends."""
        self.cut()
        self.process.send_signal(signal.SIGHUP)
        self.process.send_signal(signal.SIGCONT)

    def finish(self, within: float = PATIENCE_S) -> int:
        """Reads until the program has ended; returns its exit code."""
        deadline = time.monotonic() + within
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"the program does not end\n{self.text}"
            self.read()
        self.read_all()
        return self.process.returncode

    def is_whole(self) -> bool:
        """Whether the terminal is as it was: its modes, the main screen, a visible cursor."""
        undone = {"screen": (b"?1049l", b"?1049h"), "mouse": (b"?1000l", b"?1000h")}
        undone["cursor"] = (b"?25h", b"?25l")
        held = [what for what, (off, on) in undone.items() if self._last(off) <= self._last(on)]
        if not self.has_its_modes:
            held.append("modes")
        if held:
            print(f"the program still holds {', '.join(held)}; it wrote last: {self.raw[-300:]!r}")
        return not held

    @property
    def has_its_modes(self) -> bool:
        """Whether keys are taken as before the program began."""
        return self.settings == self.settings_before

    @property
    def settings(self) -> list[Any]:
        """The mode in which keys are taken now."""
        return termios.tcgetattr(self._inner)

    def shell_takes_it(self) -> list[Any]:
        """Takes keys as the line editor of a shell does; returns the settings."""
        settings = termios.tcgetattr(self._inner)
        settings[3] = self.settings_before[3] & ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(self._inner, termios.TCSANOW, settings)
        return self.settings

    def _last(self, code: bytes) -> int:
        return self.raw.rfind(b"\x1b[" + code)

    def close(self) -> None:
        """Ends the program if a test left it running."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self._fd, self._inner):
            if fd >= 0:
                os.close(fd)
