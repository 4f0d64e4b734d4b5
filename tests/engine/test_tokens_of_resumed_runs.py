"""A resumed run counts what it was answered before, also of rollouts that have not begun again."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

from engine_listener import listening
from program import Program, Run
from servers import FaultServer
from steered_runs import CHAT, GOOD, HANG

from tui_eval.commands import Stop
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import Stage
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.runs.journal_records import read_journal
from tui_eval.runs.layout import RunDir

CODE = """
import tui_eval as vf


class Talk(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **kwargs):
        return [vf.UserMessage(content="go on")]


def load_environment():
    rows = [{"question": f"q{n}"} for n in range(4)]
    return Talk(dataset=rows, rubric=vf.Rubric([lambda completion: 1.0]), max_turns=2)
"""


async def test_tokens_in_the_journal_are_counted_from_the_start(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("talk", CODE)
    fault_server.script(CHAT, [*[GOOD] * 4, HANG])
    async with listening(
        LiveFeed(Launch(request_of("talk", num_examples="4", max_concurrent="4")))
    ) as one:
        await one.until(lambda: len(fault_server.requests) == 8, "each has had one answer")
        one.feed.send(Stop())
        await one.until(lambda: one.state.end, "the run ends")
        spent = one.state.tokens
    run = program.only_run()
    assert spent == sum(sum_of(one) for one in run.metadata["unfinished"]) > 0
    request = {"env_id": None, "raw": {"resume": str(run.path), "max_concurrent": "1"}}
    async with listening(LiveFeed(Launch(request))) as one:
        await one.until(lambda: len(fault_server.requests) == 9, "the first one continues")
        await one.until(lambda: one.state.stage[0] == Stage.MODEL, "that is known")
        assert one.state.tokens == spent
        one.feed.send(Stop())
        await one.until(lambda: one.state.end, "the run ends")
        assert one.state.tokens == spent
    assert spent == sum(sum_of(one) for one in run.metadata["unfinished"])


async def test_answers_of_a_killed_run_are_counted_before_and_after_it_is_resumed(
    program: Program, fault_server: FaultServer, request_of: Callable[..., dict[str, Any]]
) -> None:
    program.environment("talk", CODE)
    fault_server.script(CHAT, [*[GOOD] * 6, HANG])
    async with listening(
        LiveFeed(Launch(request_of("talk", num_examples="4", max_concurrent="2")))
    ) as one:
        await one.until(lambda: len(fault_server.requests) == 8, "two are done, two answered once")
        run = program.only_run()
        in_flight = RunDir(run.path)
        await one.until(lambda: len(read_journal(in_flight).answers) == 2, "that is kept")
        os.kill(one.feed.engine.pid, signal.SIGKILL)
    metadata = {name: value for name, value in run.metadata.items() if name != "unfinished"}
    (run.path / "metadata.json").write_text(json.dumps(metadata))  # killed before it said so
    assert reported_tokens(program, run) == 6 * 15
    fault_server.script(CHAT, [GOOD])
    assert program.run("run", "--resume", str(run.path)).code == 0
    assert reported_tokens(program, run) == 8 * 15


def reported_tokens(program: Program, run: Run) -> int:
    """Tokens that a report says were used, by all attempts."""
    found = json.loads(program.run("report", str(run.path), "--json").out)["tokens"]
    total: int = found["total"]
    return total


def sum_of(unfinished: dict[str, Any]) -> int:
    found: int = unfinished["input_tokens"] + unfinished["output_tokens"]
    return found
