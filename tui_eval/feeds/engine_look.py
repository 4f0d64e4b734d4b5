"""One look at what an engine has to say, for commands that do not stay."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from tui_eval.commands import Detach
from tui_eval.events import Event
from tui_eval.feeds.live_feed import LiveFeed

ANSWERS_WITHIN_S = 5.0


async def look_at_engine(
    socket: str, apply: Callable[[Event], None], is_enough: Callable[[], bool]
) -> None:
    """Applies what an engine sends to who joins, and leaves it; at most `ANSWERS_WITHIN_S`.

    Args:
        socket: Where it listens.
        is_enough: Whether all is there that was wanted.
    """
    feed = LiveFeed(socket_path=socket)
    await feed.start()
    deadline = time.monotonic() + ANSWERS_WITHIN_S
    while not is_enough() and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
        while events := feed.drain():
            for event in events:
                apply(event)
    feed.send(Detach())
    await feed.close()
