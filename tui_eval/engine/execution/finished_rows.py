"""The rows of finished rollouts: on disk before anybody hears of them.

While results.jsonl is replaced, what finishes waits in memory.
"""

from __future__ import annotations

from tui_eval import clock
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import RolloutFinished
from tui_eval.runs.formats.rows import read_row
from tui_eval.runs.journal import Journal
from tui_eval.runs.writer import RunWriter


class FinishedRows:
    """Writes the line of each finished rollout, then reports it."""

    def __init__(self, hub: Hub, writer: RunWriter, journal: Journal) -> None:
        self._hub = hub
        self._writer = writer
        self._journal = journal
        self._held_back: list[tuple[int, int, bytes]] | None = None

    def write(self, row: int, number: int, line: bytes) -> bytes:
        """Writes a line, then reports it, and forgets what was in flight of its rollout.

        Args:
            number: Of the rollout, among those of its example.

        Returns:
            The line as it is written: without secrets.

        Raises:
            OSError: It could not be written.
        """
        if self._held_back is not None:
            self._held_back.append((row, number, line))
            return self._writer.redact.line(line)
        offset, line = self._writer.append(line)
        event = read_row(1, offset, memoryview(line))
        assert isinstance(event, RolloutFinished), "a row of ours is one"
        event.at, event.row, event.number = clock.now(), row, number
        self._writer.remember(event)
        self._hub.finished(event)
        self._journal.forget(row)
        return line

    def hold(self) -> None:
        """From now on what finishes is kept in memory: the file is written again."""
        self._held_back = []

    def release(self) -> None:
        """Writes what finished meanwhile, and from now on at once again.

        Raises:
            OSError: A line could not be written.
        """
        held_back, self._held_back = self._held_back or [], None
        for row, number, line in held_back:
            self.write(row, number, line)
