"""`python -m tui_eval.runs.export.child`: an export in a process of its own, for screens.

It reads one JSON object from standard input (see `Wanted`) and prints a JSON object a line: how far
it is, and last what became of it. A SIGTERM, or nobody who reads, ends it, and leaves no file.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.run_state import RunState
from tui_eval.runs.export.source import ExportSource
from tui_eval.runs.export.writer import write_export
from tui_eval.runs.notes import read_notes
from tui_eval.runs.saved_run import find_run, saved_events

REPORTS_EVERY_S = 0.1


class Wanted(msgspec.Struct):
    """Request of an export: a run, in one of `writer.FORMATS`, to a path."""

    run: str
    kind: str
    path: str
    offsets: list[int] | None = None
    """Offsets of the lines of the wanted rollouts, in the order in which they are wanted; None for
    all that are finished."""
    where: str = ""
    """Words for which ones these are."""
    overwrite: bool = False


def main() -> int:
    """Writes one export; returns 0, or 2 where it is refused."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=Wanted)
        written = _write(wanted)
    except RefusedError as error:
        _publish(faults=[(fault.where, fault.what, fault.hint) for fault in error.faults])
        return 2
    except OSError as error:
        _publish(faults=[Fault("export", error.strerror or str(error))])
        return 2
    _publish(done=written)
    return 0


def _end(number: int, frame: object) -> None:
    sys.exit(128 + number)


def _write(wanted: Wanted) -> int:
    source = _source(wanted)
    reported = written = 0.0
    path = Path(wanted.path)
    for progress in write_export(source, wanted.kind, path, overwrite=wanted.overwrite):
        written = progress.written
        if (now := time.monotonic()) - reported >= REPORTS_EVERY_S:
            reported = now
            _publish(written=written, total=progress.total)
    return int(written)


def _source(wanted: Wanted) -> ExportSource:
    run, state = find_run(Path(wanted.run)), RunState()
    for event in saved_events(run):
        state.apply(event)
    finished = [row for row in range(state.total) if state.stage[row] >= DONE]
    if wanted.offsets is not None:
        rows = {state.offset[row]: row for row in finished}
        finished = [rows[offset] for offset in wanted.offsets if offset in rows]
    if not finished:
        raise RefusedError([Fault(wanted.run, "none of these rollouts is on disk")])
    return ExportSource(run, state, read_notes(run), finished, wanted.where)


def _publish(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
