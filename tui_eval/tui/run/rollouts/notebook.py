"""The notes on the rollouts of one run, as they are beside it on disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.fold.columns import Note, Notes, note_key

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState


class Notebook:
    """Empty until it was read; whoever writes on a note replaces all of it."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self.notes: Notes = {}
        self.path = ""
        """Of the run whose notes are or will be read; empty before there is one."""

    def open(self) -> bool:
        """Finds out where the notes are; returns whether they are to be read from there."""
        run = self._state.run
        if run is None or run.path == self.path:
            return False
        self.path = run.path
        return True

    async def read(self) -> None:
        """Reads all notes of the run in a thread."""
        from tui_eval.errors import RefusedError
        from tui_eval.runs.notes import read_notes
        from tui_eval.runs.opening import find_run

        try:
            self.notes = await asyncio.to_thread(lambda: read_notes(find_run(Path(self.path))))
        except (ValueError, RefusedError):  # whoever told of the run told of no path, or it is gone
            pass

    def get(self, row: int) -> Note:
        """The note on a rollout; an empty one where there is none."""
        return self.notes.get(note_key(self._state, row), Note())

    async def write(self, row: int, note: Note) -> None:
        """Replaces the note on a rollout.

        Raises:
            RefusedError: It cannot be kept.
        """
        from tui_eval.runs.notes import write_note
        from tui_eval.runs.opening import find_run

        example, number = note_key(self._state, row)
        path = Path(self.path)
        await asyncio.to_thread(lambda: write_note(find_run(path), example, number, note))
        others = {key: value for key, value in self.notes.items() if key != (example, number)}
        self.notes = others if note == Note() else others | {(example, number): note}
