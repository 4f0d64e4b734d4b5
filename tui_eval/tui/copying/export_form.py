"""The form of an export: format, rollouts and file; then its progress."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import BindingType

from tui_eval.own_folders import shown_path, typed_path
from tui_eval.runs.export.child import Wanted
from tui_eval.runs.export.process import Export, Part
from tui_eval.runs.export.writer import FORMATS, SUFFIXES, default_path, missing_package
from tui_eval.text.blocks import thread
from tui_eval.text.figures import plural
from tui_eval.tui.base.dialogs.dialog import Dialog
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import EMPTY, Line, cut, left
from tui_eval.tui.base.preferences import drawn_every
from tui_eval.tui.base.terminal.browser import deliver, in_browser, lies_in

if TYPE_CHECKING:
    from tui_eval.tui.base.terminal.drawing import DrawnScreen

NAME, LABEL = 10, 10
KINDS = list(FORMATS)
USUAL, OF_LISTED = "html", "jsonl"
"""Default formats: a page for a whole run, rows for filtered ones."""
DOWNLOADS = "the file stays on the server; your browser downloads a copy"
HINT = "tab moves · enter writes · esc closes"
CURRENT = "in the current folder"
CANCELS: Line = (("esc", "key"), (" cancels", "faint"))
GROUPS = FORMAT, WHICH, FILE = "format", "rollouts", "file"
BAR = 28


class ExportLines(LineView):
    """Two lists to choose from and a line to type on; below them a fault, or the progress.

    Args:
        run: The name for the file.
        parts: The rollouts to choose from, at least one.
    """

    moves_add_up = False

    def __init__(self, run: Path, parts: Sequence[Part]) -> None:
        super().__init__()
        self._run, self.parts = run, parts
        usual = OF_LISTED if parts[0].where else USUAL
        self.chosen = {FORMAT: KINDS.index(usual), WHICH: 0, FILE: 0}
        self.group = FORMAT
        self.path = TextLine()
        self.message: Line = EMPTY
        self.export: Export | None = None
        self._proposed = ""
        self._places: list[tuple[str, int]] = [(FORMAT, at) for at in range(len(KINDS))]
        self._places += [("", 0), *((WHICH, at) for at in range(len(parts))), ("", 0), (FILE, 0)]
        self._propose()

    @property
    def kind(self) -> str:
        return KINDS[self.chosen[FORMAT]]

    @property
    def part(self) -> Part:
        return self.parts[self.chosen[WHICH]]

    def _propose(self) -> None:
        """Names the file after the choice; of a name that was typed only the ending."""
        proposed = str(default_path(self._run, self.kind, self.part.name))
        if self.path.text == self._proposed:
            self.path.put(proposed)
        else:
            typed = Path(self.path.text)
            if typed.suffix in {f".{SUFFIXES.get(kind, kind)}" for kind in KINDS}:
                self.path.put(str(typed.with_suffix(Path(proposed).suffix)))
        self._proposed = proposed
        self._look()

    def _look(self) -> None:
        """Shows faults of the path."""
        path, what, ink = typed_path(self.path.text), "", "fault"
        if package := missing_package(self.kind):
            what = f"✗ {package} is missing: pip install 'tui-eval[{self.kind}]'"
        elif not self.path.text or path.is_dir():
            what = "✗ name a file"
        elif not path.parent.is_dir():
            what = f"✗ there is no folder {shown_path(path.parent)}"
        elif path.exists():
            what, ink = "! this file is there already", "warn"
        self.show_message(what, ink)

    def show_message(self, text: str, ink: str) -> None:
        """Shows a message below the choices; none for an empty text."""
        self.message = ((text, ink),) if text else EMPTY
        self.update()

    @property
    def is_ready(self) -> bool:
        """Whether there is no fault but an existing file."""
        return not self.message or self.message[0][1] == "warn"

    def count(self) -> int:
        return len(self._places) + 4

    def marked(self, index: int) -> bool:
        return self.export is None and self._at(index) == (self.group, self.chosen[self.group])

    def lit(self, index: int) -> bool:
        """Whether a choice has the focus; a caret would be invisible on that background."""
        return self.marked(index) and self.group != FILE

    def _at(self, index: int) -> tuple[str, int]:
        return self._places[index] if index < len(self._places) else ("", 0)

    def line(self, index: int) -> Line:
        after = index - len(self._places)
        if after >= 0:
            return (EMPTY, *self._footing)[after]
        group, at = self._places[index]
        if not group:
            return EMPTY
        name = (left(group if at == 0 else "", NAME), "key" if group == self.group else "muted")
        if group == FILE:
            room = max(self.line_width - NAME, 1)
            typed = self.group == FILE and self.export is None
            text = self.path.spans(room) if typed else ((cut(self.path.text, room), ""),)
            return (name, *text)
        chosen = at == self.chosen[group]
        sign = ("● ", "busy") if chosen else ("○ ", "faint")
        room = max(self.line_width - NAME - 2, 1)
        if group == WHICH:
            return (name, sign, (cut(self.parts[at].label, room), "strong" if chosen else ""))
        kind = KINDS[at]
        missing = missing_package(kind)
        about = f"{missing} is missing" if missing else FORMATS[kind]
        label = (left(kind, LABEL), "strong" if chosen else "")
        return (name, sign, label, (cut(about, max(room - LABEL, 1)), "muted"))

    @property
    def _footing(self) -> tuple[Line, Line, Line]:
        export = self.export
        if export is None:
            about: Line = ((DOWNLOADS, "faint"),) if in_browser() else EMPTY
            hint = HINT if self.group == FILE else f"↑ ↓ choose · {HINT}"
            is_here = not (about or typed_path(self.path.text).parent.parts)
            message = self.message or (((CURRENT, "faint"),) if is_here else EMPTY)
            return message, about, ((hint, "faint"),)
        if not export.total:
            return (("reading the run…", "busy"),), EMPTY, CANCELS
        drawn, rest = thread(export.written / export.total, BAR)
        count = f"  {export.written:,} of {plural(export.total, 'rollout')}"
        bar: Line = ((drawn, "busy"), (rest, "rule"), (count, ""))
        return bar, EMPTY, CANCELS

    def _choose(self, group: str, at: int) -> None:
        self.group = group
        if self.chosen[group] != at:
            self.chosen[group] = at
            self._propose()
        self.update()

    def action_move(self, by: int) -> None:
        if self.export is not None:
            return
        places = [place for place in self._places if place[0]]
        at = places.index((self.group, self.chosen[self.group])) + by
        if 0 <= at < len(places):
            group, which = places[at]
            self._choose(group, which if group == self.group else self.chosen[group])

    def turn_to_group(self, by: int) -> None:
        """Goes to the next or previous group."""
        group = GROUPS[(GROUPS.index(self.group) + by) % len(GROUPS)]
        self._choose(group, self.chosen[group])

    def on_key(self, event: events.Key) -> None:
        """Goes to another group, or types."""
        if self.export is not None or event.key in ("enter", "escape", "up", "down"):
            return
        if event.key in ("tab", "shift+tab"):
            self.turn_to_group(1 if event.key == "tab" else -1)
        elif self.group == FILE and type_into(self.path, event):
            self._look()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Pastes into the path."""
        event.stop()
        if self.export is None:
            self.group = FILE
            self.path.insert(event.text.strip())
            self._look()

    def clicked_at(self, x: int, index: int) -> None:
        """Chooses; puts the caret into the name of the file."""
        group, at = self._at(index)
        if group and self.export is None:
            if group == self.group == FILE:
                self.path.click(x - NAME, self.line_width - NAME)
            self._choose(group, at)


