"""Draws on a terminal, and leaves it whole whatever happens.

Textual's driver writes to the terminal and waits until that has taken it: a line that stalls stops
the app, and a program that is killed leaves the terminal without echo. This one never waits, makes
no frame before the last one is out, and gives the terminal back whatever ends the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual import constants
from textual.drivers.linux_driver import (
    KITTY_DISAMBIGUATE_ESCAPE_CODES,
    KITTY_REPORT_ALL_KEYS,
    KITTY_REPORT_ASSOCIATED_TEXT,
    LinuxDriver,
)
from textual.message import Message

from tui_eval.tui.base.look.widths import hold_columns
from tui_eval.tui.base.terminal.keyboard import Keyboard, usual_key
from tui_eval.tui.base.terminal.line import Line
from tui_eval.tui.base.terminal.output import TerminalOutput
from tui_eval.tui.base.terminal.starting import erased_start
from tui_eval.tui.base.textual_private import write_to

if TYPE_CHECKING:
    from tui_eval.tui.base.app import BaseApp

GIVEN_BACK = "".join(
    (
        *("\x1b[?2004l", "\x1b[?7h", "\x1b[?2048l"),  # bracketed paste, line wrap, resize reports
        *("\x1b[?1000l", "\x1b[?1003l", "\x1b[?1015l", "\x1b[?1006l", "\x1b[?1016l"),  # mouse
        *("\x1b[<u", "\x1b[?1049l", "\x1b[?25h", "\x1b[?1004l"),  # keys, screen, cursor, focus
    )
)
"""Output that undoes all settings of the driver."""
CUT_SHORT = "\x1b[?2026l\x1b[0m"
"""Output that ends a partly written frame."""
_KEYS = KITTY_DISAMBIGUATE_ESCAPE_CODES | KITTY_REPORT_ALL_KEYS | KITTY_REPORT_ASSOCIATED_TEXT
TAKEN_MODES = "".join(
    (
        *("\x1b[?1049h", "\x1b[?25l", "\x1b[?1004h"),  # screen, cursor, focus
        *("\x1b[?2004h", "\x1b[?7l"),  # bracketed paste, line wrap
        *(() if constants.DISABLE_KITTY_KEY else ("\x1b[<u", f"\x1b[>{_KEYS}u")),
    )
)
"""Output that sets up a terminal, but for the mouse."""
MOUSE = tuple(f"\x1b[?{mode}h" for mode in (1000, 1003, 1015, 1006, 1016))
"""Output that requests the mouse; the last, for pixels, only where the terminal has them."""
SHORT = 100
RESIZE_REPORTS = "\x1b[?2048$p"
"""Asks whether the terminal reports its size itself."""
POLL_INTERVAL_S = 1.0
GONE_AFTER_S = 2.0
"""Seconds in which the signal of a lost terminal comes, if it comes at all."""
ENDS_WITHIN_S = 0.5
"""Seconds at the end for answers of the terminal, and then for pending output."""
MOST_WAITING = 20
"""The most writes that wait for one that the terminal does not take; frames never do."""

SETTINGS = {
    0: ("ixon", "ixoff", "icrnl", "inlcr", "igncr"),
    3: ("echo", "icanon", "iexten", "isig"),
}
"""The terminal settings that the driver may clear, by place and by names of `stty`."""
WAITS = """
exec 3<&2 2>/dev/null
taken=$(stty -g <&3)
read -r end
printf "$0"
sleep 0.1 || sleep 1
[ "$(stty -g <&3)" = "$taken" ] && stty "$@" <&3
"""
"""A pause for a shell with a line editor, which sets the terminal at the end itself.

