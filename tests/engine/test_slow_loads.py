"""An environment that takes long to load is reported, with the line at which it stands."""

from __future__ import annotations

import asyncio
import re

import pytest
from program import PATIENCE_S, Program
from run_here import open_in_worker

CODE = """
import time


def hold():
    time.sleep(600)


def load_environment():
    hold()
"""


async def test_a_load_that_takes_long_is_reported_with_its_place(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_eval.engine.transport.worker.SLOW_LOAD_S", 2.0)
    program.environment("held", CODE)
    reported: asyncio.Queue[str] = asyncio.Queue()
    args = ["held", "-m", "demo"]
    opening = asyncio.create_task(open_in_worker(program, args, reported.put_nowait))
    try:
        said = await asyncio.wait_for(reported.get(), PATIENCE_S)
    finally:
        opening.cancel()
        await asyncio.wait([opening])
    place = r"environments/held\.py:\d+ in hold"
    assert re.fullmatch(rf"A worker has been loading held for 2 s \({place}\)", said)
