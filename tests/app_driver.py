"""Drives an app: text as a person sees it, and keys as a person presses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.cells import cell_len
from scripted_run import ScriptedFeed
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from tui_eval.tui.base.dialogs.question import Choices, Question
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.home_app import HomeApp
from tui_eval.tui.suite.controllers import place_of
from tui_eval.tui.suite.screen import SuiteScreen


def seen(app: App[Any]) -> str:
    """The text of the screen on top, as it is drawn."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def until(pilot: Pilot[Any], condition: Callable[[], Any], seconds: float = 15.0) -> None:
    """Waits for what is about to happen."""
    for _ in range(round(seconds / 0.01)):
        await pilot.pause(0.01)
        if condition():
            return
    raise AssertionError(f"this never came about\n{seen(pilot.app)}")


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Presses keys; each has its effect before the next."""
    for key in keys:
        await pilot.press(key)
        await pilot.pause()
        await until(pilot, lambda: is_at_rest(pilot.app))


def keys_so_far(app: Any) -> int:
    """The number of keys an app has got; of some that were the same it may have made one."""
    return int(app._key_number + app._repeats)


def has_taken_keys(app: Any, number: int) -> bool:
    """Whether so many keys have had their effect, or the app is over."""
    return not app.is_running or (keys_so_far(app) >= number and not app._is_key_on_its_way)


def is_drawn(app: App[Any]) -> bool:
    """Whether no widget that is looked at waits to be laid out or drawn."""
    screen = app.screen
    waiting = (screen._layout_required, screen._scroll_required, screen._dirty_widgets)
    return not any(waiting) and not any(
        widget._layout_required or widget._scroll_required
        for widget in screen._compositor.visible_widgets
    )


def is_over_or_drawn(app: App[Any]) -> bool:
    """Whether the app is over, or all that it shows is drawn."""
    return not app.is_running or not app.screen_stack or is_drawn(app)


def has_question(app: App[Any]) -> bool:
    """Whether a question is on top, with its text laid out and drawn."""
    if not isinstance(app.screen, Question):
        return False
    boxes = app.screen.query(Choices)
    return bool(boxes) and boxes.first().size.height > 0 and is_drawn(app)


def is_opening(live: SuiteScreen) -> bool:
    """Whether the selected evaluation's run is not shown yet."""
    one = live.suite.evaluations[live.evaluations.cursor]
    can_be_opened = place_of(one, live.root.live) is not None
    return can_be_opened and live.state.run is None and live.state.end is None


def is_at_rest(app: Any) -> bool:
    """Whether nothing is being read, found or laid out."""
    screen: Screen[Any] = app.screen
    if not is_drawn(app):
        return False
    if not getattr(screen, "is_ready", True) or not getattr(screen, "is_settled", True):
        return False
    form = getattr(app, "configure", None)
    if form is not None and form in app.screen_stack:
        return bool(form.is_settled)
    if isinstance(app, HomeApp) and not app.watches:
        return app.home.polling.looked and app.home.runs.is_loaded
    if not hasattr(app, "live_screen"):
        return True
    live, feed = app.live_screen, app.feed
    if isinstance(live, SuiteScreen):
        if is_opening(live):
            return False
        if live.state.run is None:
            return True
    is_published = not feed.events if isinstance(feed, ScriptedFeed) else True
    listing = live.rollouts.listing
    return bool(
        is_published
        and not live.reader.must_read
        and live.trajectory.has_layout
        and not listing.is_searching
        and listing.is_answered
    )


class AppDriver:
    """The base of what a test has of an app that runs."""

    pilot: Pilot[Any]

    async def until(self, condition: Callable[[], Any]) -> None:
        """Waits for what is about to happen."""
        await until(self.pilot, condition, 30.0)

    async def until_question(self) -> None:
        """Waits for a question that is drawn: one that was only pushed has no text yet."""
        app = self.pilot.app
        await self.until(lambda: has_question(app))

    async def press(self, *keys: str) -> None:
        """Presses keys; all of them have been taken then, and what they changed is laid out."""
        app: Any = self.pilot.app
        number = keys_so_far(app) + len(keys)
        await self.pilot.press(*keys)
        if not has_taken_keys(app, number):
            await self.until(lambda: has_taken_keys(app, number))
        await self.pilot.pause()
        if not is_over_or_drawn(app):
            await self.until(lambda: is_over_or_drawn(app))
            await self.pilot.pause()

    def where(self, words: str) -> tuple[int, int]:
        """The cell of the lowest line that says this."""
        lines = seen(self.pilot.app).splitlines()
        y = max(y for y, line in enumerate(lines) if words in line)
        return cell_len(lines[y].partition(words)[0]), y

    async def click_on(self, words: str) -> None:
        """Presses a button of the mouse there and lets it go."""
        x, y = self.where(words)
        for kind in (events.MouseDown, events.MouseUp):
            event = kind(None, x, y, 0, 0, 1, False, False, False, x, y)
            self.pilot.app.post_message(event)
            await self.pilot.pause()

    def text(self, view: LineView) -> str:
        """The text of a pane."""
        return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))
