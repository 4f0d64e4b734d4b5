"""`tui-eval serve`: who is let in, and what is left when a tab or the server is gone."""

from __future__ import annotations

import asyncio
import importlib.util
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
from held_runs import HeldRun
from program import Program, wait_until
from served import Served, Tab, processes_of
from servers import FaultServer

from tui_eval.cli.main import cli
from tui_eval.cli.serve.web_server import POLL_INTERVAL_S
from tui_eval.install_commands import extra_command


async def status(session: aiohttp.ClientSession, url: str, **headers: str) -> tuple[int, str]:
    async with session.get(url, headers=headers) as answer:
        return answer.status, await answer.text()


async def socket_status(session: aiohttp.ClientSession, base: str, origin: str) -> int:
    try:
        async with session.ws_connect(f"{base}/ws", headers={"Origin": origin}):
            return 101
    except aiohttp.WSServerHandshakeError as error:
        return error.status


async def test_only_who_has_the_token_is_let_in(program: Program) -> None:
    served = Served(program)
    base = served.base
    async with aiohttp.ClientSession() as stranger:
        for path in ("/", "/?token=wrong", "/static/js/textual.js", "/serve.js", "/download/x"):
            code, text = await status(stranger, base + path)
            assert code == 401
            assert "Open the URL that tui-eval serve printed" in text
        assert await socket_status(stranger, base, base) == 401
    async with served.browser() as friend:
        code, text = await status(friend, f"{base}/")
        assert code == 200
        assert "terminal" in text
        assert "https://" not in text  # nothing comes from elsewhere
        for path in ("/static/js/textual.js", "/static/css/xterm.css", "/serve.js"):
            assert (await status(friend, base + path))[0] == 200
        assert await socket_status(friend, base, "http://evil.example") == 403
        assert await socket_status(friend, base, "null") == 403
        port = base.rpartition(":")[2]
        code, text = await status(friend, f"{base}/", Host=f"evil.example:{port}")
        assert code == 403
        assert "--public-url" in text
        assert (await status(friend, f"{base}/download/x"))[0] == 404


async def test_the_token_is_gone_from_the_address_and_pages_say_nothing_on(
    program: Program,
) -> None:
    served = Served(program)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{served.url}&fontsize=12", allow_redirects=False) as answer,
    ):
        assert answer.status == 303
        assert answer.headers["Location"] == "./?fontsize=12"
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert served.url.partition("token=")[2] not in cookie
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


async def test_a_token_of_ones_own_is_not_printed(program: Program) -> None:
    (program.folder / "secret").write_text("swordfish 8?\n")
    served = Served(program, "--token", "@secret")
    async with aiohttp.ClientSession() as session:
        for shown, code in (("swordfish+8%3F", 303), ("swordfish", 401)):
            url = f"{served.base}/?token={shown}"
            async with session.get(url, allow_redirects=False) as answer:
                assert answer.status == code
    served.process.send_signal(signal.SIGINT)
    done = program.finish(served.process)
    assert done.code == 0
    assert "swordfish" not in served.said + done.out + done.err


async def test_behind_a_proxy_its_name_and_its_pages_are_known(program: Program) -> None:
    served = Served(program, "--no-token", "--public-url", "https://evals.example:443/tui/")
    assert served.url == "https://evals.example:443/tui/"
    async with aiohttp.ClientSession() as session:
        _, text = await status(session, served.local, Host="evals.example")
        assert '"wss://evals.example:443/tui/ws"' in text
        page = "https://evals.example"
        headers = {"Host": "evals.example", "Origin": page}
        assert (await status(session, served.local, **headers))[0] == 200
        assert (await status(session, served.local, Origin=page))[0] == 200
        assert (await status(session, served.local, Host="other.example"))[0] == 403


@contextmanager
def held_run(folder: Path, phase: str) -> Iterator[HeldRun]:
    with FaultServer() as server, HeldRun(folder, phase, server) as held:
        yield held


async def shown(held: HeldRun, tab: Tab) -> None:
    await tab.wait_for(held.is_held)
    if "blocks" not in held.phase:  # what holds the loop holds the news, too
        await tab.wait_for("1/3")


@pytest.mark.slow
async def test_closing_the_tab_stops_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    with held_run(tmp_path, "model call") as held:
        served = Served(held.program, *held.args)
        async with served.tab() as tab:
            await shown(held, tab)
            assert len(held.programs()) == 4  # server, screen, engine, worker
        wait_until(lambda: len(held.programs()) == 1, "screen and engine are gone")
        served.process.send_signal(signal.SIGTERM)
        assert held.program.finish(served.process).code == 0
        held.check_what_is_left(1)
        held.assert_resumable()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "phase"),
    [
        (signal.SIGHUP, "model call"),
        (signal.SIGKILL, "model call"),
        (signal.SIGINT, "scoring that blocks everything"),
    ],
)
async def test_with_the_server_everything_ends(
    tmp_path: Path, number: signal.Signals, phase: str
) -> None:
    with held_run(tmp_path, phase) as held:
        served = Served(held.program, *held.args)
        async with served.tab() as tab:
            await shown(held, tab)
            served.process.send_signal(number)
            await asyncio.to_thread(held.program.finish, served.process)
            held.check_what_is_left(1)


