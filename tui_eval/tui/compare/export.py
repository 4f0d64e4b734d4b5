"""Exports of a comparison of runs or of two rollouts, in several formats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.own_folders import shown_path, typed_path
from tui_eval.printable import printable
from tui_eval.tui.base.terminal.browser import deliver, in_browser, lies_in

if TYPE_CHECKING:
    from tui_eval.runs.export.whole_text import WholeText
    from tui_eval.tui.base.terminal.drawing import DrawnScreen

NOTHING = "Nothing is compared yet that could be {}."


class ExportFlow:
    """Exports the comparison of a screen, once it has one."""

    def __init__(
        self, screen: DrawnScreen[Any], whole_text: Callable[[], WholeText | None]
    ) -> None:
        self._screen, self._whole_text = screen, whole_text

    def action_export(self) -> None:
        """Asks for a file, and writes the comparison in the format of its name."""
        whole = self._whole_text()
        if whole is None:
            self._screen.say(NOTHING.format("exported"))
            return
        from tui_eval.tui.base.dialogs.question import PathPrompt

        def answered(path: str | None) -> None:
            if path is not None:
                self._screen.run_worker(self._write(whole, typed_path(path)), group="export")

        title = f"Export {whole.what[0].lower()}{whole.what[1:]}"
        name = f"{whole.name}{next(iter(whole.formats))}"
        self._screen.app.push_screen(PathPrompt(title, name, whole.about, "writes it"), answered)

    async def _write(self, whole: WholeText, path: Path) -> None:
        from tui_eval.errors import RefusedError

        try:
            await asyncio.to_thread(whole.write, path)
        except RefusedError as error:
            fault = error.faults[0]
            self._screen.say(f"Not written to {path}: {fault.what}. {fault.hint}.")
        except (OSError, ValueError) as error:
            self._screen.say(f"Not written to {path}: {getattr(error, 'strerror', None) or error}.")
        else:
            delivered = f"{await deliver(self._screen.app, path)}; also " if in_browser() else ""
            self._screen.say(f"{whole.what} is {delivered}{lies_in(shown_path(path))}.")

    def action_read_elsewhere(self, editor: bool) -> None:
        """Opens the comparison in the pager or the editor."""
        whole = self._whole_text()
        if whole is None:
            self._screen.say(NOTHING.format("read"))
            return
        from tui_eval.tui.copying.elsewhere import Readable, open_elsewhere

        async def make() -> Readable:
            suffix = whole.read[editor]
            return Readable(printable(await asyncio.to_thread(whole.formats[suffix])), suffix)

        open_elsewhere(self._screen, editor, make)
