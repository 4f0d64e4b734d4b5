"""Reading in other programs: a text in the pager or the editor that somebody is used to."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

PAGERS, EDITORS = ("less", "more"), ("vi", "nano")
"""What is tried where nobody named one."""
ENDING = (signal.SIGTERM, signal.SIGHUP)


class NoProgramError(Exception):
    """Nothing can show the text; says why and what to do."""


def program(editor: bool, env: Mapping[str, str] = os.environ) -> list[str]:
    """The words of the program to read in.

    Raises:
        NoProgramError: The one that is named, or any, is not there.
    """
    names = ("VISUAL", "EDITOR") if editor else ("PAGER",)
    for name in names:
        try:
            words = shlex.split(env.get(name, ""))
        except ValueError as error:
            raise NoProgramError(f"${name} is no command: {error}") from None
        if words:
            if shutil.which(words[0]) is None:
                raise NoProgramError(f"${name} names {words[0]}, which is not there")
            return words
    found = next(filter(None, map(shutil.which, EDITORS if editor else PAGERS)), None)
    if found is None:
        raise NoProgramError(f"there is no {'editor' if editor else 'pager'}: set ${names[-1]}")
    return [found]


def read_elsewhere(app: App[Any], words: list[str], text: bytes, suffix: str) -> str:
    """Gives the terminal to a program until it ends; returns what went wrong, or an empty text.

    The text is in a file that only its owner can read and nobody is meant to write; it is removed
    afterwards. Blocks the loop: nothing may draw meanwhile.

    Args:
        words: From `program`.
        suffix: Of the file's name: programs colour by it.
    """
    from textual.app import SuspendNotSupported

    try:
        with tempfile.TemporaryDirectory(prefix="tui-eval-") as folder:
            path = Path(folder) / f"text{suffix}"
            path.write_bytes(text)
            path.chmod(0o400)
            with app.suspend():
                fault = _run([*words, str(path)])
    except SuspendNotSupported:
        return "this terminal cannot be lent to another program"
    except OSError as error:
        return f"the text could not be written to a file: {error.strerror or error}"
    return fault


def _run(words: list[str]) -> str:
    """Runs a program to its end; raises nothing, so that the terminal is taken back."""
    less = f"{os.environ.get('LESS', '')} -+F".strip()
    try:
        process = subprocess.Popen(words, env={**os.environ, "LESS": less})
        with _signals_to(process):
            code = process.wait()
    except (OSError, ValueError) as error:
        return f"{words[0]} could not be started: {getattr(error, 'strerror', None) or error}"
    if code > 0:
        return f"{words[0]} ended with exit code {code}"
    return f"{words[0]} was ended by signal {-code}" if code < 0 else ""


@contextmanager
def _signals_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C is for the program; what ends this process ends the program first.

    The loop hears of each signal by its own pipe and acts on it as soon as it runs again.
    """

    def end(number: int, frame: object) -> None:
        process.terminate()

    before: dict[int, Callable[..., Any] | int | None] = {
        number: signal.signal(number, end) for number in ENDING
    }
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
