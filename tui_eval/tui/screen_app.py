"""An app that shows one screen which needs no feed, and whatever goes over it."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from tui_eval.shipped import shipped
from tui_eval.tui.base.app import BaseApp
from tui_eval.tui.base.preferences import Preferences


class ScreenApp(BaseApp[None]):
    """Ends when its first screen is left.

    Args:
        first: It ends the app itself where it is the only screen.
    """

    def __init__(self, first: Screen[Any], preferences: Preferences | None = None) -> None:
        styles = (shipped("styles", "live.tcss"), first.CSS_PATH)  # a first screen's is not loaded
        super().__init__(preferences, css_path=[str(path) for path in styles if path])
        self.first = first

    def get_default_screen(self) -> Screen[Any]:
        """The screen that was given."""
        return self.first

    def action_interrupt(self) -> None:
        """Nothing is at work that would have to be asked about."""
        self.exit()
