"""Repairs a run's files before a resume: one row a rollout, no torn line, a true index.

Files are replaced only here, before the first new line, by a temporary file and a rename. During a
run its results are only appended to, so that readers never see a file that is half of one thing.
Rows that run again are kept in superseded.jsonl: what they cost was spent.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from tui_eval.events import RolloutFinished
from tui_eval.runs.file_writing import keep_mode, sync_to_disk
from tui_eval.runs.index import new_index
from tui_eval.runs.layout import RunDir
from tui_eval.runs.row_events import event_of
from tui_eval.runs.row_places import RowPlaces
from tui_eval.runs.scan import Line, line_of, scan


class Repaired(msgspec.Struct):
    """Result of a repair."""

    kept: list[RolloutFinished] = msgspec.field(default_factory=list)
    """Rows that stand, in the order of the file."""
    rerun: list[RolloutFinished] = msgspec.field(default_factory=list)
    """Errored rows that were taken out to run again, as they were."""
    dropped: list[str] = msgspec.field(default_factory=list)
    """Lines that were taken out for other reasons, as sentences."""


def repair(
    run: RunDir,
    *,
    rollouts_per_example: int,
    examples: int,
    positions: Mapping[Any, int] | None = None,
    keep_errors: bool,
    again: Collection[int] | None = None,
) -> Repaired:
    """Leaves one row for each (example, rollout) and moves the others to superseded.jsonl.

    results.jsonl is replaced atomically, only where something has to go, and once the disk has
    taken the new file and its index: where it refuses, all is as it was. Of several rows of one
    rollout the first without error stays. What is no row at all (a torn last line, garbage)
    is moved as well: nothing received is thrown away. After a crash in the middle of it the lines
    that were to go are still there, or they are gone; superseded.jsonl may have them either way.

    Args:
        positions: Place of each example id in the dataset, where it is known.
        keep_errors: Leave errored rows where they are.
        again: Errored rows that are moved; None for all of them.

    Raises:
        OSError: The files cannot be read or replaced.
    """
    places = RowPlaces(rollouts_per_example, examples, positions)
    found = Repaired()
    kept, out, ends = _one_row_each(run, places, found)
    if not keep_errors:
        for row, (line, event) in list(kept.items()):
            if event.error is not None and (again is None or row in again):
                found.rerun.append(event)
                out.append(line)
                del kept[row]
    stay = sorted(kept.values(), key=lambda pair: pair[0].offset)
    new = _without(run, stay, out) if out or not ends else None
    found.kept = [event for _, event in stay]
    try:
        index = new_index(run.index, found.kept)
    except OSError:
        if new is not None:
            new.unlink(missing_ok=True)
        raise
    if new is not None:
        new.replace(run.results)
    index.replace(run.index)
    return found


def _one_row_each(
    run: RunDir, places: RowPlaces, found: Repaired
) -> tuple[dict[int, tuple[Line, RolloutFinished]], list[Line], bool]:
    """The line that stays of each rollout, those that go, and whether the last one is whole."""
    kept: dict[int, tuple[Line, RolloutFinished]] = {}
    out: list[Line] = []
    ends = True
    for line in scan(run.results):
        ends = line.ends
        place = None if line.row is None else places.place(line.row)
        if place is None:
            reason = line.fault or "the run has no such rollout"
            found.dropped.append(f"line {line.number} of results.jsonl: {reason}")
            out.append(line)
            continue
        event = event_of(line, *place)
        line = replace(line, row=None)
        before = kept.get(place[0])
        if before is not None and (before[1].error is None or event.error is not None):
            found.dropped.append(f"line {line.number} of results.jsonl: a second row of a rollout")
            out.append(line)
            continue
        if before is not None:
            out.append(before[0])
        kept[place[0]] = (line, event)
    return kept, out, ends


def _without(run: RunDir, stay: list[tuple[Line, RolloutFinished]], out: list[Line]) -> Path:
    """Puts lines aside, and makes a file of the others; the events say their places there."""
    new = run.results.with_suffix(".jsonl.new")
    try:
        with open(run.results, "rb") as source:
            if out:
                size = sum(line.length + 1 for line in out)
                append_once(run.superseded, (_text(source, line) for line in out), size)
            new.touch(mode=0o600)
            with open(new, "wb") as target:
                for line, event in stay:
                    event.offset = target.tell()
                    event.length = target.write(_text(source, line))
                target.flush()
                sync_to_disk(target.fileno())
        keep_mode(new, run.results)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    return new


def keep_damaged(run: RunDir) -> list[str]:
    """Keeps files that will be replaced and say nothing, because they are cut off or damaged.

    Returns:
        Sentences on the faults of each, and where it is kept.
    """
    reports = []
    for path in (run.metadata, run.versions):
        if not path.exists():
            continue
        line = line_of(1, 0, path.read_bytes().rstrip() + b"\n")
        why = "it is empty" if line is None else line.fault
        if why:
            kept = path.with_name(f"{path.name}.damaged")
            path.replace(kept)
            reports.append(f"{path.name}: {why}; what it says is left out, it is {kept.name} now")
    return reports


def _text(source: BinaryIO, line: Line) -> bytes:
    source.seek(line.offset)
    text = source.read(line.length)
    return text if text.endswith(b"\n") else text + b"\n"


def append_once(path: Path, texts: Iterable[bytes], size: int) -> None:
    """Appends lines, of `size` bytes at most, but for those that a cut-off attempt left at the end.

    Nothing is appended where the disk refuses, which raises.
    """
    path.touch(mode=0o600)
    end = path.stat().st_size
    try:
        with open(path, "a+b") as aside:
            aside.seek(max(end - size, 0))
            known, last = set(), b"\n"
            for last in aside:
                known.add(sha256(last).digest())
            if not last.endswith(b"\n"):
                aside.write(b"\n")
            aside.writelines(text for text in texts if sha256(text).digest() not in known)
            aside.flush()
            sync_to_disk(aside.fileno())
    except OSError:
        with contextlib.suppress(OSError):  # a line that was cut off is no row, and stays one line
            os.truncate(path, end)
        raise
