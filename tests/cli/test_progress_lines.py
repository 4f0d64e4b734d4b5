"""Lines printed during a run: the reasons for waiting, and the progress of a suite."""

from __future__ import annotations

import json
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from program import Program
from scripted_suite import moved, suite_started
from servers import FaultServer, Reply

from tui_eval.cli.console.printer import Printer
from tui_eval.cli.console.progress_lines import FIRST_WAIT_AFTER_S, ProgressLines
from tui_eval.events import RunFinished

CHAT = "/v1/chat/completions"
DOWN = Reply(500, {"error": {"message": "out of order"}})


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr("tui_eval.clock.now", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_server_that_always_fails_is_named_while_it_is_waited_for_and_at_the_end(
    program: Program, fault_server: FaultServer, as_json: bool
) -> None:
    fault_server.script(CHAT, [DOWN])
    arguments = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "2", "-d")
    process = program.start("reverse-text", *arguments, *(["--json"] if as_json else []))
    stream = process.stderr if as_json else process.stdout
    assert stream is not None
    said = next((line for line in stream if "Waiting to try again" in line), "")
    process.send_signal(signal.SIGINT)
    done = program.finish(process)
    assert done.code == 130, done
    count, cause, again = said.removeprefix("Waiting to try again: ").strip().split("; ")
    assert count in [f"{n} rollouts" for n in (2, 3, 4)] + ["1 rollout"]
    assert cause == "last cause: status 500: out of order"
    assert again.startswith("next try ")
    if as_json:
        assert json.loads(done.out)["last_cause"] == "status 500: out of order"
    else:
        reported = (
            "No rollout succeeded; the last one to be tried again met status 500: out of order"
        )
        assert reported in done.out.splitlines()


def test_nothing_is_said_where_nothing_new_happened_and_less_often_the_longer_it_takes(
    clock: Clock,
) -> None:
    lines = ProgressLines()
    assert lines.waiting_line(4, "status 500", clock.now + 9) is None, "a blip is not worth a line"
    clock.now += FIRST_WAIT_AFTER_S
    reported = lines.waiting_line(4, "status 500", clock.now + 5.4)
    assert reported == "Waiting to try again: 4 rollouts; last cause: status 500; next try in 5s"
    until = clock.now + 5.4
    clock.now += 100
    assert lines.waiting_line(4, "status 500", until) is None
    assert lines.waiting_line(0, "status 500", 0.0) is None
    said = []
    for _ in range(600):
        clock.now += 1
        said += [clock.now] if lines.waiting_line(1, "no connection", clock.now - 0.1) else []
    gaps = [b - a for a, b in pairwise(said)]
    assert gaps == sorted(gaps)
    assert gaps[-1] == 30


def reported(
    console: Printer, capsys: pytest.CaptureFixture[str], *events: Any
) -> tuple[list[str], list[str]]:
    """Lines of a suite for events, on stdout and stderr."""
    for event in events:
        console.handle(event)
        console.print_progress()
    said = capsys.readouterr()
    return said.out.splitlines(), said.err.splitlines()


def test_a_suite_says_why_its_rollouts_wait(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    for as_json in (False, True):
        console = Printer(as_json=as_json)
        waits = {"finished": 0, "errored": 0, "reward": None}
        first = moved(0, "running", sleeping=3, cause="status 503", again_at=1004.0, **waits)
        second = moved(1, "running", sleeping=2, cause="status 500", again_at=1003.0, **waits)
        reported(console, capsys, suite_started(), first, second)
        clock.now += FIRST_WAIT_AFTER_S
        second.again_at, second.at, first.at = clock.now + 4, clock.now, clock.now - 1
        out, err = reported(console, capsys, second)
        line = "Waiting to try again: 5 rollouts; last cause: status 500; next try in 1s"
        assert (err if as_json else out) == [line]
        assert (out if as_json else err) == []
        clock.now = 1000.0


def test_the_end_of_a_suite_names_the_cause_where_nothing_succeeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Printer()
    over = moved(0, "interrupted", path="", total=48, cause="status 500")
    some = moved(1, "interrupted", path="", total=48, finished=2, cause="status 503")
    none = moved(2, "interrupted", path="", total=48)
    end = RunFinished(0, 1.0, "interrupted", 130)
    reported(console, capsys, suite_started(), over, some, none, end)
    console.sum_up(abbreviated=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "tried again" in line] == [
        "[1/8] calculator (temperature=0.2): no rollout succeeded; the last one to be tried again "
        "met status 500"
    ]


def test_what_will_not_come_any_more_is_not_in_the_total(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Printer()
    cases = [("a", "m", {}), ("b", "m", {}), ("c", "m", {})]
    out, _ = reported(console, capsys, suite_started(cases))
    assert out[0].startswith("3 evaluations, 144 rollouts in all")
    out, err = reported(console, capsys, moved(1, "refused", text="no such split", total=0))
    assert err == ["error: [2/3] b: refused: no such split"]
    assert out == ["Now 96 rollouts in all"]
    out, _ = reported(console, capsys, *(moved(place, "finished", errored=0) for place in (0, 2)))
    assert out[-1] == "Progress: ████████████████████ 96/96 (100%), 3 of 3 evaluations over"


def test_an_evaluation_that_is_resumed_says_so_and_a_complete_one_does_not_begin(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Printer()
    cases = [("a", "m", {}), ("b", "m", {})]
    none = {"errored": 0, "reward": None, "low": None, "reward_std": None}
    there = moved(0, "running", finished=48, **none)
    partly = moved(1, "running", finished=30, **none)
    out, _ = reported(console, capsys, suite_started(cases), there, partly)
    assert "[2/2] b: resumes, 30 of 48 rollouts done" in out
    assert not [line for line in out if line.startswith("[1/2]")]
    sure = {"reward": 0.75, "reward_std": 0.43, "low": 0.64, "high": 0.86}
    out, _ = reported(console, capsys, moved(0, "finished", errored=0, **sure))
    assert out[0] == "[1/2] a: complete already, 48 rollouts, reward 0.75 ± 0.43"
