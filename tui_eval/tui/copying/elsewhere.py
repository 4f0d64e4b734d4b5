"""Reading in other programs: a text in the user's pager or editor.

Texts are plain, without control characters of a terminal.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.errors import RefusedError
from tui_eval.printable import printable
from tui_eval.runs.export.one_rollout import (
    call_text,
    plain_json,
    rollout_json,
    rollout_markdown,
    whole_call_json,
)

if TYPE_CHECKING:
    from textual.app import App

    from tui_eval.feeds.feed import Feed
    from tui_eval.fold.columns import Notes
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.tui.base.terminal.drawing import DrawnScreen
    from tui_eval.tui.trajectory.parts import Part

AT_ONCE = 1 << 20
PAGERS, EDITORS = ("less", "more"), ("vi", "nano")
"""Programs to try where none is named."""
ENDING = (signal.SIGTERM, signal.SIGHUP)


class Readable(NamedTuple):
    """A text, and the file name's ending for its format."""

    text: str
    suffix: str


def piece_text(part: Part, editor: bool) -> Readable | None:
    """A piece of the trajectory; None where it has no text."""
    if part.tool is not None and editor:
        return Readable(whole_call_json(part.tool), ".json")
    if part.tool is not None:
        return Readable(printable(call_text(part.tool)), ".txt")
    texts = [block.text for block in part.blocks()]
    if part.entry is not None:
        texts = list(filter(None, (part.entry.reasoning, part.entry.text)))
    text = "\n\n".join(texts)
    return Readable(printable(text) + "\n", ".md") if text else None


def rollout_text(
    state: RunState, row: int, rollout: Rollout | None, notes: Notes, editor: bool
) -> Readable:
    """A whole rollout: Markdown for the pager, JSON for the editor; raises as `saved_line` does."""
    if editor:
        value = json.loads(rollout_json(state, row, rollout, notes))
        return Readable(plain_json(value) + "\n", ".json")
    if rollout is None:
        raise ValueError("this rollout cannot be read back from results.jsonl")
    return Readable(printable(rollout_markdown(state, row, rollout, notes)), ".md")


def log_text(feed: Feed) -> Readable:
    """The output of the engine and of people's code so far; for a thread.

    Raises:
        OSError: It cannot be read.
    """
    found = bytearray()
    while True:
        data, size = feed.log(len(found), AT_ONCE)
        found += data
        if not data or len(found) >= size:
            return Readable(printable(found.decode("utf-8", "replace")), ".log")


class NoProgramError(Exception):
    """No program can show the text; says why and what to do."""


def program(editor: bool, env: Mapping[str, str] = os.environ) -> list[str]:
    """The command of the program to read in.

    Raises:
        NoProgramError: The named program, or any, is missing.
    """
    names, usual = (("VISUAL", "EDITOR"), EDITORS) if editor else (("PAGER",), PAGERS)
    for name in names:
        try:
            words = shlex.split(env.get(name, ""))
        except ValueError as error:
            raise NoProgramError(f"${name} is no command: {error}") from None
        if words:
            if shutil.which(words[0]) is None:
                raise NoProgramError(f"${name} names {words[0]}, which is not there")
            return words
    found = next(filter(None, map(shutil.which, usual)), None)
    if found is None:
        raise NoProgramError(f"There is no {'editor' if editor else 'pager'}: set ${names[-1]}")
    return [found]


def open_elsewhere(
    screen: DrawnScreen[Any], editor: bool, make: Callable[[], Awaitable[Readable | None]]
) -> None:
    """Opens a text in the pager or the editor; replaces a text that is still being made."""
    try:
        words = program(editor)
    except NoProgramError as error:
        screen.say(f"{error}.")
    else:
        screen.run_worker(_open(screen, words, make), group="elsewhere", exclusive=True)


async def _open(
    screen: DrawnScreen[Any], words: list[str], make: Callable[[], Awaitable[Readable | None]]
) -> None:
    try:
        found = await make()
    except (RefusedError, OSError, ValueError) as error:
        screen.say(f"It cannot be opened: {error}")
        return
    if found is None:
        screen.say("There is nothing to read here yet.")
    elif fault := read_elsewhere(screen.app, words, found):
        screen.say(f"{fault}.")


def read_elsewhere(app: App[Any], words: list[str], found: Readable) -> str:
    """Gives the terminal to a program until it ends; returns a fault, or an empty text.

    The text is in a read-only file for its owner alone; it is removed afterwards. Blocks the loop:
    nothing may draw meanwhile.

    Args:
        words: From `program`; the program may colour by the ending of the file's name.
    """
    from textual.app import SuspendNotSupported

    try:
        with tempfile.TemporaryDirectory(prefix="tui-eval-") as folder:
            path = Path(folder) / f"text{found.suffix}"
            path.write_text(found.text, "utf-8", "backslashreplace")
            path.chmod(0o400)
            with app.suspend():
                fault = _run([*words, str(path)])
    except SuspendNotSupported:
        return "This terminal cannot be lent to another program"
    except OSError as error:
        return f"The text could not be written to a file: {error.strerror or error}"
    return fault


def _run(words: list[str]) -> str:
    """Runs a program to its end; raises nothing, so that the terminal is taken back."""
    less = f"{os.environ.get('LESS', '')} -+F".strip()
    try:
        code = _lend_terminal(words, {**os.environ, "LESS": less})
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return f"The program {words[0]} could not be started: {why}"
    if code > 0:
        return f"The program {words[0]} ended with exit code {code}"
    return f"The program {words[0]} was ended by signal {-code}" if code < 0 else ""


def _lend_terminal(words: list[str], env: Mapping[str, str]) -> int:
    """Runs a program to its end; returns its exit code.

    Meanwhile it gets all keys, also Ctrl-C and Ctrl-Z. A signal that ends this process ends the
    program first, and reaches the loop afterwards.
    """
    came: list[int] = []
    programs: list[subprocess.Popen[bytes]] = []

    def end(number: int, frame: object) -> None:
        came.append(number)
        for one in programs:
            one.terminate()

    # Ctrl-C gets a handler: the program would inherit an ignored signal.
    handlers: dict[int, Any] = {**dict.fromkeys(ENDING, end), signal.SIGTSTP: signal.SIG_DFL}
    handlers[signal.SIGINT] = lambda number, frame: None
    wakes = signal.set_wakeup_fd(-1)  # by which the loop would get all of them
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        programs.append(subprocess.Popen(words, env=env))
        if came:
            programs[0].terminate()
        return programs[0].wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        signal.set_wakeup_fd(wakes)
        for number in came[:1]:
            signal.raise_signal(number)
