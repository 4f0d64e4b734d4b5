"""Gives a terminal back when what drew on it is gone and could not do so itself."""

from __future__ import annotations

import contextlib
import subprocess
import termios
import threading
from collections.abc import Sequence
from typing import Any

SETTINGS = {
    0: ("ixon", "ixoff", "icrnl", "inlcr", "igncr"),
    3: ("echo", "icanon", "iexten", "isig"),
}
"""What the driver may take from a terminal's settings, by their place and as `stty` names them."""
WAITS = """
exec 3<&2 2>/dev/null
taken=$(stty -g <&3)
read -r end
printf "$0"
sleep 0.1 || sleep 1
[ "$(stty -g <&3)" = "$taken" ] && stty "$@" <&3
"""
"""A shell with a line editor hears of the end as well and sets what it needs: its turn is first.

Only settings that are still the driver's after that are given back.
"""


class Guardian:
    """A shell that waits for the end of this process, by a pipe of which that has the other end.

    It has a session of its own: no signal that the terminal sends reaches it.

    Args:
        terminal: Where keys come from.
        output: Where is drawn.
        before: The settings to give back, as `termios` has them.
        given_back: What undoes everything else; no per cent sign is in it.
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
        """Ends it, once the terminal is given back: it writes nothing."""
        self._starting.join()
        if self._process is not None:
            self._process.kill()  # before it sees the end of the pipe
            self._process.communicate()
