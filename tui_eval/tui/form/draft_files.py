"""The files of a form's draft: loading, saving and copying it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.config.draft import Draft
from tui_eval.tui.base.dialogs.prompts import STAY, Choice, Leave, Prompt
from tui_eval.tui.form.backend import Offer
from tui_eval.tui.form.boxes import load_picker, save_picker, table_picker
from tui_eval.tui.form.picker import Picker
from tui_eval.tui.form.texts import not_taken_text

if TYPE_CHECKING:
    from tui_eval.tui.form.screen import ConfigureScreen


class DraftFiles:
    """Loads, saves and copies the draft of a screen."""

    def __init__(self, screen: ConfigureScreen) -> None:
        self._screen = screen

    def action_table(self) -> None:
        """Goes to another evaluation of the file."""
        draft = self._screen.draft
        if len(draft.places) < 2:
            self._screen.say("There is one evaluation only.")
            return
        self._choose(table_picker(draft), self._turn_to)

    def _choose(self, picker: Picker, work: Callable[[str], Awaitable[None]]) -> None:
        """Has something chosen, and works on that."""

        def chosen(offer: Offer | None) -> None:
            if offer is not None:
                self._screen.work("file", partial(work, offer.name))

        self._screen.app.push_screen(picker, chosen)

    async def _turn_to(self, title: str) -> None:
        draft = self._screen.draft.copy()
        try:
            await asyncio.to_thread(draft.select, draft.places[draft.titles.index(title)])
        except ValueError as error:
            self._screen.say(f"{error}.")
        else:
            self._screen.show_draft(draft)

    def action_load(self) -> None:
        self._screen.app.push_screen(load_picker(self._screen.backend), self._load)

    def _load(self, offer: Offer | None) -> None:
        if offer is not None:
            load = partial(self._load_file, Path(offer.name))
            self.unless_lost("Load another one?", "load", lambda: self._screen.work("file", load))

    def unless_lost(self, title: str, word: str, proceed: Callable[[], object]) -> None:
        """Calls `proceed`, after a question where typed text would be lost.

        Args:
            word: The answer for proceeding; its first letter is the key.
        """
        if not self._screen.draft.is_changed():
            proceed()
            return
        from tui_eval.tui.base.dialogs.question import Question

        def answered(answer: Leave | None) -> None:
            if answer is not None and answer.save:
                self.action_save(proceed)
            elif answer is not None:
                proceed()

        leaving = Choice(word[0], word, "what was typed is lost", Leave("closed"))
        saving = Choice("w", f"save and {word}", "", Leave("closed", save=True))
        text = ["It has not been run, and the TOML has not been saved."]
        prompt = Prompt(title, text, [STAY, saving, leaving])
        self._screen.app.push_screen(Question(lambda: prompt), answered)

    async def _load_file(self, path: Path) -> None:
        try:
            draft = await asyncio.to_thread(Draft.load, path)
        except ValueError as error:
            self._screen.say(str(error))
        else:
            self._screen.show_draft(draft)

    def action_save(self, then: Callable[[], object] | None = None) -> None:
        """Saves the TOML.

        Args:
            then: Called once it is saved.
        """
        self._choose(save_picker(self._screen.draft), partial(self._save, then))

    async def _save(self, then: Callable[[], object] | None, name: str) -> None:
        path = Path(name)
        try:
            draft = self._screen.draft.copy()
            text = await asyncio.to_thread(draft.save, path)
        except (ValueError, OSError) as error:
            self._screen.say(f"Not saved: {error}")
        else:
            self._screen.draft.saved_at(path, text)
            self._screen.follow()
            not_taken = not_taken_text(draft.not_taken())
            self._screen.say(f"{f'Saved {path} {not_taken}'.rstrip()}.")
            if then is not None:
                then()

    def action_copy_command(self) -> None:
        self._copy(self._screen.looked.command, "command line")

    def action_copy_toml(self) -> None:
        self._copy(self._screen.looked.toml, "TOML")

    def _copy(self, text: str, what: str) -> None:
        from tui_eval.tui.copying.copyable import copy_at_once, given

        if text:
            without = not_taken_text(self._screen.looked.not_taken)
            copy_at_once(self._screen, given("", what, text, without))
        else:
            self._screen.say(f"There is nothing to copy: {self._screen.looked.no_toml}")
