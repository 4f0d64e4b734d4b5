"""A text that is exported as a whole, in one of several formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.file_writing import is_replaceable


class WholeText(NamedTuple):
    """What a screen shows as one text, for a file in one of several formats or another program.

    Args:
        what: It is, with its article, as a sentence begins.
        about: Which part of it, as a sentence.
        name: Of the file, without an ending, unless somebody names it.
        formats: Makes it, by the ending of a file's name; in a thread.
        read: The endings of what the pager and the editor get.
    """

    what: str
    about: str
    name: str
    formats: Mapping[str, Callable[[], str]]
    read: tuple[str, str]

    def write(self, path: Path) -> None:
        """Writes it as the ending of the file's name says.

        Raises:
            RefusedError: The file is there already, its name says no format, or the text cannot
                be made.
            OSError: It cannot be written.
            ValueError: The text cannot be made.
        """
        made = self.formats.get(path.suffix.lower())
        if made is None:
            hint = f"End it with {', '.join(self.formats)}"
            raise RefusedError([Fault(str(path), "its name says no format", hint)])
        text = made()
        try:
            mode = "x" if is_replaceable(path) else "w"
            target = path.resolve() if mode == "x" else path
            with target.open(mode, encoding="utf-8", newline="", errors="backslashreplace") as file:
                file.write(text)
        except FileExistsError:
            there = Fault(str(path), "it is there already", "Name another file")
            raise RefusedError([there]) from None
