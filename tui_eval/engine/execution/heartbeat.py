"""Requests that show a watcher of a run that it lives."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tui_eval.engine.setup.prepared import Prepared
from tui_eval.events import Event, RolloutFinished, RunFinished, RunStarted

if TYPE_CHECKING:
    import aiohttp

log = logging.getLogger("tui_eval.engine")

BEAT_TIMEOUT_S = 5.0
BEATS_ANSWERED_WITHIN_S = 0.5
"""Seconds that the end of a run waits for answers to beats."""


class Heartbeat:
    """Beats at every finished group, or at every rollout where rollouts are scored one by one.

    A beat while one is in flight is dropped. Any answer will do; faults are logged and never stop
    the run. With `sends_status` there is one more beat at the start and one at the end,
    with `status=started`, `finished`, `interrupted` or `failed` in the query; these are not
    dropped. Use it as an asynchronous context manager.

    Args:
        url: Target of the beats; empty for none.
    """

    def __init__(self, url: str, prepared: Prepared, *, sends_status: bool = False) -> None:
        examples = prepared.examples
        self._url = url
        self._sends_status = sends_status
        self._example_of = examples.example
        self._alone = prepared.plan.independent_scoring
        self._left = [examples.size(example) for example in range(len(examples))] if url else []
        for event in prepared.done if url else ():
            self._left[examples.example(event.row)] -= 1
        self._session: aiohttp.ClientSession | None = None
        self._in_flight: asyncio.Task[None] | None = None
        self._farewells: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Heartbeat:
        if self._url:
            import aiohttp

            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=BEAT_TIMEOUT_S)
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        waiting = [*self._farewells, *([self._in_flight] if self._in_flight else [])]
        if waiting:
            await asyncio.wait(waiting, timeout=BEATS_ANSWERED_WITHIN_S)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def handle(self, event: Event) -> None:
        """Takes in an event of the run."""
        if self._session is None:
            return
        if isinstance(event, RolloutFinished):
            example = self._example_of(event.row)
            self._left[example] -= 1
            is_due = self._alone or self._left[example] <= 0
            if is_due and (self._in_flight is None or self._in_flight.done()):
                self._in_flight = asyncio.create_task(self._get())
        elif self._sends_status and isinstance(event, (RunStarted, RunFinished)):
            status = event.status if isinstance(event, RunFinished) else "started"
            self._farewells.append(asyncio.create_task(self._get(status)))

    async def _get(self, status: str = "") -> None:
        from yarl import URL

        assert self._session is not None, "handle looks before it beats"
        try:
            url = URL(self._url)
            if status:
                url = url.update_query(status=status)
            async with self._session.get(url) as answer:
                await answer.read()
        except Exception as error:
            log.warning("heartbeat failed: %s: %s", type(error).__name__, error)
