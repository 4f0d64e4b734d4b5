"""`tui-eval serve` in a real browser: what it shows, the keys that arrive, and what is left."""

from __future__ import annotations

import asyncio
import io
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pyte
import pytest
from browser import Page, opened_browser
from PIL import Image
from program import PATIENCE_S, Program, wait_until
from served import Served, processes_of

pytestmark = pytest.mark.slow

BACKGROUND = (0x15, 0x17, 0x1B)
WITHOUT_TOKEN = "document.body.innerText"
HAS_FOCUS = "!!document.querySelector('.xterm-helper-textarea:focus')"


async def until(holds: Callable[[], Awaitable[object]], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not await holds():
        assert time.monotonic() < deadline, f"not seen: {what}"
        await asyncio.sleep(0.05)


async def text_of(page: Page) -> str:
    """Text that the terminal in a page shows."""
    await page.evaluate("0")
    screen = pyte.Screen(200, 60)
    pyte.ByteStream(screen).feed(b"".join(page.received))
    return "\n".join(screen.display)


async def is_drawn(page: Page) -> bool:
    """Whether the picture of a page has text in our colours."""
    picture = Image.open(io.BytesIO(await page.screenshot())).convert("RGB")
    colours = {colour: n for n, colour in picture.getcolors(1 << 24) or []}
    ink = picture.width * picture.height - colours.get(BACKGROUND, 0)
    return colours.get(BACKGROUND, 0) > ink > 5000


@pytest.mark.timeout(400)  # on a new machine the browser has to be installed
async def test_a_browser_shows_the_home_and_a_run_of_it(program: Program, tmp_path: Path) -> None:
    made = program.run("calculator", "-m", "demo", "-n", "2", "-r", "1", "-s")
    assert made.code == 0, made
    program.env["TUI_EVAL_CACHE_DIR"] = "cache"
    served = Served(program)
    async with opened_browser(tmp_path / "browser") as page:
        await page.open(f"{served.base}/")
        assert "A token is needed" in await page.evaluate(WITHOUT_TOKEN)
        assert not await page.evaluate("document.querySelectorAll('canvas').length")

        await page.open(served.url)
        await until(lambda: page.evaluate(HAS_FOCUS), "the terminal has the focus")
        await until(lambda: shows(page, "demo-scripted-policy"), "the run at home")
        await until(lambda: is_drawn(page), "its picture")
        assert "token" not in await page.evaluate("location.href")
        await page.press("Enter", 13, "\r")
        await until(lambda: shows(page, "Trajectory"), "the run itself")
        assert len(processes_of(program)) >= 2
        await copied_and_exported(page, program, tmp_path / "downloads")
    wait_until(lambda: processes_of(program) == [served.process.pid], "the screen is gone")
    served.process.send_signal(signal.SIGTERM)
    assert program.finish(served.process).code == 0
    assert not processes_of(program)


async def copied_and_exported(page: Page, program: Program, downloads: Path) -> None:
    """What is copied is in the browser's clipboard; an export is downloaded, and said to be."""
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    await page.ask("Browser.grantPermissions", permissions=permissions)
    await page.press("y", 89, "y")
    await until(lambda: shows(page, " Copy "), "the menu of copies")
    await page.press("Enter", 13, "\r")
    await until(lambda: shows(page, "also on the server in cache/copied.txt"), "where the copy is")
    copied = (program.folder / "cache" / "copied.txt").read_text()
    assert await page.evaluate("navigator.clipboard.readText()") == copied
    await page.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
    await page.press("x", 88, "x")
    await until(lambda: shows(page, "your browser downloads a copy"), "the form of an export")
    await page.press("Enter", 13, "\r")
    await until(lambda: shows(page, "2 rollouts downloaded; also on the server in "), "the end")
    (written,) = program.folder.glob("*.html")
    wait_until(lambda: (downloads / written.name).exists(), "the download")
    assert (downloads / written.name).read_bytes() == written.read_bytes()


async def shows(page: Page, text: str) -> bool:
    return text in await text_of(page)
