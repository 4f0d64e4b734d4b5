"""Draws what an app shows once the app is idle, which is when a test can look at it.

A headless app has nobody who sees its frames, and draws six while it starts and several for a key:
that was two fifths of what the tests of the screen took. Here those that come before an app is idle
are one. What was drawn before a key, and is only drawn anew where it says that it changed, stays as
old as on a terminal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import textual.app
import textual.pilot
from idle_wait import IdleWait
from textual.pilot import Pilot
from textual.screen import Screen


class IdleFrames:
    """Keeps the frames that are due until they are drawn."""

    def __init__(self) -> None:
        self._due: dict[Screen[Any], None] = {}

    def put_off(self, refresh: Callable[[Screen[Any]], None]) -> Callable[[Screen[Any]], None]:
        """In place of `Screen._compositor_refresh`: what changed stays noted as that."""

        def put_off(screen: Screen[Any]) -> None:
            if screen is not screen.app.screen:
                refresh(screen)
                return
            self._due[screen] = None
            screen._dirty_widgets.clear()
            screen.app._update_mouse_over(screen)

        return put_off

    def draw(self) -> None:
        """Draws what is due; what a pane raises ends its app."""
        due, self._due = self._due, {}
        for screen in due:
            app = screen.app
            if not app.is_running or not app.screen_stack or screen is not app.screen:
                continue
            if app._batch_count:
                self._due[screen] = None
                continue
            try:
                with screen._context():
                    stack = app._background_screens
                    app._display(screen, screen._compositor.render_update(screen_stack=stack))
            except Exception as error:
                app._handle_exception(error)

    def draw_after(self, wait: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """A wait with a frame at its end."""

        async def wait_and_draw(*arguments: Any, **options: Any) -> None:
            await wait(*arguments, **options)
            self.draw()

        return wait_and_draw


def wait_for_idle_apps(patch: pytest.MonkeyPatch, *, every_frame: bool) -> None:
    """Has a pilot wait for what an app has to do, and no longer, and see one frame of it.

    Args:
        every_frame: Each frame is drawn as it is due.
    """
    wait = IdleWait().wait_for_idle
    if not every_frame:
        frames = IdleFrames()
        wait = frames.draw_after(wait)
        patch.setattr(Pilot, "pause", frames.draw_after(Pilot.pause))
        patch.setattr(Screen, "_compositor_refresh", frames.put_off(Screen._compositor_refresh))
    for module in (textual.app, textual.pilot):
        patch.setattr(module, "wait_for_idle", wait)
