"""A headless Chromium: the machine's, or one from the npm registry kept beside the tests."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import itertools
import os
import re
import shutil
import subprocess
import tarfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
PACKAGE, VERSION = "@sparticuz/chromium", "153.0.0"
CACHE = Path(__file__).parents[1] / ".cache" / "chromium"
ANSWERS_WITHIN_S = 60.0
INSTALLS_WITHIN_S = 240.0

UNPACK = """
const {createReadStream, createWriteStream} = require("node:fs");
const {pipeline} = require("node:stream");
const [from, to] = process.argv.slice(1);
const unpack = require("node:zlib").createBrotliDecompress();
pipeline(createReadStream(from), unpack, createWriteStream(to), (error) => {
  if (error) { console.error(error); process.exit(1); }
});
"""

FLAGS = (
    *("--headless", "--no-sandbox", "--no-zygote", "--no-first-run", "--remote-debugging-port=0"),
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--disable-dev-shm-usage", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--font-render-hinting=none"),
)


def chromium() -> Path:
    """The program's path; installs it once, and skips the test where that cannot be done."""
    if found := next(filter(None, map(shutil.which, NAMES)), None):
        return Path(found)
    program = CACHE / VERSION / "chromium"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _install(program)
    return program


def _install(program: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("there is no chromium, and no node and npm to install one")
    folder = program.parent
    install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]
    _run([*install, str(folder), f"{PACKAGE}@{VERSION}"])
    packed = folder / "node_modules" / PACKAGE / "bin"
    for name in ("al2023.tar", "swiftshader.tar"):
        _run([node, "-e", UNPACK, str(packed / f"{name}.br"), str(folder / name)])
        with tarfile.open(folder / name) as files:
            files.extractall(
                folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
            )
        (folder / name).unlink()
    part = folder / "chromium.part"
    _run([node, "-e", UNPACK, str(packed / "chromium.br"), str(part)])
    shutil.rmtree(folder / "node_modules")
    part.chmod(0o755)
    part.rename(program)  # from now on it is whole


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLS_WITHIN_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"chromium: {command[0]} took longer than {INSTALLS_WITHIN_S:.0f} s")
    if done.returncode:
        pytest.skip(f"chromium: {command[0]} failed: {done.stderr.strip()[-300:]}")


@asynccontextmanager
async def opened_browser(folder: Path, size: tuple[int, int] = (1280, 800)) -> AsyncIterator[Page]:
    """A browser with an empty page, until the block ends.

    Args:
        folder: Where it may keep its profile.
        size: Pixels.
    """
    program = await asyncio.to_thread(chromium)
    libraries = f"{program.parent / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    own = {"LD_LIBRARY_PATH": libraries} if CACHE in program.parents else {}
    process = await asyncio.create_subprocess_exec(
        *(str(program), *FLAGS, f"--window-size={size[0]},{size[1]}"),
        *(f"--user-data-dir={folder / 'profile'}", "about:blank"),
        env={**os.environ, **own},
        stdout=DEVNULL,
        stderr=PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    drain = None
    try:
        port = await asyncio.wait_for(_debugging_port(process.stderr), ANSWERS_WITHIN_S)
        drain = asyncio.create_task(process.stderr.read())
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                (first, *_) = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(first["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                await page.ask("Network.enable")
                # Not every headless browser takes its window for the one that is in front.
                await page.ask("Emulation.setFocusEmulationEnabled", enabled=True)
                yield page
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        await process.wait()
        if drain is not None:
            await drain


async def _debugging_port(stderr: asyncio.StreamReader) -> str:
    said = b""
    while line := await stderr.readline():
        said += line
        if found := re.search(rb"listening on ws://127\.0\.0\.1:(\d+)/", line):
            return found[1].decode()
    raise AssertionError(f"chromium did not start: {said.decode(errors='replace')}")


class Page:
    """A page of a browser, driven by its debugging protocol.

    `received` holds what came to it in binary frames of web sockets, as far as it was waited for.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self.received: list[bytes] = []

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls a method of the protocol and returns its result."""
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            said = await self._socket.receive_json(timeout=ANSWERS_WITHIN_S)
            if said.get("method") == "Network.webSocketFrameReceived":
                frame = said["params"]["response"]
                if frame["opcode"] == aiohttp.WSMsgType.BINARY:
                    self.received.append(base64.b64decode(frame["payloadData"]))
            if said.get("id") == number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result

    async def open(self, url: str) -> None:
        """Goes to a page; what was received before is forgotten."""
        self.received.clear()
        await self.ask("Page.navigate", url=url)
        while await self.evaluate("document.readyState + location.protocol") != "completehttp:":
            await asyncio.sleep(0.02)

    async def evaluate(self, script: str) -> Any:
        """The value of an expression of JavaScript."""
        how = {"returnByValue": True, "awaitPromise": True}
        answer = await self.ask("Runtime.evaluate", expression=script, **how)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def press(self, key: str, code: int, text: str = "") -> None:
        """Presses a key.

        Args:
            key: Its name, such as `Enter`.
            code: Its number on a keyboard of old.
            text: What it writes.
        """
        event = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        await self.ask("Input.dispatchKeyEvent", type="keyDown", **event)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", **event)

    async def screenshot(self) -> bytes:
        """The page as PNG."""
        answer = await self.ask("Page.captureScreenshot")
        return base64.b64decode(answer["data"])
