"""What opens over a screen, which is dimmed behind it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual.await_complete import AwaitComplete
from textual.color import Color
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen

Result = TypeVar("Result")
DIM = Style(color="default", bgcolor="default", dim=True)


def _is_bar(segment: Segment) -> bool:
    """Whether it is of a scrollbar."""
    return segment.style is not None and "@mouse.down" in segment.style.meta


class DimmedScreen(BackgroundScreen):
    """A screen without its colours, none of its lines under a cursor."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        """The same text, dim; without the bars, of which only pieces would be left."""
        for segment in segments:
            text = " " * segment.cell_length if _is_bar(segment) else segment.text
            yield segment if segment.control else Segment(text, DIM)


def dimmed(behind: RenderableType) -> RenderableType:
    """What is behind a box; the terminal's own colours cannot be tinted, they are left out."""
    if isinstance(behind, BackgroundScreen) and not behind.color.a:
        return DimmedScreen(behind.screen, behind.color)
    return behind


class ClosedOnce(ModalScreen[Result]):
    """A screen over others that takes no other one away, however often it is told to close."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Closes it, if that was not done already: it may have been clicked twice."""
        return super().dismiss(result) if self.is_current else AwaitComplete()


class Dialog(ClosedOnce[Result]):
    """A box in the middle."""

    def render(self) -> RenderableType:
        """What is behind the box."""
        return dimmed(super().render())
