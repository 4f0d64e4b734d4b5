"""Fixtures of the tests of saved runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from feed_listener import Listener

from tui_eval.feeds import saved_feed


@pytest.fixture
def listen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], Listener]]:
    monkeypatch.setattr(saved_feed, "POLL_INTERVAL_S", 0.01)
    listeners: list[Listener] = []

    def start(path: Path) -> Listener:
        listeners.append(Listener(path))
        return listeners[-1]

    yield start
    for one in listeners:
        asyncio.run(one.feed.close())