@pytest.mark.slow
async def test_a_detached_run_continues_without_its_tab(tmp_path: Path) -> None:
    with held_run(tmp_path, "model call") as held:
        served = Served(held.program, *held.args)
        async with served.tab() as tab:
            await shown(held, tab)
            await tab.type("q")
            await tab.wait_for("detach")
            await tab.type("d")
            await tab.wait_for_end()
            assert "tui-eval open" in tab.text  # what a terminal shows after the screen
        served.process.send_signal(signal.SIGTERM)
        assert "tui-eval open" in held.program.finish(served.process).err
        assert len(held.programs()) == 2  # engine and worker


@pytest.mark.slow
async def test_a_second_tab_joins_the_run_of_the_first_and_lets_it_run(tmp_path: Path) -> None:
    with held_run(tmp_path, "model call") as held:
        served = Served(held.program, *held.args)
        async with served.tab() as first:
            await shown(held, first)
            async with served.tab() as second:
                await shown(held, second)
                assert len(held.programs()) == 5  # server, two screens, engine, worker
            wait_until(lambda: len(held.programs()) == 4, "the second screen is gone")
            await first.type("2")
            await first.wait_for("▶ running")
            held.program.only_run()
        wait_until(lambda: len(held.programs()) == 1, "screen and engine are gone")
        async with served.tab() as second:
            await second.wait_for(lambda: len(held.program.runs()) == 2)
        served.process.send_signal(signal.SIGTERM)
        assert held.program.finish(served.process).code == 0


async def test_what_ends_without_a_screen_says_why_in_the_tab(program: Program) -> None:
    served = Served(program, "open", "nothing-here")
    async with served.tab() as tab:
        await tab.wait_for_end()
        assert "nothing-here" in tab.text
        assert "error" in tab.text


@pytest.mark.slow
async def test_in_a_browser_there_is_neither_a_shell_nor_a_terminal_with_colours(
    program: Program,
) -> None:
    settings = program.folder / "settings.toml"
    settings.write_text('theme = "terminal"\n')
    program.env["TUI_EVAL_CONFIG"] = str(settings)
    served = Served(program)
    async with served.tab() as tab:
        await tab.wait_for("Environments")
        await tab.type("\x1a")
        await tab.wait_for("no shell")
        await tab.type(":")
        await tab.type("theme")
        await tab.wait_for("Theme: light")
        assert "Theme: terminal" not in tab.text


def test_all_that_is_wrong_is_reported_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["serve", "--token", "", "--public-url", "here", "ls", "outputs"]) == 2
    said = capsys.readouterr().err
    assert "--no-token lets everybody in" in said
    assert "--public-url: 'here'" in said
    assert "tui-eval ls: it has no screen" in said


def test_options_of_the_command_are_checked_before_anybody_opens_a_tab(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli(["serve", "calculator", "--port", "9000"]) == 2
    assert "No such option '--port'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_refused_where_it_was_requested(
    fault_server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    port = fault_server.url.rpartition(":")[2]
    assert cli(["serve", "--port", port]) == 2
    assert f"127.0.0.1:{port}: it cannot be listened on" in capsys.readouterr().err


def test_without_the_extra_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert cli(["serve"]) == 2
    assert f"Install it: {extra_command('serve')}" in capsys.readouterr().err


async def test_others_are_let_in_without_a_token_only_when_requested(program: Program) -> None:
    served = Served(program, "--host", "0.0.0.0", "--no-token")
    async with aiohttp.ClientSession() as session:
        port = served.base.rpartition(":")[2]
        assert (await status(session, f"http://127.0.0.1:{port}/"))[0] == 200
    served.process.send_signal(signal.SIGTERM)
    assert "warning: without a token everybody" in program.finish(served.process).err


# A screen that never draws, nor hears that its tab is gone; it notes that it was started.
MUTE = """
import os, sys, time

if "tui_eval.cli.serve.in_browser" in sys.orig_argv:
    with open(os.environ["STARTED"], "a") as file:
        file.write("x")
    time.sleep(600)
"""


@contextmanager
def mute_screens(program: Program) -> Iterator[Path]:
    """The file with one character for every screen that was started."""
    program.happens_at_start(MUTE)
    started = program.folder / "started"
    program.env["STARTED"] = str(started)
    started.touch()
    yield started


@pytest.mark.slow
async def test_a_tab_that_is_closed_while_it_waits_for_another_starts_nothing(
    program: Program,
) -> None:
    with mute_screens(program) as started:
        served = Served(program, "demo")
        async with served.tab() as first:
            await first.wait_for(lambda: started.stat().st_size == 1)
            async with served.tab():
                pass
        wait_until(lambda: len(processes_of(program)) == 1, "the screen is gone")
        async with served.tab() as last:
            await last.wait_for(lambda: started.stat().st_size > 1)
            later = time.monotonic() + 4 * POLL_INTERVAL_S
            await last.wait_for(lambda: time.monotonic() > later)
            assert started.read_text() == "xx"
        wait_until(lambda: len(processes_of(program)) == 1, "the last screen is gone")


@pytest.mark.slow
async def test_a_tab_that_waits_for_another_starts_nothing_once_the_server_ends(
    program: Program,
) -> None:
    with mute_screens(program) as started:
        served = Served(program, "demo")
        async with served.tab() as first, served.tab() as second:
            await first.wait_for(lambda: started.stat().st_size == 1)
            served.process.send_signal(signal.SIGTERM)
            await second.wait_for_end()
            assert program.finish(served.process).code == 0
        assert started.read_text() == "x"
        assert processes_of(program) == []
