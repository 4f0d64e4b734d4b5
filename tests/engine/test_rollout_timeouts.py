"""`--timeout`: a rollout that takes too long ends with what was said until then."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest
from multi_turn_runs import CHAT, GOOD, TALK, at
from program import Program
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.deadline import Deadline
from tui_eval.worker import call_recorder


@pytest.fixture
def talk(program: Program, fault_server: FaultServer) -> Program:
    program.environment("talk", TALK)
    fault_server.script(CHAT, [GOOD])
    return program


SLOW = """
    import asyncio, pathlib
    import tui_eval as vf

    class Slow(vf.MultiTurnEnv):
        async def env_response(self, messages, state):
            if state["answer"] == "hangs":
                await asyncio.sleep(60)
            if state["answer"] == "deaf":
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    pass
            return [{"role": "user", "content": "more"}]

        @vf.cleanup
        async def leave_a_mark(self, state):
            pathlib.Path(f"cleaned-{state['answer']}").touch()

    async def score(completion):
        await asyncio.sleep(1.2)
        return 1.0

    def load_environment():
        rows = [{"question": a, "answer": a} for a in ("good", "hangs", "deaf")]
        return Slow(max_turns=2, dataset=rows, rubric=vf.Rubric(funcs=[score]))
"""


def test_a_rollout_that_takes_too_long_ends_with_what_was_said(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("talk", SLOW)
    fault_server.script(CHAT, [GOOD])
    done = run_here(program, *at(fault_server, "-n", "3", "-r", "1", "--timeout", "1"))
    assert done.code == 3, done
    rows = {row["answer"]: row for row in program.only_run().rows}
    assert rows["good"]["reward"] == 1.0, "scoring takes longer, and is not counted"
    for answer in ("hangs", "deaf"):
        row = rows[answer]
        assert row["stop_condition"] == "timeout_reached"
        assert "RolloutTimeoutError" in json.dumps(row["error"])
        assert row["completion"][0] == {"role": "assistant", "content": "yes"}
        assert 900 < row["timing"]["generation_ms"] < 5000
        assert (program.folder / f"cleaned-{answer}").exists()
    assert len(fault_server.requests) == 4, "no request is made once the time is up"


def test_an_endpoint_that_never_answers_meets_the_timeout(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, Reply(hang=True)])
    done = run_here(talk, *at(fault_server, "-n", "1", "-r", "1", "--timeout", "0.5"))
    assert done.code == 3, done
    (row,) = talk.only_run().rows
    assert [one["content"] for one in row["completion"]] == ["yes", "go on"]
    assert row["stop_condition"] == "timeout_reached"


OWN_ROLLOUT = """
    import asyncio, pathlib
    import tui_eval as vf

    class Own(vf.Environment):
        async def rollout(self, input, client, model, sampling_args=None):
            state = await self.init_state(input, client, model, sampling_args)
            await asyncio.sleep(60)
            return state

        @vf.cleanup
        async def leave_a_mark(self, state):
            pathlib.Path("cleaned").touch()

    def load_environment():
        return Own(dataset=[{"question": "a"}])
"""


def test_a_rollout_of_ones_own_meets_the_timeout_and_is_cleaned_up(program: Program) -> None:
    program.environment("own", OWN_ROLLOUT)
    done = run_here(program, "own", "-m", "demo", "-n", "1", "-r", "1", "-s", "--timeout", "0.3")
    assert done.code == 3, done
    (row,) = program.only_run().rows
    assert row["stop_condition"] == "timeout_reached"
    assert row["completion"] == []
    assert (program.folder / "cleaned").exists()


def test_the_wait_before_a_request_is_tried_again_is_not_counted(
    talk: Program, fault_server: FaultServer
) -> None:
    busy = Reply(429, {"error": {"message": "busy"}}, headers={"Retry-After": "4"})
    fault_server.script(CHAT, [busy, GOOD])
    done = run_here(talk, *at(fault_server, "-n", "1", "-r", "1", "--timeout", "3.5"))
    assert done.code == 0, done


HOLDS = """
    import asyncio, time
    import tui_eval as vf

    class Holds(vf.MultiTurnEnv):
        async def env_response(self, messages, state):
            if state["answer"] == "holds":
                time.sleep(1.4)
            else:
                await asyncio.sleep(1.4)
            return [{"role": "user", "content": "more"}]

    def load_environment():
        answers = enumerate(["holds", "holds", "waits"])
        rows = [{"question": str(i), "answer": answer} for i, answer in answers]
        return Holds(max_turns=2, dataset=rows, rubric=vf.Rubric(funcs=[lambda completion: 1.0]))
"""


def test_time_in_which_another_rollout_holds_the_worker_does_not_count(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("talk", HOLDS)
    fault_server.script(CHAT, [GOOD])
    done = run_here(program, *at(fault_server, "-n", "3", "-r", "1", "--timeout", "2.2"))
    assert done.code == 0, [row["error"] for row in program.only_run().rows]
    assert [row["reward"] for row in program.only_run().rows] == [1.0, 1.0, 1.0]


async def test_of_answers_that_a_slow_disk_takes_late_nothing_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_recorder, "DISK_IS_LATE_S", 0.05)
    writes, deadline = call_recorder.Writes(), Deadline(0.4)
    observer = SimpleNamespace(
        deadline=deadline,
        pauses=SimpleNamespace(left_out=nullcontext),
        waits_for=nullcontext,
    )
    with deadline:
        for _ in range(8):
            await writes.wait(cast(Any, observer), asyncio.sleep(0.2))
    assert not deadline.expired
