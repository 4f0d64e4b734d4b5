"""Screens that draw only changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from textual.geometry import Region
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget

from tui_eval.tui.base.textual_private import (
    ChopsUpdate,
    Compositor,
    FrameClock,
    changed_regions,
    use_compositor,
)

if TYPE_CHECKING:
    from tui_eval.tui.base.keys.key_line import KeyLine
    from tui_eval.tui.base.layout import PaneTabs
    from tui_eval.tui.base.lines.line_view import LineView

Places: TypeAlias = dict[Widget, tuple[Region, Region]]
"""The region of each widget and its visible part; those in front come first."""


class ChangedRowsCompositor(Compositor):
    """Textual's compositor, but only for changed lines in sight: Textual requests all lines of
    every widget and drops the others, which is most of a frame."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: Places | None = None

    @property
    def visible_widgets(self) -> Places:
        """All visible widgets; during a frame only those whose lines are requested."""
        return super().visible_widgets if self._seen is None else self._seen

    def render_partial_update(self) -> ChopsUpdate | None:
        """Requests only lines that changed, of widgets where such are visible."""
        assert self.cuts is not None  # worked out from all widgets, and kept
        self._seen = self._seen_of(self.visible_widgets, changed_regions(self))
        try:
            return super().render_partial_update()
        finally:
            self._seen = None

    def _seen_of(self, every: Places, changed: Iterable[Region]) -> Places:
        """The widgets, front to back, before something covers all that changed behind it."""
        seen: Places = {}
        for widget, (region, clip) in every.items():
            shown = region.intersection(clip)
            if overlapping := [one for one in changed if shown.overlaps(one)]:
                _, y, _, height = Region.from_union(overlapping)
                rows = Region(0, y, self.size.width, height)
                seen[widget] = region, clip.intersection(rows)
                changed = [one for one in changed if not shown.contains_region(one)]
        return seen


class DrawnScreen(Screen[ScreenResultType]):
    """The base of the main screens, as opposed to dialogs.

    The actions of such a screen are in the controllers that it holds, each with its own state:
    their `action_` methods are those of the screen. Messages are on the line of its keys; `now` is
    the clock for them.
    """

    keys: KeyLine
    now: Callable[[], float]
    action_pane: Callable[[int], None]
    """Goes to a pane, by its number."""

    def say(self, text: str) -> None:
        """Shows a message in place of the keys for a while."""
        self.keys.say(text, self.now())

    def on_line_view_missed(self, message: LineView.Missed) -> None:
        self.say(message.text)

    def on_pane_tabs_chosen(self, message: PaneTabs.Chosen) -> None:
        self.action_pane(message.number)

    def controllers(self) -> Iterable[object]:
        """The controllers that it holds; of two with the same action the first has it."""
        return ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """An action of a controller, by name, as the commands have it."""
            if name.startswith("action_"):
                for one in self.controllers():
                    if (found := getattr(one, name, None)) is not None:
                        return found
            raise AttributeError(f"{type(self).__name__} has no {name}")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        use_compositor(self, ChangedRowsCompositor)
        self._clock = FrameClock(self)
