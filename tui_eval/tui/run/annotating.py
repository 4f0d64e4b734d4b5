"""What people put on single rollouts: notes with tags, and the mark for a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.fold.columns import Note
from tui_eval.fold.run_state import RunState
from tui_eval.text.stages import rollout_name
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.run.asking import AskingScreen
from tui_eval.tui.run.rollouts.notebook import Notebook
from tui_eval.tui.run.rollouts.rollout_list import RolloutList

if TYPE_CHECKING:
    from tui_eval.feeds.feed import Feed


class AnnotatingScreen(AskingScreen):
    """A screen with a list of rollouts, of which one is selected."""

    feed: Feed
    state: RunState
    rollouts: RolloutList
    keys: KeyLine
    notebook: Notebook

    def _update_keys(self) -> None:
        """Shows the keys that work now."""
        raise NotImplementedError

    def open_notebook(self) -> None:
        """Forgets the mark and the notes of another run."""
        self.notebook = Notebook(self.state)
        self._tell_mark()

    def read_notes(self) -> None:
        """Reads the notes once it is known where they are."""
        if self.notebook.open():
            self.run_worker(self._read_notes(self.notebook), group="notes")

    async def _read_notes(self, notebook: Notebook) -> None:
        await notebook.read()
        self._show_notes(notebook)

    def _show_notes(self, notebook: Notebook) -> None:
        if notebook is self.notebook:
            self.rollouts.put_notes(notebook.notes)

    def _say(self, text: str) -> None:
        self.keys.say(text, self.rollouts.lines.now())

    # -- notes

    def action_annotate(self) -> None:
        """Asks for a note and tags on the selected rollout."""
        from tui_eval.tui.run.note import NoteDialog

        row, notebook = self.rollouts.row, self.notebook
        if row >= self.state.total or not notebook.path:
            self._say("There is no rollout yet to put a note on.")
            return

        def answered(note: Note | None) -> None:
            if note is not None and note != notebook.get(row):
                self.run_worker(self._keep_note(notebook, row, note), group="note")

        name = rollout_name(self.state, row)
        self.app.push_screen(NoteDialog(name, notebook.get(row)), answered)

    async def _keep_note(self, notebook: Notebook, row: int, note: Note) -> None:
        from tui_eval.errors import RefusedError

        try:
            await notebook.write(row, note)
        except RefusedError as error:
            self._say(" · ".join(f"{fault.what}. {fault.hint}".rstrip() for fault in error.faults))
        else:
            self._show_notes(notebook)
            self._say("The note is kept." if note != Note() else "The note is gone.")

    # -- the mark

    def action_mark(self) -> None:
        """Holds the selected rollout for a comparison, or lets go of it."""
        row = self.rollouts.row
        if row < self.state.total:
            self.put_mark(-1 if row == self.rollouts.lines.mark else row)

    def put_mark(self, row: int) -> None:
        """Marks a row; -1 for none."""
        self.rollouts.lines.mark = row
        self.rollouts.update()
        self._tell_mark()
        self._update_keys()

    def let_go_of_mark(self) -> bool:
        """Lets go of the mark where keys come to the list; returns whether there was one."""
        held = self.focused is self.rollouts and self.rollouts.lines.mark >= 0
        if held:
            self.put_mark(-1)
        return held

    def _tell_mark(self) -> None:
        mark = self.rollouts.lines.mark
        name = rollout_name(self.state, mark) if mark >= 0 else ""
        self.keys.held = f"A: {name}" if name else ""
        self.keys.update()

    def action_compare(self) -> None:
        """Compares the selected rollout with the marked one."""
        mark, row = self.rollouts.lines.mark, self.rollouts.row
        if mark < 0:
            self._say(f"Mark a rollout first: {key_for('run.mark')} marks the selected one.")
        elif mark == row:
            self._say("This one is marked: select the other one to compare.")
        else:
            from tui_eval.tui.compare.rollouts_screen import CompareRollouts

            now = self.rollouts.lines.now
            self.app.push_screen(CompareRollouts(self.feed, self.state, mark, row, now=now))