class ExportDialog(Dialog[ExportLines, str]):
    """Returns a sentence that says where the export is; None for none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "give_up", "Cancel"),
        ("enter", "write", "Write"),
    ]

    def __init__(self, run: Path, name: str, parts: Sequence[Part]) -> None:
        super().__init__(ExportLines(run, parts), f"Export · {name}")
        self._run = run
        self._replaces: Path | None = None

    def action_write(self) -> None:
        """Writes the export; a second request replaces an existing file."""
        lines = self.box
        path = typed_path(lines.path.text)
        if lines.export is not None or not lines.is_ready:
            return
        if path.exists() and self._replaces != path:
            self._replaces = path
            lines.show_message("! this file is there already: enter again replaces it", "warn")
            return
        part, target = lines.part, str(path.absolute())
        wanted = Wanted(
            str(self._run.absolute()), lines.kind, target, part.offsets, part.where, path.exists()
        )
        lines.export = Export(wanted)
        self._watch = self.set_interval(drawn_every(self.app, 1 / 12), lines.update)
        self.run_worker(self._write(lines.export, path), group="export")
        lines.update()

    async def _write(self, export: Export, path: Path) -> None:
        started = time.monotonic()
        try:
            fault = await export.write()
        except OSError as error:
            fault = f"no process could be started: {error.strerror}"
        self._watch.stop()
        self.box.export = None
        if export.is_cancelled:
            self.box.show_message("cancelled: nothing is written", "warn")
        elif fault:
            self.box.show_message(f"✗ {fault}", "fault")
        else:
            took = f" in {time.monotonic() - started:.0f}s" if export.written > 1000 else ""
            count = plural(export.written, "rollout")
            if in_browser():
                message = await deliver(self.app, path)
                self.dismiss(f"{count} {message}{took}; also {lies_in(shown_path(path))}")
            else:
                self.dismiss(f"{count} written to {shown_path(path)}{took}")

    def action_give_up(self) -> None:
        """Cancels the writing, or leaves."""
        if self.box.export is not None:
            self.box.export.cancel()
        else:
            self.dismiss(None)


def offer_export(screen: DrawnScreen[Any], path: str, name: str, parts: Sequence[Part]) -> None:
    """Asks how to export a run at a path, and says the result."""

    def closed(message: str | None) -> None:
        if message:
            screen.say(message)

    screen.app.push_screen(ExportDialog(Path(path), name, parts), closed)
