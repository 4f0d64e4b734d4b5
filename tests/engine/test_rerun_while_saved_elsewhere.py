"""An errored rollout waits for room to run again, while the run is being saved elsewhere."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from engine_listener import listening
from program import Program, Run
from servers import FaultServer, Reply
from steered_runs import BAD, CHAT, GOOD, answered, as_on_disk, figures

from tui_eval.commands import Rerun, SaveAs
from tui_eval.engine.execution.reruns import RETRIES_EVERY_S
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import RunMoved
from tui_eval.feeds.live_feed import LiveFeed


@pytest.mark.slow
async def test_its_row_is_taken_back_where_the_run_is_then(
    request_of: Callable[..., dict[str, Any]], program: Program, fault_server: FaultServer
) -> None:
    continues = threading.Event()
    later = Reply(body=GOOD.body, hold=(1, continues))
    fault_server.script(CHAT, [BAD, GOOD, later, GOOD])
    async with listening(LiveFeed(Launch(request_of(num_examples="3", max_concurrent="1")))) as one:
        await one.until(lambda: one.state.finished == 2, "one has errored, and another finished")
        old, new = program.only_run(), program.folder / "elsewhere" / "saved"
        away = old.path.rename(old.path.with_name("away"))
        one.feed.send(Rerun())
        await answered(one)
        continues.set()
        await one.until(lambda: one.state.refusal, "what comes is refused, too")
        os.mkfifo(away / "notes.jsonl")
        one.feed.send(SaveAs(str(new)))
        await one.until((new / "results.jsonl").exists, "the copy has begun")
        away.rename(old.path)
        tried_again = time.monotonic() + 1.5 * RETRIES_EVERY_S
        await one.until(lambda: time.monotonic() > tried_again, "it would have been moved")
        with (old.path / "notes.jsonl").open("wb"):
            pass
        await one.until(lambda: one.of(RunMoved), "it continues there")
        await one.until(lambda: one.state.end, "the run ends")
    run = Run(new)
    assert sorted(run.places()) == [(i, 0) for i in range(3)]
    assert figures(one.state) == figures(as_on_disk(run))
