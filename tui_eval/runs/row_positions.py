"""Rows in the order of a file become rollouts with a place in their run, repeated lines once."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tui_eval.events import RolloutFinished, RowsTakenBack
from tui_eval.runs.formats.rows import UNKNOWN
from tui_eval.runs.row_index import RowIndex
from tui_eval.runs.row_places import RowPlaces

REPEATS_SHOWN = 5
"""Number of repeated rows that are named by their lines."""


class Counted:
    """Number of examples, and of rollouts of the largest one."""

    def __init__(self) -> None:
        self._rows: dict[Any, int] = {}
        self._most = self._numbered = 0
        self.rows = 0
        """Rows, also those that are there twice."""

    def add(self, events: Iterable[RolloutFinished]) -> None:
        """Counts some rows; one that says its number in its group counts those before it."""
        rows, most, numbered = self._rows, self._most, self._numbered
        for event in events:
            self.rows += 1
            n = rows.get(event.example_id, 0)
            if not 0 <= event.number < n:  # else it may be one that is counted
                n += 1
            rows[event.example_id] = n
            if n > most:
                most = n
            if event.number >= numbered:
                numbered = event.number + 1
        self._most, self._numbered = most, numbered

    @property
    def shape(self) -> tuple[int, int]:
        """Examples, and rollouts of the largest one."""
        return len(self._rows), max(self._most, min(self._numbered, self.rows))


def likely_shape(requested: tuple[int, int], counted: tuple[int, int]) -> tuple[int, int]:
    """The shape of a run: as it was requested, where that can be; as it was counted, where not."""
    if requested[1] and requested[1] >= counted[1]:
        return max(requested[0], counted[0]), requested[1]
    return counted[0], max(counted[1], 1)


class RowPositions:
    """Places the rows of one run.

    Args:
        shape: Examples, and rollouts of each.
        fixed: Whether a row behind the last example is none of this run; else examples are added.
    """

    def __init__(self, shape: tuple[int, int], *, fixed: bool) -> None:
        self.examples, self.per_example = shape
        self.rows = 0
        """Different rollouts so far."""
        self.repeats = 0
        """Rows of rollouts that have another row, which counts."""
        self.repeated_at: list[int] = []
        """Offsets of the first of them in the file, in bytes."""
        self._errored: dict[int, RolloutFinished] = {}
        self._fixed = fixed
        self.places = RowPlaces(self.per_example, self.examples)
        self._seen = bytearray(self.total)

    @property
    def total(self) -> int:
        """Places that there are."""
        return self.examples * self.per_example

    @property
    def errored(self) -> bool:
        """Whether a rollout ended in an error."""
        return bool(self._errored)

    def learn(self, events: Iterable[RolloutFinished]) -> None:
        """Takes over rows that have their places."""
        for event in events:
            self.places.learn(event)

    def place(
        self, events: Iterable[RolloutFinished]
    ) -> tuple[list[RolloutFinished], list[RolloutFinished]]:
        """Gives rows their places; returns those that have one now, and those that have none."""
        placed, misfits = [], []
        place_of, fixed, total = self.places.place_of, self._fixed, self.total
        for event in events:
            own, number = event.row, event.number
            found = place_of(
                event.example_id,
                None if number == UNKNOWN else number,
                None if own == UNKNOWN else own,
            )
            if found is None or (fixed and found[0] >= total):
                misfits.append(event)
                continue
            event.row, event.number = found
            placed.append(event)
        return placed, misfits

    def count(self, events: Iterable[RolloutFinished]) -> list[RolloutFinished | RowsTakenBack]:
        """The events of rows that have their places: the first one of a rollout without an
        error.

        A later one takes the place of one with an error, as with a resume.
        """
        reported: list[RolloutFinished | RowsTakenBack] = []
        for event in events:
            row = event.row
            if row >= len(self._seen):
                self.examples = row // self.per_example + 1
                self._seen.extend(bytes(self.total - len(self._seen)))
            if self._seen[row]:
                before = self._errored.get(row)
                if before is None or event.error is not None:
                    self._leave_out(event)
                    continue
                self._leave_out(self._errored.pop(row))
                reported.append(RowsTakenBack(0, event.at, [before]))
            else:
                self._seen[row] = 1
                self.rows += 1
            if event.error is not None:
                self._errored[row] = event
            reported.append(event)
        return reported

    def _leave_out(self, event: RolloutFinished) -> None:
        self.repeats += 1
        if len(self.repeated_at) < REPEATS_SHOWN:
            self.repeated_at.append(event.offset)


def count_once(index: RowIndex, requested: tuple[int, int]) -> Counted:
    """Counts over the rows of an index, each line once; the index then knows repeated ones.

    Equal lines may be rollouts that came out alike. They are only looked at where there are more
    than were requested, of as many examples as were.
    """
    index.repeated = frozenset()
    counted, (examples, each) = _counted(index), requested
    if counted.shape[0] == examples and counted.shape[1] > each > 0:
        index.repeated = frozenset(_repeated_lines(index, each))
        return _counted(index)
    return counted


def _counted(index: RowIndex) -> Counted:
    counted = Counted()
    for batch in index.kept():
        counted.add(index.once(batch))
    return counted


def _repeated_lines(index: RowIndex, per_example: int) -> Iterator[int]:
    """Offsets of lines that repeat one before, of examples with too many rows.

    No more of them than an example has too many; those that say their number in their group are
    left alone.
    """
    places: defaultdict[Any, list[tuple[int, int]]] = defaultdict(list)
    for events in index.kept():
        for event in events:
            if event.number == UNKNOWN:
                places[event.example_id].append((event.offset, event.length))
    with open(index.run.results, "rb") as file:
        for lines in places.values():
            extra, seen = len(lines) - per_example, set[bytes]()
            for offset, length in lines if extra > 0 else ():
                file.seek(offset)
                digest = hashlib.blake2b(file.read(length).strip()).digest()
                if digest in seen and extra:
                    yield offset
                    extra -= 1
                seen.add(digest)
