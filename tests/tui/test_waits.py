"""The wait of a rollout on the screen: in the list, at the end of its trajectory, on top."""

from __future__ import annotations

from rollouts_staging import shown
from scripted_rows import saved_rows
from scripted_run import NOW, ScriptedFeed, run_started, staged
from staging import staged_app

from tui_eval import events as ev
from tui_eval.events import Stage

URL = "POST http://127.0.0.1:41873/v1"
EVENTS = [
    run_started(),
    staged(0, Stage.MODEL, waits_for=URL, since=NOW - 83, worker=7),
    staged(1, Stage.TOOL, waits_for="Tool 'divide'", since=NOW - 12, worker=7),
    staged(2, Stage.MODEL, waits_for=URL, since=NOW - 3, worker=7),
]
STILL = ev.WorkersSeen(
    0, NOW, [ev.WorkerSeen(7, "at work", 3, 60.0, NOW - 30, "calculator.py, line 3")]
)


async def test_long_waits_are_in_the_list_and_the_longest_is_on_top() -> None:
    feed = ScriptedFeed([*EVENTS], saved_rows())
    async with staged_app(feed, size=(200, 60)) as stage:
        _, first, second, third, *_ = shown(stage).splitlines()
        assert "1:23 POST …" in first
        assert "12s tool 'd" in second
        assert "POST" not in third
        assert "longest wait 1:23" in stage.text(stage.live.header)


async def test_the_trajectory_ends_with_what_its_rollout_waits_for() -> None:
    feed = ScriptedFeed([*EVENTS, STILL], saved_rows())
    async with staged_app(feed, size=(200, 60)) as stage:
        await stage.press("f", "g")
        await stage.until(lambda: "for POST" in stage.text(stage.live.trajectory))
        said = " ".join(stage.text(stage.live.trajectory).replace("▌", " ").split())
        still = "worker 7 has stood still in calculator.py, line 3 for 30s"
        assert f"has waited 1:23 for {URL}, {still}" in said
        assert "! 1 worker stands still" in stage.text(stage.live.header)


async def test_a_replica_that_is_out_is_on_top() -> None:
    out = ev.ReplicaMoved(0, NOW, 1, "http://10.0.0.8/v1", NOW - 90, "connection refused", NOW + 4)
    for size, text in (((80, 24), "1 replica out"), ((200, 60), "! 1 replica out")):
        async with staged_app(ScriptedFeed([*EVENTS, out], saved_rows()), size=size) as stage:
            assert text in stage.text(stage.live.header)
    back = ev.ReplicaMoved(0, NOW, 1, "http://10.0.0.8/v1")
    async with staged_app(ScriptedFeed([*EVENTS, out, back], saved_rows())) as stage:
        assert "replica" not in stage.text(stage.live.header)
