"""Limits of what is generated, scored and requested at a time, each seen at work."""

from __future__ import annotations

import json

import pytest
from multi_turn_runs import CHAT, GOOD, at
from program import Program, Run, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

COUNTING = """
    import asyncio
    import tui_eval as vf

    at_once = {"scoring": 0, "flight": 0}
    most = dict(at_once)

    def move(name, by):
        at_once[name] += by
        most[name] = max(most[name], at_once[name])

    class Counting(vf.SingleTurnEnv):
        async def setup_state(self, state):
            move("flight", 1)
            return state

    async def each(state):
        move("scoring", 1)
        await asyncio.sleep(0.1)
        move("scoring", -1)
        move("flight", -1)
        state["most"] = dict(most)
        return 1.0

    async def together(states):
        move("scoring", len(states))
        await asyncio.sleep(0.1)
        move("scoring", -len(states))
        for state in states:
            state["most"] = dict(most)
        return [1.0] * len(states)

    def load_environment(grouped=False):
        rows = [{"question": str(n)} for n in range(12)]
        return Counting(dataset=rows, rubric=vf.Rubric(funcs=[together if grouped else each]))
"""


def most_of(run: Run) -> dict[str, int]:
    seen = [row["most"] for row in run.rows]
    return {name: max(one[name] for one in seen) for name in seen[0]}


@pytest.fixture
def counting(program: Program, fault_server: FaultServer) -> Program:
    program.environment("talk", COUNTING)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.1)])
    return program


def test_max_concurrent_generation_holds(counting: Program, fault_server: FaultServer) -> None:
    limit = ("-c", "1", "--max-concurrent-generation", "2")
    done = run_here(counting, *at(fault_server, "-n", "12", "-r", "1", "-C", "most", *limit))
    assert done.code == 0, done
    assert fault_server.most_at_once == 2
    most = most_of(counting.only_run())
    assert most["flight"] > 2
    assert most["scoring"] == 1


@pytest.mark.parametrize(("grouped", "least"), [(False, 3), (True, 2)])
def test_max_concurrent_scoring_holds(
    counting: Program, fault_server: FaultServer, grouped: bool, least: int
) -> None:
    args = ("-a", json.dumps({"grouped": grouped}), "--max-concurrent-scoring", "3", "-C", "most")
    done = run_here(counting, *at(fault_server, "-n", "6", "-r", "2", *args))
    assert done.code == 0, done
    assert least <= most_of(counting.only_run())["scoring"] <= 3
    assert fault_server.most_at_once == 12


def test_an_endpoint_gets_no_more_than_its_own_limit_and_others_stay_busy(
    counting: Program, fault_server: FaultServer
) -> None:
    one = '[[endpoint]]\nendpoint_id = "two"\nmodel = "m"\nurl = "URL/v1"\nmax_concurrent = N\n'
    registry = counting.folder / "two.toml"
    with FaultServer() as other:
        other.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.1)])
        both = [(fault_server.url, "1"), (other.url, "4")]
        registry.write_text("".join(one.replace("URL", u).replace("N", n) for u, n in both))
        args = ("-m", "two", "-e", str(registry), "-n", "12", "-r", "1", "-C", "most")
        done = run_here(counting, "talk", *args, "-s")
        assert done.code == 0, done
        assert (fault_server.most_at_once, other.most_at_once) == (1, 4)
        assert len(other.requests) >= 8, "the faster one does not wait for the other"


def test_a_request_that_is_tried_again_lends_all_slots(
    counting: Program, fault_server: FaultServer
) -> None:
    busy = Reply(429, {"error": {"message": "busy"}}, headers={"Retry-After": "0.3"})
    fault_server.script(CHAT, [busy, *[GOOD] * 4, busy, GOOD])
    limits = ("-c", "2", "--max-concurrent-generation", "1", "--max-concurrent-scoring", "1")
    done = run_here(counting, *at(fault_server, "-n", "6", "-r", "2", *limits, "-C", "most"))
    assert done.code == 0, done
    assert fault_server.most_at_once == 1
    assert most_of(counting.only_run())["scoring"] == 1