Only settings that are still the driver's after that are restored.
"""


class TerminalDriver(LinuxDriver):
    """Textual's driver, with six differences.

    Its loop sleeps and wakes with the job, not a signal handler; it outlives its terminal; it
    never waits for a stalled one; enter is enter, also before the terminal was taken; answers
    of a terminal are no typed keys; and a crash leaves the terminal whole.
    """

    _was_queried = False
    """Whether the background of this process's terminal was requested."""

    def __init__(self, app: BaseApp[Any], **options: Any) -> None:
        super().__init__(app, **options)
        file = sys.__stderr__ or sys.__stdout__  # the first is not there if the caller closed it
        assert file is not None
        self._drawn_on = file
        self._shown_app = app
        self.loop = asyncio.get_running_loop()
        self.line = Line(self.loop)
        app.drawn_by, app.line, app.takes_frames = self, self.line, True
        self._output = TerminalOutput(file, self.line.written)
        write_to(self, self._output)
        self._mouse_modes: dict[str, None] = {}
        self._guardian: Guardian | None = None
        self._is_taken = False
        self._is_undone = False
        self._modes: list[Any] | None = None
        self._has_slept = self._sleeps = False
        self._keyboard = Keyboard(self.fileno, self.process_message, self.line.answered)
        self._looking = self.loop.call_later(POLL_INTERVAL_S, self._look)
        self.loop.add_signal_handler(signal.SIGTSTP, self._sleep)
        self.loop.add_signal_handler(signal.SIGCONT, self._wake)

    def start_application_mode(self) -> None:
        self._is_taken, self._is_undone = True, False
        self._output.begin()
        before = None
        if not self._is_in_background():
            self._keyboard.take_lines_waiting()
            before = self._request_ground()
        self._write_at_once(erased_start())
        try:
            super().start_application_mode()  # type: ignore[no-untyped-call]
        finally:
            if before is not None:
                self.attrs_before = before
        with contextlib.suppress(termios.error):
            self._modes = termios.tcgetattr(self.fileno)
        file, undone = self._drawn_on, CUT_SHORT + GIVEN_BACK
        if self._guardian is None and self.attrs_before is not None and file.isatty():
            self._guardian = Guardian(self.fileno, file.fileno(), self.attrs_before, undone)

    def _request_ground(self) -> list[Any] | None:
        """Requests the background once a process; returns the settings before, if ours are set."""
        if TerminalDriver._was_queried or not self._drawn_on.isatty():
            return None
        TerminalDriver._was_queried = True
        try:
            self.attrs_before = termios.tcgetattr(self.fileno)
            modes = termios.tcgetattr(self.fileno)
            may_signal = bool(os.environ.get("TEXTUAL_ALLOW_SIGNALS"))
            for place, names in SETTINGS.items():
                for name in names:
                    if name != "isig" or not may_signal:
                        modes[place] &= ~getattr(termios, name.upper())
            termios.tcsetattr(self.fileno, termios.TCSANOW, modes)
        except termios.error:
            return None
        self._shown_app.take_ground(self._keyboard.request_ground(self._write_at_once))
        return self.attrs_before

    def _dismiss(self) -> None:
        if self._guardian is not None:
            self._guardian.dismiss()
            self._guardian = None

    def run_input_thread(self) -> None:
        self._keyboard.run(self.exit_event)

    def process_message(self, message: Message) -> None:
        super().process_message(usual_key(message))

    def write(self, data: str) -> None:
        """Queues output for the writing thread, each text in its column."""
        if len(data) < SHORT:  # no frame of much
            self._mouse_modes.update(dict.fromkeys(one for one in MOUSE if one in data))
        if self.line.writes_waiting > MOST_WAITING and not self._output.leaves_out:
            self._output.leaves_out = self._output.has_left_out = True
            self.loop.add_writer(self._output.fileno(), self._flows)
        self.line.begin()
        super().write(hold_columns(data))

    def _write_at_once(self, data: str) -> None:
        self.line.begin()
        self._output.write(data)

    def disable_input(self) -> None:
        """Stops reading keys, once no answer is missing that another program would get as keys."""
        self.line.wait_for_answers(ENDS_WITHIN_S)
        self._output.end_within(ENDS_WITHIN_S)
        super().disable_input()

    def stop_application_mode(self) -> None:
        """Writes what restores the terminal; `close` waits for it."""
        if MOUSE[-1] in self._mouse_modes:
            self.write("\x1b[?1016l")
        super().stop_application_mode()
        self._is_undone = True

    def close(self) -> None:
        """Waits until the terminal has taken the output, for a while; the rest is lost."""
        super().close()
        if self._is_undone and self._is_taken:
            ends_unseen = self.line.is_silent and not self._sleeps
            if self._output.has_left_out or self.line.is_behind or ends_unseen:
                self._output.write_last(CUT_SHORT + GIVEN_BACK, in_place=True)
            self._is_taken = False
            self._dismiss()

    def give_back(self) -> None:
        """Restores the terminal where that was cut short, and closes it."""
        if self._is_taken:
            self._is_taken = False
            self.exit_event.set()  # what reads the keys would keep the process alive
            if self.attrs_before is not None:
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
            self._output.write_last(CUT_SHORT + GIVEN_BACK, self.line.is_behind)
        self._dismiss()
        self._looking.cancel()
        self.loop.remove_writer(self._output.fileno())
        self._output.close()

    def _look(self) -> None:
        """Checks whether the terminal is still there.

        Where no signal reports the loss, as after `disown` or in a session of its own, the reader
        of keys would read nothing over and over.
        """
        if self._keyboard.is_gone():
            self._looking = self.loop.call_later(GONE_AFTER_S, self._shown_app.lose_terminal)
        else:
            self._looking = self.loop.call_later(POLL_INTERVAL_S, self._look)

    def _sleep(self) -> None:
        """Stops at Ctrl-Z: the loop runs nothing before the terminal is ours again."""
        self._sleeps = True
        self.suspend_application_mode()
        self._sleeps = False
        self._has_slept = True
        is_stopped = True
        while is_stopped:  # to this thread: it goes no further before it has stopped
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
            is_stopped = self._is_in_background()
        self.resume_application_mode()
        self._shown_app.post_message(self.SignalResume())

    def _is_in_background(self) -> bool:
        try:
            return os.tcgetpgrp(self.fileno) != os.getpgrp()
        except OSError:
            return False

    def _wake(self) -> None:
        """Takes the terminal back after a stop without notice."""
        if self._has_slept:
            self._has_slept = False
        else:
            self._take_again()

    def _take_again(self) -> None:
        """Takes the terminal and draws all of it; keys typed meanwhile are not lost."""
        if not self._is_taken or self._is_undone or self._is_in_background():
            return
        if self._modes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self._modes)
        self.write(CUT_SHORT + TAKEN_MODES + "".join(self._mouse_modes) + RESIZE_REPORTS)
        self._shown_app.post_message(self.SignalResume())

    def _flows(self) -> None:
        """Has the left out output drawn again."""
        self.loop.remove_writer(self._output.fileno())
        self._output.leaves_out = False
        self._take_again()


class Guardian:
    """A shell that waits for the end of this process, at the other end of a pipe.

    It has a session of its own: no signal that the terminal sends reaches it.

    Args:
        before: The settings to restore, as `termios` has them.
        given_back: Output that undoes everything else, without a per cent sign.
    """

    def __init__(self, terminal: int, output: int, before: Sequence[Any], given_back: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        words = [
            name
            for place, names in SETTINGS.items()
            for name in names
            if before[place] & getattr(termios, name.upper())
        ]
        text = given_back.replace("\x1b", "\\033")
        command = ["/bin/sh", "-c", WAITS, text, *words]
        self._starting = threading.Thread(target=self._start, args=(command, terminal, output))
        self._starting.start()

    def _start(self, command: list[str], terminal: int, output: int) -> None:
        with contextlib.suppress(OSError):  # there is no such shell
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=terminal,
                cwd="/",
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """Ends it without output, once the terminal is restored."""
        self._starting.join()
        if self._process is not None:
            self._process.kill()  # before it sees the end of the pipe
            self._process.communicate()
