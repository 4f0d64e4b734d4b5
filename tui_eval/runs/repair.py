"""Making a run's files whole before it goes on: one row a rollout, no torn line, a true index."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tui_eval.events import RolloutFinished
from tui_eval.runs.index import write_index
from tui_eval.runs.layout import RunDir
from tui_eval.runs.scan import Line, RowPlaces, event_of, scan


@dataclass(slots=True)
class Repaired:
    """What a repair found.

    Args:
        kept: Rows that stand, in the order of the file.
        rerun: Places of errored rows that were taken out to run again.
        dropped: Lines that were taken out for other reasons, as sentences.
    """

    kept: list[RolloutFinished] = field(default_factory=list)
    rerun: list[int] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def repair(
    run: RunDir,
    *,
    rollouts_per_example: int,
    examples: int,
    positions: Mapping[Any, int] | None = None,
    keep_errors: bool,
) -> Repaired:
    """Leaves one row for each (example, rollout) and moves the others to superseded.jsonl.

    results.jsonl is replaced atomically, and only where something has to go. Of several rows of
    one rollout the first without error stays. What is no row at all (a torn last line, garbage)
    is moved as well: nothing received is thrown away.

    Args:
        positions: Place of each example id in the dataset, where it is known.
        keep_errors: Leave errored rows where they are.

    Raises:
        OSError: The files cannot be read or replaced.
    """
    places = RowPlaces(rollouts_per_example, examples, positions)
    found = Repaired()
    kept: dict[int, tuple[Line, RolloutFinished]] = {}
    out: list[Line] = []
    for line in scan(run.results):
        place = None if line.row is None else places.place(line.row)
        if place is None:
            reason = line.fault or "the run has no such rollout"
            found.dropped.append(f"line {line.number} of results.jsonl: {reason}")
            out.append(line)
            continue
        event = event_of(line, *place)
        before = kept.get(place[0])
        if before is not None and (before[1].error is None or event.error is not None):
            found.dropped.append(f"line {line.number} of results.jsonl: a second row of a rollout")
            out.append(line)
            continue
        if before is not None:
            out.append(before[0])
        kept[place[0]] = (line, event)
    if not keep_errors:
        for row, (line, event) in list(kept.items()):
            if event.error is not None:
                found.rerun.append(row)
                out.append(line)
                del kept[row]
    stay = sorted(kept.values(), key=lambda pair: pair[0].offset)
    if out:
        _move(run, [line for line, _ in stay], out)
        offset = 0
        for line, event in stay:
            event.offset = offset
            offset += line.length
    found.kept = [event for _, event in stay]
    write_index(run.index, found.kept)
    return found


def _move(run: RunDir, stay: list[Line], out: list[Line]) -> None:
    new = run.results.with_suffix(".jsonl.new")
    with open(run.results, "rb") as source:
        with open(run.superseded, "ab") as aside:
            for line in out:
                source.seek(line.offset)
                text = source.read(line.length)
                aside.write(text if text.endswith(b"\n") else text + b"\n")
            aside.flush()
            os.fsync(aside.fileno())
        with open(new, "wb") as target:
            for line in stay:
                source.seek(line.offset)
                target.write(source.read(line.length))
            target.flush()
            os.fsync(target.fileno())
    new.replace(run.results)
