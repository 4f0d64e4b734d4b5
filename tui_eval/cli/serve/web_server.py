"""The server of `tui-eval serve`: a page for every tab, and a screen behind it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import time
from collections.abc import Callable, Sequence
from html import escape
from socket import socket
from string import Template
from typing import Any

from aiohttp import WSMsgType, web
from textual_serve.server import Server

from tui_eval.cli.serve.web_gate import Gate, harden
from tui_eval.cli.serve.web_screen import WebScreen
from tui_eval.cli.signals import ending_signals
from tui_eval.printable import one_line
from tui_eval.shipped import shipped

HEARTBEAT_S = 15.0
"""Seconds without an answer after which a tab is gone."""

MOST_CELLS = 1000
START_RUNS = ("run", "demo", "agent")
"""Commands whose screen begins a run: leaving the page needs a confirmation."""

JOINS_WITHIN_S, POLL_INTERVAL_S = 10.0, 0.25
"""Seconds that a new tab waits for the run of the one before."""

FONT_SIZES = range(6, 49)


class WebServer(Server):
    """Shows a command line of tui-eval to every tab of a browser that gets past the gate.

    Args:
        words: The command line, without the name of the program.
        public_url: Address at a proxy, if there is one.
    """

    def __init__(self, words: Sequence[str], gate: Gate, public_url: str | None = None) -> None:
        super().__init__(shlex.join(words), title=one_line(shlex.join(["tui-eval", *words]), 200))
        self._words = words
        self._gate = gate
        self._public = public_url.rstrip("/") if public_url else None
        self._screens: list[WebScreen] = []
        self._ends = False

    def make_app(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[self._gate.check])
        app.add_routes(
            [
                web.get("/", self.handle_page),
                web.get("/serve.js", self.handle_script),
                web.get("/ws", self.handle_websocket),
                web.get("/download/{key}", self.handle_download),
                web.static("/static", self.statics_path),
            ]
        )
        app.on_response_prepare.append(harden)
        app.on_shutdown.append(self.on_shutdown)
        return app

    async def handle_page(self, request: web.Request) -> web.Response:
        """The page with the terminal."""
        base = self._public or f"//{request.host}"
        socket_base = base.replace("http", "ws", 1) if self._public else f"ws:{base}"
        page = Template(await asyncio.to_thread(shipped("styles", "serve.html").read_text, "utf-8"))
        starts_a_run = self._words[0] in START_RUNS
        text = page.substitute(
            title=escape(str(self.title)),
            static=escape(f"{base}/static"),
            socket=escape(f"{socket_base}/ws"),
            base=escape(base),
            runs="yes" if starts_a_run else "",
            again="Run it again" if starts_a_run else "Open it again",
            font_size=_number(request.query.get("fontsize"), 16, FONT_SIZES),
        )
        return web.Response(text=text, content_type="text/html")

    async def handle_script(self, request: web.Request) -> web.FileResponse:
        """The script of the page."""
        return web.FileResponse(shipped("styles", "serve.js"))

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """A tab was opened: runs its screen until either of them is gone."""
        tab = web.WebSocketResponse(heartbeat=HEARTBEAT_S)
        await tab.prepare(request)
        early: list[str] = []
        words = await self._words_of_tab(tab, early)
        if words is None:
            return tab
        screen = WebScreen(words, tab, self.download_manager)
        self._screens.append(screen)
        cells = range(1, MOST_CELLS)
        width = _number(request.query.get("width"), 80, cells)
        height = _number(request.query.get("height"), 24, cells)
        try:
            await screen.start(width, height)
            for text in early:
                await _take(text, tab, screen)
            async for message in tab:
                if message.type is WSMsgType.TEXT:
                    await _take(message.data, tab, screen)
        finally:
            await screen.stop()
            self._screens.remove(screen)
        return tab

    async def _words_of_tab(
        self, tab: web.WebSocketResponse, early: list[str]
    ) -> Sequence[str] | None:
        """Chooses the command of a new tab: the run that another tab has begun, if any.

        A page that is loaded again restarts; its earlier socket closes about now.

        Args:
            early: Takes messages that the tab sends meanwhile.

        Returns:
            A command line; None where the tab is closed, or the server ends, before that is known.
        """
        if self._words[0] not in START_RUNS:
            return self._words
        until = time.monotonic() + JOINS_WITHIN_S
        while others := [one for one in self._screens if one.is_open and one.words is self._words]:
            if time.monotonic() > until:
                break
            await _wait_a_look(tab, early)
            if tab.closed or self._ends:
                return None
            for one in others:
                if one.shows and one.is_open:
                    return ("open", one.shows)
        return None if self._ends else self._words

    async def on_shutdown(self, app: web.Application) -> None:
        """Ends all screens."""
        self._ends = True
        await asyncio.gather(*(screen.stop() for screen in self._screens))

    def kill(self) -> None:
        """Ends all screens at once."""
        for screen in self._screens:
            screen.kill()

    async def run(self, listening: socket, ready: Callable[[], None]) -> None:
        """Serves until a signal comes; a second one does not wait for the screens.

        Args:
            ready: Called once requests are answered.
        """
        is_ending = asyncio.Event()

        def end() -> None:
            if is_ending.is_set():
                self.kill()
            is_ending.set()

        for number in ending_signals():
            asyncio.get_running_loop().add_signal_handler(number, end)
        runner = web.AppRunner(self.make_app(), access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        try:
            await web.SockSite(runner, listening).start()
            ready()
            await is_ending.wait()
        finally:
            await runner.cleanup()


async def _wait_a_look(tab: web.WebSocketResponse, early: list[str]) -> None:
    """Lets a moment pass, or less where the tab is closed meanwhile."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(POLL_INTERVAL_S):
            while not tab.closed:
                message = await tab.receive()
                if message.type is WSMsgType.TEXT:
                    early.append(message.data)


async def _take(text: str, tab: web.WebSocketResponse, screen: WebScreen) -> None:
    """Handles a message of a tab; ignores one that makes no sense."""
    try:
        kind, value = [*json.loads(text), None][:2]
        if kind == "stdin":
            await screen.send_bytes(value.encode("utf-8", "replace"))
        elif kind == "resize":
            cells = range(1, MOST_CELLS)
            width, height = (_number(value[side], 80, cells) for side in ("width", "height"))
            await screen.set_terminal_size(width, height)
        elif kind == "ping":
            await tab.send_json(["pong", value])
        elif kind == "blur":
            await screen.blur()
        elif kind == "focus":
            await screen.focus()
    except (ValueError, TypeError, KeyError, AttributeError):
        return


def _number(given: Any, default: int, among: range) -> int:
    try:
        number = int(given)
    except (TypeError, ValueError):
        return default
    return min(max(number, among.start), among.stop - 1)
