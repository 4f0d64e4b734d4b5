"""A live feed that costs nothing before the first frame: its parts are loaded when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_eval.commands import Command
    from tui_eval.events import Event
    from tui_eval.feeds.live_feed import LiveFeed
    from tui_eval.fold.trajectory import Rollout


class LazyFeed:
    """Starts an engine on a request (see `feeds.live_feed.LiveFeed`)."""

    def __init__(self, request: Mapping[str, Any] | None = None) -> None:
        self.request = request
        self.inner: LiveFeed | None = None
        self._early: list[Command] | None = []

    @property
    def live(self) -> bool:
        """See `Feed.live`; while its engine starts, what it is sent is kept for that."""
        if self._early is not None:
            return self.request is not None
        return self.inner is not None and self.inner.live

    async def start(self) -> None:
        from tui_eval.feeds.live_feed import LiveFeed

        self.inner = LiveFeed(self.request)
        await self.inner.start()
        early, self._early = self._early or [], None
        for command in early:
            self.inner.send(command)

    def drain(self, most: int = 5000) -> list[Event]:
        return self.inner.drain(most) if self.inner else []

    def send(self, command: Command) -> None:
        """See `Feed.send`; what is requested before there is a connection is sent with it."""
        if self._early is not None:
            self._early.append(command)
        elif self.inner is not None:
            self.inner.send(command)

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        return self.inner.saved(row, offset, length) if self.inner else None

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        return self.inner.log(at, most) if self.inner else (b"", 0)

    async def close(self) -> None:
        if self.inner is not None:
            await self.inner.close()
