"""Exports: what another process writes, so that the screen never waits for it, and whole texts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.rollout_columns import DONE
from tui_eval.runs.file_writing import is_replaceable, temporary_path

if TYPE_CHECKING:
    from textual.app import App

    from tui_eval.fold.run_state import RunState

ENDS_WITHIN_S = 3.0
"""How long a process that was told to end may take to remove what it has written so far."""
_NO_NAME = re.compile(r"[^\w.-]+")


class Part(NamedTuple):
    """Rollouts that can be exported.

    Args:
        label: What they are.
        offsets: Where their lines begin in the file of the run; None for all.
        where: How people say which ones they are, in the export itself.
        name: What stands for them in the name of the file.
    """

    label: str
    offsets: list[int] | None = None
    where: str = ""
    name: str = ""


def part_of(state: RunState, rows: Sequence[int], label: str, where: str, name: str) -> Part:
    """Those of some rows that have finished."""
    offsets = [state.offset[row] for row in rows if state.stage[row] >= DONE]
    return Part(label, offsets, where, _NO_NAME.sub("-", name).strip("-")[:40])


def missing_package(kind: str) -> str:
    """The package that a format needs and that is not installed; empty where nothing is missing.

    Nothing is imported: that would take the screen's time and memory.
    """
    return "pyarrow" if kind == "parquet" and find_spec("pyarrow") is None else ""


async def deliver(app: App[Any], path: Path) -> str:
    """Has the browser download a file; returns what became of that, as a part of a sentence."""
    try:
        file = await asyncio.to_thread(path.open, "rb")
    except OSError as error:
        return f"not downloaded ({error.strerror})"
    app.deliver_binary(file, save_filename=_NO_NAME.sub("-", path.name))
    return "downloaded"


class Export:
    """One export: `written` of `total` rollouts are in the file so far.

    Args:
        wanted: See `runs.export.child.Wanted`.
    """

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.wanted = wanted
        self.written = self.total = 0
        self.is_cancelled = False
        self._process: asyncio.subprocess.Process | None = None

    async def write(self) -> str:
        """Writes it; returns what went wrong, or an empty text."""
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tui_eval.runs.export.child"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        last: dict[str, Any] = {}
        try:
            assert process.stdin is not None and process.stdout is not None
            with contextlib.suppress(ConnectionError):
                process.stdin.write(json.dumps(self.wanted).encode())
                await process.stdin.drain()
            process.stdin.close()
            async for line in process.stdout:
                last = json.loads(line)
                self.written = last.get("done", last.get("written", self.written))
                self.total = last.get("total", self.total)
        finally:
            await self._end()
        if "done" in last:
            return ""
        faults = ["; ".join(filter(None, fault[1:])) for fault in last.get("faults", ())]
        return " · ".join(faults) or f"the export ended with {process.returncode}"

    def cancel(self) -> None:
        """Ends it; what was written so far goes away."""
        self.is_cancelled = True
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()

    async def _end(self) -> None:
        """Leaves no process behind, and none that has had no time to clean up."""
        process = self._process
        if process is None:
            return
        if process.returncode is None and not (process.stdout and process.stdout.at_eof()):
            process.terminate()
        try:
            async with asyncio.timeout(ENDS_WITHIN_S):
                await process.wait()
        except (TimeoutError, asyncio.CancelledError):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            self._clean_up(process.pid)
            raise

    def _clean_up(self, pid: int) -> None:
        temporary_path(Path(self.wanted["path"]), pid).unlink(missing_ok=True)


class WholeText(NamedTuple):
    """What a screen shows as one text, for a file in one of several formats or another program.

    Args:
        what: It is, with its article, as a sentence begins.
        about: Which part of it, as a sentence.
        name: Of the file, without an ending, unless somebody names it.
        formats: Makes it, by the ending of a file's name; in a thread.
        read: The endings of what the pager and the editor get.
    """

    what: str
    about: str
    name: str
    formats: Mapping[str, Callable[[], str]]
    read: tuple[str, str]

    def write(self, path: Path) -> None:
        """Writes it as the ending of the file's name says.

        Raises:
            RefusedError: The file is there already, its name says no format, or the text cannot
                be made.
            OSError: It cannot be written.
            ValueError: The text cannot be made.
        """
        made = self.formats.get(path.suffix.lower())
        if made is None:
            hint = f"End it with {', '.join(self.formats)}"
            raise RefusedError([Fault(str(path), "its name says no format", hint)])
        text = made()
        try:
            mode = "x" if is_replaceable(path) else "w"
            target = path.resolve() if mode == "x" else path
            with target.open(mode, encoding="utf-8", newline="", errors="backslashreplace") as file:
                file.write(text)
        except FileExistsError:
            there = Fault(str(path), "it is there already", "Name another file")
            raise RefusedError([there]) from None
