"""Polls for home: runs and registry every few seconds, the rest on request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.printable import one_line
from tui_eval.tui.home.pick_lists import CHECKING, host_of

if TYPE_CHECKING:
    from tui_eval.tui.home.screen import HomeScreen

POLL_INTERVAL_S = 3.0
RESTS = 10
"""Pause between two polls, in durations of a poll."""
RESTS_UNCHANGED, UNCHANGED_S = 300, 30.0
"""The same after a poll that found nothing new, and the most seconds of that."""
AT_ONCE = 4
"""Endpoints that are checked concurrently."""


class HomePolling:
    """Keeps the runs, environments and endpoints of a screen up to date."""

    def __init__(self, screen: HomeScreen) -> None:
        self._screen, self._backend, self._endpoints = screen, screen.backend, screen.endpoints
        self.looked = False
        """Whether everything has been looked for once."""
        self.opens_soon = False
        """Whether enter was pressed before any run was listed."""
        self._found: tuple[Sequence[Any], int] = ((), -1)
        self._look_now = asyncio.Event()

    def begin(self) -> None:
        self._screen.run_worker(self._keep_looking(), group="runs")
        self._look_again()

    async def _keep_looking(self) -> None:
        seen = await asyncio.to_thread(self._backend.last_seen)
        while True:
            began, is_new = time.monotonic(), False
            self._look_now.clear()
            try:
                found = await asyncio.to_thread(self._backend.runs)
            except OSError as error:
                self._screen.say(f"The runs cannot be listed: {error}")
            else:
                is_new = self._is_new(found)
                if is_new:
                    self._take(found, seen)
            await self._follow_endpoints()
            took = time.monotonic() - began
            rest = took * RESTS if is_new else min(took * RESTS_UNCHANGED, UNCHANGED_S)
            await self._rest(max(POLL_INTERVAL_S, rest))

    def _is_new(self, found: Sequence[Any]) -> bool:
        """Whether the list would change; dates change by the hour."""
        before, self._found = self._found, (found, int(self._screen.now() // 3600))
        return self._found != before

    async def _rest(self, seconds: float) -> None:
        """Waits until the next poll; there is none while another screen is shown."""
        while True:
            try:
                async with asyncio.timeout(seconds):
                    await self._look_now.wait()
                return
            except TimeoutError:
                if self._screen.is_current:
                    return

    def _take(self, found: Sequence[Any], seen: tuple[Path, float] | None) -> None:
        screen, runs = self._screen, self._screen.runs
        is_first = not runs.is_loaded
        runs.take(found, seen)
        if is_first:
            screen.call_after_refresh(lambda: runs.show_line(runs.cursor))
        screen.draw()
        if is_first and self.opens_soon:
            screen.say("")
            if screen.app.screen is screen and runs.has_focus and not runs.typing:
                runs.action_open()

    async def _look_around(self) -> None:
        """Reads environments and endpoints, then checks usable endpoints."""
        environments, _ = await asyncio.gather(self._backend.environments(), self._read_endpoints())
        self._screen.environments.show(environments)
        self.looked = True
        self._screen.draw()
        await self._check_usable()

    async def _follow_endpoints(self) -> None:
        if self.looked and await asyncio.to_thread(self._backend.have_endpoints_changed):
            await self._read_endpoints()
            self._screen.draw()
            self._screen.run_worker(self._check_usable(), group="answers", exclusive=True)

    async def _read_endpoints(self) -> None:
        self._screen.endpoints.show(await asyncio.to_thread(self._backend.endpoints))

    async def _check_usable(self) -> None:
        usable = {one.url for one in self._endpoints.listed if one.url and one.has_key}
        await self._check(*(at for at in sorted(usable) if self._endpoints.answers.get(at) != ""))

    async def _check(self, *urls: str) -> None:
        """Checks endpoints, a few concurrently."""
        limit = asyncio.Semaphore(AT_ONCE)

        async def check_one(url: str) -> None:
            async with limit:
                self._endpoints.set_answer(url, CHECKING)
                why = await asyncio.to_thread(self._backend.unreachable, url)
                self._endpoints.set_answer(url, why)

        await asyncio.gather(*map(check_one, urls))

    async def check(self, url: str) -> None:
        """Says whether an endpoint answers."""
        await self._check(url)
        why = self._endpoints.answers.get(url)
        text = f"{host_of(url)}: {why}" if why else f"{host_of(url)} answers."
        self._screen.say(one_line(text, 200))

    def action_look_again(self) -> None:
        """Reads everything again."""
        self._screen.say("Looking for runs, environments and endpoints again…")
        self._look_again()

    def _look_again(self) -> None:
        self._look_now.set()
        self._screen.run_worker(self._look_around(), group="around", exclusive=True)

    def look_soon(self) -> None:
        """Has the runs polled soon."""
        self._look_now.set()
