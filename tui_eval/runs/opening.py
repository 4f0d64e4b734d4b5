"""Opening a saved run: the events that tell its story, and single rollouts by their place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.errors import Fault, RefusedError
from tui_eval.events import Noticed, RolloutFinished, RunFinished, RunStarted
from tui_eval.fold.transcript import Rollout, from_row
from tui_eval.runs.index import IndexReader, write_index
from tui_eval.runs.layout import RunDir, is_unsaved
from tui_eval.runs.scan import RowPlaces, decode_row, event_of, scan


def find_run(path: Path) -> RunDir:
    """The run directory that a path names: the directory itself or a file inside it.

    Raises:
        RefusedError: There is no run; says what was looked for.
    """
    run = RunDir(path.parent if path.is_file() else path)
    if not path.exists():
        raise RefusedError([Fault(str(path), "there is no such file or directory")])
    if not run.is_run():
        what = "this is no run: it holds no results.jsonl"
        raise RefusedError([Fault(str(path), what, "Name the directory that holds it")])
    return run


def read_metadata(run: RunDir) -> dict[str, Any]:
    """metadata.json as it is; empty where it is missing or torn."""
    try:
        found = msgspec.json.decode(run.metadata.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def run_started(run: RunDir) -> RunStarted:
    """What a saved run is, from its metadata."""
    meta = read_metadata(run)
    examples = _count(meta.get("num_examples"), 0)
    per_example = _count(meta.get("rollouts_per_example"), 1)
    time_ms = meta.get("time_ms") or 0.0
    complete_at = _modified(run)
    return RunStarted(
        seq=0,
        at=complete_at - time_ms / 1000,
        path=str(run.path),
        env_id=str(meta.get("env_id") or meta.get("env") or run.path.parent.name.split("--")[0]),
        model=str(meta.get("model") or "?"),
        base_url=str(meta.get("base_url") or ""),
        num_examples=examples,
        rollouts_per_example=per_example,
        total=examples * per_example,
        max_concurrent=0,
        saved=not is_unsaved(run),
        sampling_args=meta.get("sampling_args") or {},
        env_args=meta.get("env_args") or {},
        pass_threshold=float(meta.get("pass_threshold") or 0.5),
        complete_at=complete_at,
    )


def _count(value: Any, least: int) -> int:
    return value if isinstance(value, int) and value >= least else least


def _modified(run: RunDir) -> float:
    for path in (run.results, run.metadata):
        if path.exists():
            return path.stat().st_mtime
    return 0.0


def saved_events(run: RunDir) -> Iterator[RunStarted | RolloutFinished | Noticed | RunFinished]:
    """The story of a run that nobody writes now: what it is, every row, how it ended."""
    started = run_started(run)
    entries, unread = _from_index(run, started)
    scanned: list[RolloutFinished] = []
    faults: list[str] = []
    if unread is not None:
        places = RowPlaces(started.rollouts_per_example, started.num_examples)
        for line in scan(run.results, unread):
            place = None if line.row is None else places.place(line.row)
            if place is None:
                where = f"line {line.number}" if unread == 0 else f"byte {line.offset}"
                faults.append(f"results.jsonl, {where}: {line.fault or 'no place in this run'}")
            else:
                scanned.append(event_of(line, *place))
    rows = [*entries, *scanned]
    started.total = max(started.total, 1 + max((event.row for event in rows), default=-1))
    yield started
    yield from rows
    for fault in faults:
        yield Noticed(0, 0.0, "warning", fault)
    if scanned:
        _keep_index(run, rows)
    whole = len(rows) >= started.total
    status, code = ("finished", 0) if whole else ("interrupted", 130)
    if whole and any(event.error is not None for event in rows):
        code = 3
    yield RunFinished(0, started.complete_at, status, code)


def _from_index(run: RunDir, started: RunStarted) -> tuple[list[RolloutFinished], int | None]:
    """Entries that hold, and from which byte on results.jsonl must be scanned (None: nowhere)."""
    size = run.results.stat().st_size if run.results.exists() else 0
    reader = IndexReader(run.index)
    entries = reader.read()
    if reader.covered != reader.end:
        return [], 0
    if reader.end == size:
        return entries, None
    if entries and reader.end < size and _line_starts_at(run.results, reader.end):
        return entries, reader.end
    return [], 0


def _line_starts_at(path: Path, offset: int) -> bool:
    with open(path, "rb") as file:
        file.seek(offset - 1)
        return file.read(1) == b"\n"


def _keep_index(run: RunDir, rows: list[RolloutFinished]) -> None:
    if not run.plan.exists():
        return  # another program's run: nothing of ours is put beside it
    try:
        write_index(run.index, rows)
    except OSError:
        return


def read_rollout(run: RunDir, row: int, offset: int, length: int) -> Rollout | None:
    """The rollout whose line is at this place; None where it cannot be read any more."""
    try:
        with open(run.results, "rb") as file:
            file.seek(offset)
            return from_row(row, decode_row(file.read(length)))
    except (OSError, ValueError, RecursionError):
        return None
