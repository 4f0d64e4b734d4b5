"""An app that writes frames only as fast as its terminal takes them, and only what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS
from textual import events
from textual.driver import Driver

from tui_eval.tui.base.terminal.cells import ScreenCells
from tui_eval.tui.base.textual_private import FrameSource, Update

if TYPE_CHECKING:
    from tui_eval.tui.base.terminal.line import Line

Result = TypeVar("Result")


class FramesApp(FrameSource[Result]):
    """Draws into cells, of which the terminal is sent those that it does not show yet.

    Textual writes every frame, and those that a slow line has not taken wait in a queue: what a
    key changes comes behind all of them.
    """

    drawn_by: Driver | None = None
    """The app's own driver, which puts itself here."""
    _cells: ScreenCells | None = None
    _cursor_shown = (-1, -1)
    _was_resized = False
    _has_synchronized_output = False

    @property
    def line(self) -> Line | None:
        """The line to the terminal, where there is one."""
        return getattr(self.drawn_by, "line", None)

    @property
    def is_line_free(self) -> bool:
        """Whether what is drawn now is not held up by what was drawn before."""
        return self.line is None or self.line.is_free

    def on_resize(self, event: events.Resize) -> None:
        """What a terminal keeps of its cells when it changes its size is not known.

        It may have had another size in between.
        """
        if self._cells is not None and self._was_resized:
            self._cells.forget()
        self._was_resized = True

    def redraw(self) -> None:
        """Writes the whole screen: what the terminal shows is not known any more."""
        if self._cells is not None:
            self._cells.forget()
        self.refresh()

    def on_terminal_supports_synchronized_output(self) -> None:
        """The terminal shows a frame at once that is marked as one."""
        self._has_synchronized_output = True

    @property
    def takes_frames(self) -> bool:
        """Whether there is a line to write frames to."""
        return self.line is not None

    def take_frame(self, update: Update) -> None:
        """Takes in what is drawn, and writes it if the last frame is out."""
        cells, colours = self._cells, self.console.color_system
        if cells is None or (cells.width, cells.height) != self.size:
            cells = self._cells = ScreenCells(*self.size)
        cells.take(update, COLOR_SYSTEMS[colours] if colours else ColorSystem.TRUECOLOR)
        if self.line is not None:
            self.line.when_free(self._write_frame)

    def _write_frame(self) -> None:
        line, driver, cells = self.line, self.drawn_by, self._cells
        if line is None or driver is None or cells is None or self.return_code is not None:
            return
        cursor = self.size.clamp_offset(self.cursor_position)
        text = cells.changes()
        if not text and cursor == self._cursor_shown:
            return
        self._cursor_shown = cursor
        text += f"{line.question_after(text, self.size.width)}\x1b[{cursor.y + 1};{cursor.x + 1}H"
        if (
            self._has_synchronized_output and not line.is_slow
        ):  # else it is seen as it comes, texts first
            text = f"\x1b[?2026h{text}\x1b[?2026l"
        driver.write(text)
