"""An evaluation that somebody is writing: its form, its TOML, its command line and its request."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

from tui_eval.config.command_line import command_line
from tui_eval.config.eval_document import EvalDocument, Place
from tui_eval.config.eval_file import read_eval_file
from tui_eval.config.fields import ARGUMENT
from tui_eval.config.form import Form
from tui_eval.config.options import BY_NAME, OPTIONS
from tui_eval.config.toml_files import lines_of
from tui_eval.config.user_settings import replace_text
from tui_eval.errors import Fault

NEW = "[[eval]]\n"

_OF_LINE = re.compile(r":(\d+)(?:,|$)")


class Draft:
    """Draft of an evaluation, edited by a form: a new one, or one table of a file.

    Args:
        text: The file's; a new one has one empty `[[eval]]` table.
        path: Path of the file; None for a new one.

    Raises:
        ValueError: The text is no TOML.
    """

    def __init__(self, text: str = NEW, path: Path | None = None) -> None:
        self._text = self._saved = text
        self.path = path
        self._memo: tuple[Any, str] | None = None
        document = EvalDocument(text)
        self.several = document.has_several
        self.places = document.places
        self.titles = [document.title(place) for place in self.places]
        self.place: Place = None
        self.form = Form()
        self._show(0 if len(self.places) > 1 else None)

    @classmethod
    def load(cls, path: Path) -> Draft:
        """The draft of a file; `ValueError` where it cannot be read, or is no TOML."""
        try:
            return cls(path.read_text("utf-8-sig"), path)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is no TOML: {error}") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def copy(self) -> Draft:
        """The same as it is now, for a thread to look at."""
        other = copy.copy(self)
        other.form = self.form.copy()
        return other

    def _show(self, place: Place) -> None:
        document = EvalDocument(self._text)
        self.place = place
        inherited = {} if place is None else document.values(None, wrong_too=False)
        needed = place is not None or not (self.several or len(self.places) > 1)
        self.form = Form(document.values(place), inherited, names_environment=needed)

    def select(self, place: Place) -> None:
        """Goes to another table of the file; `ValueError` where what is set cannot be written."""
        self._text = self.toml()
        self._show(place)

    def toml(self) -> str:
        """The file that the form amounts to; `ValueError` where TOML cannot say it."""
        form = self.form
        key = (self._text, self.place, form.env_id, dict(form.texts), form.description)
        if self._memo is not None and self._memo[0] == key:
            return self._memo[1]
        document = EvalDocument(self._text)
        wrong = {"env_args" if name.startswith(ARGUMENT) else name for name in self._wrong()}
        values = {name: v for name, v in form.values().items() if BY_NAME[name].in_files}
        document.write(self.place, values, wrong)
        self._memo = (key, document.text)
        return document.text

    def _wrong(self) -> list[str]:
        return [name for name in self.form.faults() if self.form.text(name)]

    def not_taken(self) -> tuple[str, ...]:
        """The fields whose texts are no values: TOML and command line are without these."""
        return tuple(self.form.field(name).label for name in self._wrong())

    def request(self) -> dict[str, Any]:
        """Request that an engine is started on."""
        if self.several:
            return {"env_id": self._target, "raw": {}, "text": self.toml()}
        return {"env_id": self.form.env_id or None, "raw": self._raw()}

    def command(self) -> str:
        """The command line that does the same; of a file with several only once it is saved."""
        if self.several:
            return command_line(self._target, {})
        return command_line(self.form.env_id, self._raw())

    @property
    def _target(self) -> str:
        return str(self.path or "evaluations.toml")

    def _raw(self) -> dict[str, Any]:
        raw = self.form.raw()
        registry = raw.get("endpoints_path")
        if registry and self.path is not None and (self.path.parent / registry).exists():
            raw["endpoints_path"] = str(self.path.parent / registry)
        return raw

    def save(self, path: Path) -> str:
        """Writes the file; returns what it holds then.

        Raises:
            ValueError: TOML cannot say it; the file is as it was.
            OSError: The file cannot be written; it is as it was.
        """
        text = self.toml()
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
        return text

    def saved_at(self, path: Path, text: str) -> None:
        """Remembers that the file is there now, and what it holds."""
        self._text, self._saved, self.path = text, text, path

    def is_changed(self) -> bool:
        """Whether the form says something that the file does not."""
        try:
            return self.toml() != self._saved or self.form.has_vain_text()
        except ValueError:
            return True

    def is_behind(self) -> bool:
        """Whether somebody else has changed the file since it was read or saved here."""
        try:
            return self.path is not None and self.path.read_text("utf-8-sig") != self._saved
        except (OSError, UnicodeDecodeError):
            return False

    def file_faults(self) -> list[Fault]:
        """Faults of a loaded file that the request for its one evaluation leaves out.

        Raises:
            ValueError: TOML cannot say what is set.
        """
        if self.several or self.path is None:
            return []
        return read_eval_file(self.path, self.toml())[1]

    def field_of(self, fault: Fault) -> str | None:
        """The name of the field that a fault is about; None where it is about none."""
        where = fault.where
        if where and where == self.form.text("resume"):
            return "resume"
        registry = self.form.text("endpoints_path")
        if registry and re.match(rf"{re.escape(str(Path(registry)))}(:\d|$)", where):
            return "endpoints_path"
        argument = re.fullmatch(r"(?:.*, env_args: )?environment .*: argument (.+)", where)
        if argument:
            name = ARGUMENT + argument.group(1)
            shown = {field.name for field in self.form.fields()}
            return name if name in shown else "env_args"
        if where == "ENVIRONMENT" or re.match(r"(?:.*, env_id: )?environment ", where):
            return "env_id"
        named = self._of_line(where) if self.path is not None else None
        if named:
            return named
        for option in OPTIONS:
            if where in (option.shown, *option.flags) or where.startswith(f"{option.shown} "):
                return option.name
            if any(where.startswith(f"{f} ") or where.endswith(f", {f}") for f in option.flags):
                return option.name
        return None

    def _of_line(self, where: str) -> str | None:
        """The field of a line of the file, where that line is in the table that is shown."""
        match = _OF_LINE.search(where)
        if match is None or not where.startswith(self._target):
            return None
        lines = lines_of(self.toml())
        table = () if self.place is None else ("eval", self.place)
        names = {field.name for field in self.form.fields()}
        for keys, line in lines.items():
            if line == int(match.group(1)) and keys[: len(table)] == table:
                rest = [str(key) for key in keys[len(table) :]]
                for name in (".".join(rest), *rest[:1]):
                    if name in names:
                        return name
        return None
