"""The embedded endpoint's process ends with the one that started it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tui_eval.worker.replicas import EmbeddedEndpoint


async def test_cancelling_its_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    create = asyncio.create_subprocess_exec

    async def noted(*args: Any, **kwargs: Any) -> Any:
        process = await create(*args, **kwargs)
        made.set_result(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    starting = asyncio.create_task(EmbeddedEndpoint.start())
    process = await made
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert process.returncode is not None
