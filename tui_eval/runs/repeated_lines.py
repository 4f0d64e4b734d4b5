"""Repeated lines of another program's file, distinguished from equal rollouts."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tui_eval.runs.formats.rows import UNTOLD
from tui_eval.runs.row_index import RowIndex
from tui_eval.runs.row_positions import Counted


def count_once(index: RowIndex, requested: tuple[int, int]) -> Counted:
    """What the rows that an index has come to, each line once; the index knows those then.

    Equal lines may be rollouts that came out alike. They are only looked at where there are more
    than were requested, of as many examples as were.

    Args:
        requested: Examples, and rollouts of each; 0 where not known.

    Raises:
        OSError: The file cannot be read.
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
    """Where the lines begin that are the same as one before, of examples with too many rows.

    No more of them than an example has too many; those that say their number in their group are
    left alone.
    """
    places: defaultdict[Any, list[tuple[int, int]]] = defaultdict(list)
    for events in index.kept():
        for event in events:
            if event.number == UNTOLD:
                places[event.example_id].append((event.offset, event.length))
    with open(index.source, "rb") as file:
        for lines in places.values():
            extra, seen = len(lines) - per_example, set[bytes]()
            for offset, length in lines if extra > 0 else ():
                file.seek(offset)
                digest = hashlib.blake2b(file.read(length).strip()).digest()
                if digest in seen and extra:
                    yield offset
                    extra -= 1
                seen.add(digest)
