"""A signal ends the plain command in time at every phase; nothing is left, nothing is lost."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from held_runs import EXAMPLES, HeldRun
from program import wait_until
from run_here import run_here
from servers import FaultServer, Reply

BEFORE = ["import", "loading", "preflight"]
AT_ONE = [
    "setup",
    "setup that blocks",
    "model call",
    "request asleep",
    "rollout asleep",
    "tool",
    "tool that blocks",
    "plain tool",
    "cleanup",
    "scoring",
    "scoring that blocks",
    "plain scoring",
]
AT_END = ["teardown", "teardown that blocks"]
PHASES = [*BEFORE, *AT_ONE, *AT_END]
BLOCKING = [phase for phase in PHASES if "blocks" in phase or "plain" in phase]
"""Where a run does not end by itself: a second signal finds it at work."""
RESUMES = {"model call", "tool that blocks", "cleanup", "scoring", "teardown"}
"""Phases at which the ended run is resumed, too; at the others the same is left of it."""
ONCE, TWICE = [signal.SIGINT], [signal.SIGINT, signal.SIGINT]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def interrupted(
    folder: Path, phase: str, signals: list[signal.Signals], *, served: bool = True
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(FaultServer()) if served else None
        held = stack.enter_context(HeldRun(folder, phase, server))
        process = held.program.start(*held.args)
        wait_until(held.is_held, f"the run is held at {phase}")
        done = 0 if phase in BEFORE else EXAMPLES if phase in AT_END else 1
        process.send_signal(signals[0])
        for number in signals[1:]:
            lines = iter(process.stderr.readline, "")
            assert any("Stopping" in line for line in lines)
            process.send_signal(number)
        assert held.program.finish(process).code == (0 if done == EXAMPLES else 130)
        held.check_what_is_left(done)
        if phase in RESUMES and len(signals) == 1:
            held.assert_resumable(run_here)


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_ends_the_run_in_time_and_leaves_nothing_behind(
    tmp_path: Path, phase: str
) -> None:
    interrupted(tmp_path, phase, [SIGNALS[PHASES.index(phase) % len(SIGNALS)]])


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["import", "model call", *BLOCKING])
def test_a_second_signal_ends_the_run_at_once_and_leaves_nothing_behind(
    tmp_path: Path, phase: str
) -> None:
    interrupted(tmp_path, phase, TWICE)


@pytest.mark.parametrize("signals", [ONCE, TWICE], ids=["once", "twice"])
def test_the_embedded_endpoint_ends_with_the_run(
    tmp_path: Path, signals: list[signal.Signals]
) -> None:
    interrupted(tmp_path, "setup that blocks", signals, served=False)


def test_a_push_that_is_stopped_leaves_the_run_and_says_how_to_try_again(tmp_path: Path) -> None:
    with FaultServer() as server, HeldRun(tmp_path, "nothing", server) as held:
        server.script("/api/datasets/me/data", [Reply(hang=True)])
        held.program.env |= {
            "HF_ENDPOINT": server.url,
            "HF_TOKEN": "hf_x",
            "HF_HOME": str(tmp_path),
        }
        process = held.program.start(*held.args, "-H", "-D", "me/data", "--json")
        wait_until(lambda: "/api/datasets/me/data" in held.paths, "the push waits")
        process.send_signal(signal.SIGTERM)
        done = held.program.finish(process)
        assert done.code == 8, done
        assert "Try again: tui-eval push" in done.err
        assert json.loads(done.out)["hub"]["pushed"] is False
        held.check_what_is_left(EXAMPLES)
