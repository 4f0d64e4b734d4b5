"""The rows of finished rollouts: written to disk before they are published.

While results.jsonl is replaced, and while the disk refuses, finished rows wait in memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from tui_eval import clock
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import RolloutFinished
from tui_eval.runs.formats.rows import read_row
from tui_eval.runs.journal import Journal
from tui_eval.runs.writer import RunWriter

_BATCH_BYTES = 1 << 18


class FinishedRows:
    """Writes the line of each finished rollout, then reports it.

    Args:
        refused: Called where the disk refuses, once until a retry.
    """

    def __init__(
        self, hub: Hub, writer: RunWriter, journal: Journal, refused: Callable[[OSError], None]
    ) -> None:
        self._hub = hub
        self._writer = writer
        self._journal = journal
        self._refused = refused
        self._is_refused = False
        self.is_held = False
        """Whether rows are kept in memory because the file is written again."""
        self._waiting: deque[tuple[int, int, bytes]] = deque()

    @property
    def waiting(self) -> list[bytes]:
        """Lines that are not written, in their order, without secrets."""
        return [line for _, _, line in self._waiting]

    def write(self, row: int, number: int, line: bytes) -> bytes:
        """Writes a line, then reports it, and forgets the journal's records of its rollout.

        One `write()` has all that come within a turn of the loop: each is made in another thread,
        as the disk may not answer, which takes longer than a line does.

        Args:
            number: Of the rollout, among those of its example.

        Returns:
            The line as it will be written: without secrets.
        """
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write_if_possible)
        line = self._writer.redact.line(line)
        self._waiting.append((row, number, line))
        if self.is_held or self._is_refused:
            self._mark_held(row)
        return line

    def _mark_held(self, row: int) -> None:
        """Has the rollout published as one whose row waits."""
        if (rollout := self._hub.active.get(row)) is not None:
            self._hub.mark_changed(rollout)

    def _write_if_possible(self) -> None:
        if self.is_held or self._is_refused:
            return
        try:
            self._write_waiting()
        except OSError as error:
            self._is_refused = True
            self._refused(error)
            for row, _, _ in self._waiting:
                self._mark_held(row)

    def _write_waiting(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            offset, _ = self._writer.append(b"".join([line for _, _, line in batch]))
            for _ in batch:
                self._waiting.popleft()
            for row, number, line in batch:
                self._report(row, number, offset, line)
                offset += len(line)

    def _next_batch(self) -> list[tuple[int, int, bytes]]:
        """The first of those that wait: few at a time, for a disk with room for few."""
        batch: list[tuple[int, int, bytes]] = []
        size = 0
        for one in self._waiting:
            size += len(one[2])
            if batch and size > _BATCH_BYTES:
                break
            batch.append(one)
        return batch

    def _report(self, row: int, number: int, offset: int, line: bytes) -> None:
        event = read_row(1, offset, memoryview(line))
        assert isinstance(event, RolloutFinished), "a row of ours is one"
        event.at, event.row, event.number = clock.now(), row, number
        self._writer.remember(event)
        self._hub.finished(event)
        self._journal.forget(row)

    def hold(self) -> None:
        """Keeps rows in memory from now on: the file is written again."""
        self.is_held = True

    def release_later(self) -> None:
        """Holds no more rows, and leaves those that wait to `retry`."""
        self.is_held, self._is_refused = False, self._is_refused or bool(self._waiting)

    def release(self) -> None:
        """Writes the rows that wait, and further ones at once again."""
        self.is_held = False
        self._write_if_possible()

    def retry(self) -> None:
        """Writes the rows that the disk refused.

        Raises:
            OSError: It refuses still.
        """
        if not self.is_held:
            self._write_waiting()
        self._is_refused = False
