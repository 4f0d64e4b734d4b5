"""What a form of an evaluation has to do with files, and what can be copied from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tui_eval.config.draft import Draft
from tui_eval.config.eval_document import Place
from tui_eval.tui.base.dialogs.prompts import STAY, Choice, Leave, Prompt
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.terminal.drawing import DrawnScreen
from tui_eval.tui.form.backend import FormBackend, Offer
from tui_eval.tui.form.looking import Looked
from tui_eval.tui.form.pickers import load_picker, save_picker, table_picker
from tui_eval.tui.form.texts import not_taken_text


class DraftFilesScreen(DrawnScreen[dict[str, Any] | None]):
    """A screen over a draft that is loaded from a file, saved as one, and copied."""

    desk: FormBackend
    draft: Draft
    looked: Looked
    keys: KeyLine
    now: Callable[[], float]

    def follow(self) -> None:
        """Looks at what is typed, soon."""
        raise NotImplementedError

    def show_draft(self, draft: Draft) -> None:
        """Shows another draft."""
        raise NotImplementedError

    def work(self, group: str, work: Any) -> None:
        """Awaits a function in the background, in place of what the group worked on."""
        self.run_worker(work, group=group, exclusive=True)

    def action_table(self) -> None:
        """Goes to another evaluation of the file."""
        draft = self.draft
        if len(draft.places) < 2:
            self.keys.say("There is one evaluation only.", self.now())
            return
        self.app.push_screen(table_picker(draft), self._select)

    def _select(self, offer: Offer | None) -> None:
        if offer is not None:
            place = self.draft.places[self.draft.titles.index(offer.name)]
            self.work("file", partial(self._turn_to, self.draft.copy(), place))

    async def _turn_to(self, draft: Draft, place: Place) -> None:
        try:
            await asyncio.to_thread(draft.select, place)
        except ValueError as error:
            self.keys.say(f"{error}.", self.now())
        else:
            self.show_draft(draft)

    def action_load(self) -> None:
        """Loads a TOML file."""
        self.app.push_screen(load_picker(self.desk), self._load)

    def _load(self, offer: Offer | None) -> None:
        if offer is not None:
            load = partial(self._load_file, Path(offer.name))
            self.unless_lost("Load another one?", "load", lambda: self.work("file", load))

    def unless_lost(self, title: str, word: str, go_on: Callable[[], object]) -> None:
        """Goes on; asks before where something that was typed would be lost.

        Args:
            word: For going on; its first letter is the key.
        """
        if not self.draft.is_changed():
            go_on()
            return
        from tui_eval.tui.base.dialogs.question import Question

        def answered(answer: Leave | None) -> None:
            if answer is not None and answer.save:
                self.action_save(go_on)
            elif answer is not None:
                go_on()

        going = Choice(word[0], word, "what was typed is lost", Leave("closed"))
        saving = Choice("w", f"save and {word}", "", Leave("closed", save=True))
        text = ["It has not been run, and the TOML has not been saved."]
        asked = Prompt(title, text, [STAY, saving, going])
        self.app.push_screen(Question(lambda: asked), answered)

    async def _load_file(self, path: Path) -> None:
        try:
            draft = await asyncio.to_thread(Draft.load, path)
        except ValueError as error:
            self.keys.say(str(error), self.now())
        else:
            self.show_draft(draft)

    def action_save(self, then: Callable[[], object] | None = None) -> None:
        """Saves the TOML.

        Args:
            then: What is done once it is saved.
        """
        self.app.push_screen(save_picker(self.draft), partial(self._save, then))

    def _save(self, then: Callable[[], object] | None, offer: Offer | None) -> None:
        if offer is not None:
            self.work("file", partial(self._save_file, Path(offer.name), then))

    async def _save_file(self, path: Path, then: Callable[[], object] | None) -> None:
        try:
            draft = self.draft.copy()
            text = await asyncio.to_thread(draft.save, path)
        except (ValueError, OSError) as error:
            self.keys.say(f"Not saved: {error}", self.now())
        else:
            self.draft.saved_at(path, text)
            self.follow()
            not_taken = not_taken_text(draft.not_taken())
            self.keys.say(f"{f'Saved {path} {not_taken}'.rstrip()}.", self.now())
            if then is not None:
                then()

    def action_copy_command(self) -> None:
        """Copies the command line."""
        self._copy(self.looked.command, "command line")

    def action_copy_toml(self) -> None:
        """Copies the TOML."""
        self._copy(self.looked.toml, "TOML")

    def _copy(self, text: str, what: str) -> None:
        from tui_eval.tui.copying.copy_menu import copy_at_once
        from tui_eval.tui.copying.copyable import given

        if text:
            without = not_taken_text(self.looked.not_taken)
            copy_at_once(self, given("", what, text, without), self._say)
        else:
            self._say(f"There is nothing to copy: {self.looked.no_toml}")

    def _say(self, text: str) -> None:
        self.keys.say(text, self.now())
