"""What the screens that compare have in common: what leaves them as one text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import ScreenResultType

from tui_eval.printable import printable
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.look.paths import shown_path, typed_path
from tui_eval.tui.base.terminal.browser import in_browser, lies_in
from tui_eval.tui.base.terminal.drawing import DrawnScreen

if TYPE_CHECKING:
    from tui_eval.tui.copying.whole_texts import WholeText

NOTHING = "Nothing is compared yet that could be {}."


class ComparedScreen(DrawnScreen[ScreenResultType]):
    """A screen with a comparison that can be exported, and read in other programs."""

    keys: KeyLine
    now: Callable[[], float]

    def whole_text(self) -> WholeText | None:
        """All that is compared; None before there is any."""
        raise NotImplementedError

    def action_export(self) -> None:
        """Asks for a file, and writes what is compared as its name says."""
        whole = self.whole_text()
        if whole is None:
            self._say(NOTHING.format("exported"))
            return
        from tui_eval.tui.base.dialogs.path_prompt import PathPrompt

        def answered(path: str | None) -> None:
            if path is not None:
                self.run_worker(self._write(whole, typed_path(path)), group="export")

        title = f"Export {whole.what[0].lower()}{whole.what[1:]}"
        name = f"{whole.name}{next(iter(whole.formats))}"
        self.app.push_screen(PathPrompt(title, name, whole.about, "writes it"), answered)

    async def _write(self, whole: WholeText, path: Path) -> None:
        from tui_eval.errors import RefusedError
        from tui_eval.tui.copying.exporting import deliver

        try:
            await asyncio.to_thread(whole.write, path)
        except RefusedError as error:
            fault = error.faults[0]
            self._say(f"Not written to {path}: {fault.what}. {fault.hint}.")
        except (OSError, ValueError) as error:
            self._say(f"Not written to {path}: {getattr(error, 'strerror', None) or error}.")
        else:
            told = f"{await deliver(self.app, path)}; also " if in_browser() else ""
            self._say(f"{whole.what} is {told}{lies_in(shown_path(path))}.")

    def action_read_elsewhere(self, editor: bool) -> None:
        """Opens what is compared in the pager or the editor."""
        whole = self.whole_text()
        if whole is None:
            self._say(NOTHING.format("read"))
            return
        from tui_eval.tui.copying.elsewhere import NoProgramError, program

        try:
            words = program(editor)
        except NoProgramError as error:
            self._say(f"{error}.")
            return
        read = self._read_elsewhere(whole, words, whole.read[editor])
        self.run_worker(read, group="elsewhere", exclusive=True)

    async def _read_elsewhere(self, whole: WholeText, words: list[str], suffix: str) -> None:
        from tui_eval.errors import RefusedError
        from tui_eval.tui.copying.elsewhere import read_elsewhere

        try:
            text = await asyncio.to_thread(whole.formats[suffix])
        except (RefusedError, OSError, ValueError) as error:
            self._say(f"It cannot be opened: {error}")
            return
        data = printable(text).encode("utf-8", "backslashreplace")
        if fault := read_elsewhere(self.app, words, data, suffix):
            self._say(f"{fault}.")

    def _say(self, text: str) -> None:
        self.keys.say(text, self.now())
