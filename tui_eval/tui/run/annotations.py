"""Annotations of rollouts: notes with tags, and the mark for a comparison."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.fold.columns import Note, Notes, note_key
from tui_eval.text.stages import rollout_name
from tui_eval.tui.base.keys.keymap import key_for

if TYPE_CHECKING:
    from tui_eval.tui.run.screen import RunScreen


class Annotations:
    """Notes and the mark of a screen with a list of rollouts."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen
        self._rollouts = screen.rollouts
        self.notes: Notes = {}
        self._path = ""
        """The path of the run whose notes are or will be read; empty before there is one."""

    def open(self) -> None:
        """Forgets the mark and the notes of another run."""
        self.notes, self._path = {}, ""
        self._show_mark()

    def get(self, row: int) -> Note:
        """The note on a rollout; an empty one where there is none."""
        return self.notes.get(note_key(self._screen.state, row), Note())

    def read(self) -> None:
        """Reads the notes once it is known where they are."""
        run = self._screen.state.run
        if run is not None and run.path != self._path:
            self._path = run.path
            self._screen.run_worker(self._read(run.path), group="notes")

    async def _read(self, path: str) -> None:
        from tui_eval.errors import RefusedError
        from tui_eval.runs.notes import read_notes
        from tui_eval.runs.saved_run import find_run

        try:
            notes = await asyncio.to_thread(lambda: read_notes(find_run(Path(path))))
        except (ValueError, RefusedError):  # the feed gave no path, or it is gone
            return
        self._show(path, notes)

    def _show(self, path: str, notes: Notes) -> None:
        if path == self._path:
            self.notes = notes
            self._rollouts.put_notes(notes)
            self._screen.navigation.show_reward()

    def action_annotate(self) -> None:
        """Asks for a note and tags on the selected rollout."""
        from tui_eval.tui.base.dialogs.question import NoteDialog

        row, path, state = self._rollouts.row, self._path, self._screen.state
        if row >= state.total or not path:
            self._screen.say("There is no rollout yet to put a note on.")
            return
        known, key = self.get(row), note_key(state, row)

        def answered(note: Note | None) -> None:
            if note is not None and note != known:
                self._screen.run_worker(self._write(path, key, note), group="note")

        self._screen.app.push_screen(NoteDialog(rollout_name(state, row), known), answered)

    async def _write(self, path: str, key: tuple[str, int], note: Note) -> None:
        from tui_eval.errors import RefusedError
        from tui_eval.runs.notes import write_note
        from tui_eval.runs.saved_run import find_run

        say = self._screen.say
        try:
            await asyncio.to_thread(lambda: write_note(find_run(Path(path)), *key, note))
        except RefusedError as error:
            say(" · ".join(f"{fault.what}. {fault.hint}".rstrip() for fault in error.faults))
            return
        others = {one: kept for one, kept in self.notes.items() if one != key}
        self._show(path, others if note == Note() else others | {key: note})
        say("The note is kept." if note != Note() else "The note is gone.")

    @property
    def mark(self) -> int:
        """The marked row; -1 for none."""
        return self._rollouts.lines.mark

    def action_mark(self) -> None:
        """Marks the selected rollout for a comparison, or unmarks it."""
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
        """Removes the mark where the list has the focus; returns whether there was one."""
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
