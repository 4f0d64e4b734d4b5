"""engine.log of a run that continues in another directory: later workers find it there."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_listener import listening
from program import Program, Run, wait_until
from servers import FaultServer, Reply
from steered_runs import CHAT, GOOD
from tiers import first_always

from tui_eval.commands import SaveAs
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import RunMoved
from tui_eval.feeds.live_feed import LiveFeed

SECRET = "sk-planted-0123456789"
SOON = Reply(body=GOOD.body, delay=0.1)

PRINTS = """
    import os
    import pathlib
    import tui_eval as vf

    pathlib.Path(f"worker-{os.getpid()}").touch()
    print("loaded with", os.environ["PLANTED"])

    class Env(vf.SingleTurnEnv):
        async def setup_state(self, state):
            print("seen", state["example_id"], "with", os.environ["PLANTED"])
            return state

    def load_environment():
        data = [{"question": str(i)} for i in range(10)]
        return Env(dataset=data, rubric=vf.Rubric([lambda completion: 1.0]))
"""


def workers(folder: Path) -> list[int]:
    return [int(path.name.partition("-")[2]) for path in folder.glob("worker-*")]


async def end_worker(folder: Path) -> None:
    """Ends the only worker, and waits until another one loads the environment."""
    [pid] = workers(folder)
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(wait_until, lambda: len(workers(folder)) > 1, "another one")


@pytest.mark.parametrize("ends", first_always(["while it waits", "when it has moved"]))
async def test_a_worker_that_comes_later_writes_to_the_log_where_it_is_now(
    request_of: Callable[..., dict[str, Any]],
    program: Program,
    fault_server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    ends: str,
) -> None:
    monkeypatch.setenv("PLANTED", SECRET)
    fault_server.script(CHAT, [GOOD, SOON])
    program.environment("plain", PRINTS)
    request = request_of(num_examples="8", max_concurrent="1", api_key_var="PLANTED")
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: one.state.finished >= 1, "a row is written")
        old, new = program.only_run(), program.folder / "elsewhere"
        away = old.path.rename(old.path.with_name("away"))
        await one.until(lambda: one.state.refusal, "the run is not where it was")
        if ends == "while it waits":
            await end_worker(program.folder)
        one.feed.send(SaveAs(str(new)))
        await one.until(lambda: one.of(RunMoved), "it continues there")
        moved_at = one.state.finished
        if ends == "when it has moved":
            await end_worker(program.folder)
        await one.until(lambda: one.state.end, "the run ends")
    assert one.state.end.exit_code == 0, one.state.end
    run = Run(new)
    assert sorted(run.places()) == [(i, 0) for i in range(8)] and moved_at < 6
    assert run.log.count("loaded with") > 1
    assert all(f"seen {i} with" in run.log for i in range(8))
    for path in (run.path, away):
        assert SECRET not in (path / "engine.log").read_text()
    assert not old.path.exists()
