"""Opening a run whose engine ends, or has ended, at that very moment."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from engine_listener import EngineListener
from run_on_disk import run_on_disk

from tui_eval.feeds.joined_feed import JoinedFeed, feed_of
from tui_eval.feeds.saved_feed import SavedFeed
from tui_eval.runs.lock import RunLock


@pytest.fixture
async def short() -> AsyncIterator[Path]:
    """A folder whose path fits into a socket's address."""
    with tempfile.TemporaryDirectory(prefix="join") as folder:
        yield Path(folder)


async def test_a_run_whose_engine_is_gone_is_read_from_disk(tmp_path: Path, short: Path) -> None:
    feed = JoinedFeed(run_on_disk(tmp_path / "run"), str(short / "gone.sock"))
    await feed.start()
    listener = EngineListener(feed)
    await listener.until(lambda: listener.state.end, "the run is over")
    assert listener.state.end is not None and listener.state.end.status == "finished"
    assert (listener.state.finished, listener.state.notices, feed.live) == (4, [], False)
    assert feed.saved(0, listener.state.offset[0], listener.state.length[0]) is not None
    await feed.close()


async def test_an_engine_that_lets_go_before_it_sent_anything_leaves_the_disk(
    tmp_path: Path, short: Path
) -> None:
    requested = asyncio.Event()

    async def ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requested.set()
        writer.close()

    server = await asyncio.start_unix_server(ends, short / "ends.sock")
    feed = JoinedFeed(run_on_disk(tmp_path / "run", rows=3), str(short / "ends.sock"))
    await feed.start()
    await requested.wait()
    seat = EngineListener(feed)
    await seat.until(lambda: seat.state.end, "the run is over")
    assert seat.state.end is not None and seat.state.end.status == "interrupted"
    assert seat.state.finished == 3
    await feed.close()
    server.close()


async def test_a_run_whose_engine_does_not_answer_is_followed_and_says_so(
    tmp_path: Path, short: Path
) -> None:
    run = run_on_disk(tmp_path / "run", rows=3)
    lock = RunLock(run.lock, str(short / "none.sock"))
    feed = feed_of(run)
    await feed.start()
    listener = EngineListener(feed)
    await listener.until(lambda: listener.state.finished == 3, "the rows are read")
    assert "cannot be joined" in listener.state.notices[0][1]
    assert listener.state.end is None
    lock.release()
    await listener.until(lambda: listener.state.end, "whoever held it has let go")
    await feed.close()


def test_a_lock_that_nobody_holds_joins_nothing(tmp_path: Path) -> None:
    run = run_on_disk(tmp_path / "run")
    run.lock.write_text(f'{{"pid": {os.getpid()}, "socket": "/gone.sock"}}')
    assert isinstance(feed_of(run), SavedFeed)
