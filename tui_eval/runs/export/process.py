"""An export in a process of its own, as a screen begins it: so nothing there waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.run_state import RunState
from tui_eval.runs.export.child import Wanted
from tui_eval.runs.file_writing import plain_name, temporary_path

ENDS_WITHIN_S = 3.0
"""Seconds in which a process that is to end may remove what it has written so far."""


class Part(NamedTuple):
    """Rollouts that can be exported.

    Args:
        label: Words for the rollouts.
        offsets: Offsets of their lines in the file of the run; None for all.
        where: Words for which ones they are, in the export itself.
        name: Part of the file's name that stands for them.
    """

    label: str
    offsets: list[int] | None = None
    where: str = ""
    name: str = ""


def part_of(state: RunState, rows: Sequence[int], label: str, where: str, name: str) -> Part:
    """The rollouts of some rows that have finished."""
    offsets = [state.offset[row] for row in rows if state.stage[row] >= DONE]
    return Part(label, offsets, where, plain_name(name).strip("-")[:40])


class Export:
    """One export: `written` of `total` rollouts are in the file so far."""

    def __init__(self, wanted: Wanted) -> None:
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
                process.stdin.write(msgspec.json.encode(self.wanted))
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
        temporary_path(Path(self.wanted.path), pid).unlink(missing_ok=True)
