"""`tui-eval serve` as a process, and tabs of a browser as web sockets."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pyte
from program import PATIENCE_S, Program

COLUMNS, LINES = 120, 40


class Served:
    """A server that is up; its tabs have to be opened by the same loop.

    Args:
        args: Behind `tui-eval serve`.
    """

    def __init__(self, program: Program, *args: str) -> None:
        self.process: subprocess.Popen[str] = program.start("serve", "--port", "0", *args)
        self._program = program
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline() + self.process.stdout.readline()
        found = re.search(r"https?://\S+", self.said)
        assert found, program.finish(self.process)
        self.url = found[0]
        self.base = self.url.partition("/?")[0].rstrip("/")
        self.local = ""
        if "https:" in self.url:
            self.local = f"http://{self.process.stdout.readline().split()[-1]}/"

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[aiohttp.ClientSession]:
        """A browser that was let in."""
        jar = aiohttp.CookieJar(unsafe=True)  # also for addresses
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            async with session.get(self.url) as page:
                assert page.status == 200
            yield session

    def open_and_end(self) -> None:
        """Opens its page once and ends it."""

        async def open_page() -> None:
            async with self.browser():
                pass

        asyncio.run(open_page())
        self.process.terminate()
        done = self._program.finish(self.process)
        assert done.code == 0, done

    @asynccontextmanager
    async def tab(self) -> AsyncIterator[Tab]:
        """A tab with the screen in it; closed in the end."""
        async with self.browser() as session:
            where = f"{self.base}/ws?width={COLUMNS}&height={LINES}"
            async with session.ws_connect(where, headers={"Origin": self.base}) as socket:
                yield Tab(socket)


def processes_of(program: Program) -> list[int]:
    """Every process that runs in a program's folder, the server among them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if path.readlink() == program.folder:
                found.append(int(path.parent.name))
    return found


class Tab:
    """The content of a browser's tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self.is_closed = False

    @property
    def text(self) -> str:
        """The text on the screen now."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    async def wait_for(self, wanted: str | Callable[[], object]) -> None:
        """Draws until a text is on the screen, or a condition holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not (wanted() if callable(wanted) else wanted in self.text):
            assert time.monotonic() < deadline, f"not seen: {wanted}\n{self.text}"
            assert not self.is_closed, f"the screen has ended\n{self.text}"
            await self._draw()

    async def wait_for_end(self) -> None:
        """Draws until the server closes it."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_closed:
            assert time.monotonic() < deadline, f"it does not end\n{self.text}"
            await self._draw()

    async def _draw(self) -> None:
        try:
            message = await self._socket.receive(0.05)
        except TimeoutError:
            return
        if message.type is aiohttp.WSMsgType.BINARY:
            self._stream.feed(message.data)
        elif message.type is not aiohttp.WSMsgType.TEXT:
            self.is_closed = True

    async def type(self, keys: str) -> None:
        """Types keys."""
        await self._socket.send_json(["stdin", keys])
