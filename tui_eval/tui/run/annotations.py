"""What people put on single rollouts: notes with tags, and the mark for a comparison."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.fold.columns import Note, Notes, note_key
from tui_eval.text.stages import rollout_name
from tui_eval.tui.base.keys.keymap import key_for

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState
    from tui_eval.tui.run.screen import RunScreen


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


class Annotations:
    """Notes and the mark of a screen with a list of rollouts."""

    notebook: Notebook

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._rollouts = screen.rollouts

    def open(self) -> None:
        """Forgets the mark and the notes of another run."""
        self.notebook = Notebook(self._screen.state)
        self._show_mark()

    def read(self) -> None:
        """Reads the notes once it is known where they are."""
        if self.notebook.open():
            self._screen.run_worker(self._read(self.notebook), group="notes")

    async def _read(self, notebook: Notebook) -> None:
        await notebook.read()
        self._show(notebook)

    def _show(self, notebook: Notebook) -> None:
        if notebook is self.notebook:
            self._rollouts.put_notes(notebook.notes)

    def action_annotate(self) -> None:
        """Asks for a note and tags on the selected rollout."""
        from tui_eval.tui.run.note import NoteDialog

        row, notebook, state = self._rollouts.row, self.notebook, self._screen.state
        if row >= state.total or not notebook.path:
            self._screen.say("There is no rollout yet to put a note on.")
            return

        def answered(note: Note | None) -> None:
            if note is not None and note != notebook.get(row):
                self._screen.run_worker(self._write(notebook, row, note), group="note")

        dialog = NoteDialog(rollout_name(state, row), notebook.get(row))
        self._screen.app.push_screen(dialog, answered)

    async def _write(self, notebook: Notebook, row: int, note: Note) -> None:
        from tui_eval.errors import RefusedError

        say = self._screen.say
        try:
            await notebook.write(row, note)
        except RefusedError as error:
            say(" · ".join(f"{fault.what}. {fault.hint}".rstrip() for fault in error.faults))
        else:
            self._show(notebook)
            say("The note is kept." if note != Note() else "The note is gone.")

    # -- the mark

    @property
    def mark(self) -> int:
        """The marked row; -1 for none."""
        return self._rollouts.lines.mark

    def action_mark(self) -> None:
        """Holds the selected rollout for a comparison, or lets go of it."""
        row = self._rollouts.row
        if row < self._screen.state.total:
            self.put_mark(-1 if row == self.mark else row)

    def put_mark(self, row: int) -> None:
        """Marks a row; -1 for none."""
        self._rollouts.lines.mark = row
        self._rollouts.update()
        self._show_mark()
        self._screen.update_keys()

    def let_go_of_mark(self) -> bool:
        """Lets go of the mark where keys come to the list; returns whether there was one."""
        held = self._screen.focused is self._rollouts and self.mark >= 0
        if held:
            self.put_mark(-1)
        return held

    def _show_mark(self) -> None:
        name = rollout_name(self._screen.state, self.mark) if self.mark >= 0 else ""
        self._screen.keys.held = f"A: {name}" if name else ""
        self._screen.keys.update()

    def action_compare(self) -> None:
        """Compares the selected rollout with the marked one."""
        mark, row, screen = self.mark, self._rollouts.row, self._screen
        if mark < 0:
            screen.say(f"Mark a rollout first: {key_for('run.mark')} marks the selected one.")
        elif mark == row:
            screen.say("This one is marked: select the other one to compare.")
        else:
            from tui_eval.tui.compare.rollouts_screen import CompareRollouts

            now = self._rollouts.lines.now
            screen.app.push_screen(CompareRollouts(screen.feed, screen.state, mark, row, now=now))
