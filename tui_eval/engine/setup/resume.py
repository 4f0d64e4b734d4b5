"""Resuming an interrupted run: what differs now, and what of it is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from tui_eval.engine.limits.spending import spent_on_superseded
from tui_eval.engine.setup.in_flight import restore_in_flight
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.errors import Notice, warning
from tui_eval.runs.layout import RunDir
from tui_eval.runs.repair import Repaired, repair
from tui_eval.runs.rescue import take_in
from tui_eval.runs.row_places import RowPlaces, unfinished_tokens
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.scan import scan
from tui_eval.token_kinds import Tokens
from tui_eval.worker.examples import Places


def restore_progress(prepared: Prepared, keep_errors: bool) -> None:
    """Makes the run's files whole and fills in what is done and what waits for its group.

    Where `prepared.again` names rows, only those of the errored ones run again.

    Raises:
        OSError: The files cannot be read or replaced.
    """
    prepared.notices += map(Notice, take_in(prepared.run))
    repaired = repair_run(prepared, keep_errors=keep_errors, again=prepared.again)
    prepared.done = repaired.kept
    shape = prepared.started.rollouts_per_example, prepared.started.num_examples
    places = RowPlaces(*shape, _positions(prepared.examples))
    done = {event.row for event in prepared.done}
    prepared.lost = _lost(prepared.run, places, done)
    prepared.started.lost = {**prepared.lost}
    prepared.notices += map(warning, repaired.dropped)
    restore_in_flight(prepared, done, _positions(prepared.examples))
    if prepared.grouped:
        _restore_members(prepared)


def _lost(run: RunDir, places: RowPlaces, done: Collection[int]) -> dict[int, Tokens]:
    """Tokens of attempts of the rollouts that are not done, by place."""
    lost = dict(spent_on_superseded(run, places))
    for row, tokens in unfinished_tokens(read_metadata(run), places).items():
        lost[row] = max(tokens, lost.get(row, tokens))  # it has those of the rows put aside in it
    return {row: tokens for row, tokens in lost.items() if row not in done}


def repair_run(prepared: Prepared, *, keep_errors: bool, again: Collection[int] | None) -> Repaired:
    """Makes the run's files whole, and takes out what is to run again: see `runs.repair.repair`."""
    return repair(
        prepared.run,
        rollouts_per_example=prepared.started.rollouts_per_example,
        examples=prepared.started.num_examples,
        positions=_positions(prepared.examples),
        keep_errors=keep_errors,
        again=again,
    )


def _positions(examples: Places) -> dict[Any, int]:
    return {id_: place for place, id_ in enumerate(examples.ids())}


def _restore_members(prepared: Prepared) -> None:
    """States of saved rollouts whose group has members left to do."""
    examples = prepared.examples
    places = {event.offset: event.row for event in prepared.done}
    members = Counter(examples.example(row) for row in places.values())
    for line in scan(prepared.run.results):
        row = places.get(line.offset, -1)
        if row < 0 or line.row is None:
            continue
        example = examples.example(row)
        if members[example] == examples.size(example):
            continue
        prepared.saved_members[row] = line.row
