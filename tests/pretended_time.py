"""Time that passes only while requests wait for their next try."""

from __future__ import annotations

import pytest

from tui_eval.clients import pacing


class PretendedTime:
    """Stands for the clock and the sleep of the pace; `naps` are the waits, in seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.naps: list[float] = []
        monkeypatch.setattr(pacing, "now", lambda: self.now)
        monkeypatch.setattr(pacing, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds
