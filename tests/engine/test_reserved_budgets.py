"""Budgets of runs whose calls say how long an answer may be."""

from __future__ import annotations

import json
import threading

import pytest
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
"""10 tokens read, 5 written."""
TALK = """
import tui_eval as vf

class Talk(vf.MultiTurnEnv):
    async def env_response(self, messages, state):
        return [{"role": "user", "content": "go on"}]

def load_environment(max_turns=3):
    rows = [{"question": str(n)} for n in range(12)]
    rubric = vf.Rubric(funcs=[lambda completion: 1.0])
    return Talk(dataset=rows, rubric=rubric, max_turns=max_turns)
"""
SINGLE = ("-a", '{"max_turns": 1}')
PRICES = """
[[endpoint]]
endpoint_id = "priced"
model = "m"
url = "URL/v1"
input_price = 100
output_price = 200
"""


@pytest.fixture
def talk(program: Program, fault_server: FaultServer) -> Program:
    program.environment("talk", TALK)
    fault_server.script(CHAT, [GOOD])
    (program.folder / "r.toml").write_text(PRICES.replace("URL", fault_server.url))
    return program


WORDS = ("talk", "-m", "priced", "-e", "r.toml", "-s", "-r", "1", "--no-preflight")


def test_a_rollout_whose_next_call_does_not_fit_stops_and_can_be_resumed(
    talk: Program, fault_server: FaultServer
) -> None:
    words = (*WORDS, "-n", "6", "-c", "1", "-t", "5")
    done = run_here(talk, *words, "--max-total-tokens", "70")
    assert done.code == 4, done
    why = "75 tokens are used, the limit is 70"
    assert f"Stopped: {why}. 1 of 6 rollouts are done." in done.out
    assert len(fault_server.requests) == 5, "75 tokens: more by one prompt at most"
    run = talk.only_run()
    assert [one["input_tokens"] for one in run.metadata["unfinished"]] == [20]
    again = run_here(talk, "run", "--resume", str(run.path), "--json")
    assert again.code == 0, again
    tokens = json.loads(again.out)["tokens"]
    assert (tokens["total"], tokens["lost"]) == (18 * 15, {"input": 0, "output": 0})


def test_a_call_waits_while_what_is_in_flight_may_leave_room_for_it(
    talk: Program, fault_server: FaultServer
) -> None:
    words = (*WORDS, *SINGLE, "-n", "6", "-c", "6", "-t", "50")
    done = run_here(talk, *words, "--max-total-tokens", "70")
    assert done.code == 4, done
    assert "2 of 6 rollouts are done" in done.out
    why = "30 tokens are used and an answer may have 50, the limit is 70"
    assert f"Stopped: {why}." in done.out
    assert (len(fault_server.requests), fault_server.most_at_once) == (2, 1)


def test_a_call_that_no_budget_holds_is_never_sent(
    talk: Program, fault_server: FaultServer
) -> None:
    done = run_here(talk, *WORDS, "-n", "3", "-t", "1000", "--max-cost", "0.1")
    assert done.code == 4, done
    reason = "$0.00 is spent and an answer may cost $0.2000, the limit is $0.1000"
    assert f"Stopped: {reason}. 0 of 3 rollouts are done." in done.out
    assert fault_server.requests == []


def test_a_cost_is_overspent_by_the_prompts_in_flight_at_most(
    talk: Program, fault_server: FaultServer
) -> None:
    # A call costs $0.002, an answer $0.001.
    words = (*WORDS, *SINGLE, "-n", "12", "-c", "4", "-t", "5", "--json")
    done = run_here(talk, *words, "--max-cost", "0.009")
    assert done.code == 4, done
    assert json.loads(done.out)["cost"]["usd"] <= 0.009 + 4 * 0.001


@pytest.mark.parametrize("failed", [Reply(400), Reply(body={"choices": []})])
def test_a_call_that_failed_gives_back_what_it_had_reserved(
    talk: Program, fault_server: FaultServer, failed: Reply
) -> None:
    fault_server.script(CHAT, [failed, GOOD])
    done = run_here(
        talk, *WORDS, *SINGLE, "-n", "2", "-c", "2", "-t", "50", "--max-total-tokens", "80"
    )
    assert done.code == 3, done
    assert len(fault_server.requests) == 2


def test_a_request_that_sleeps_keeps_no_budget_from_others(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(503, headers={"Retry-After": "0.2"}), GOOD])
    done = run_here(
        talk, *WORDS, *SINGLE, "-n", "2", "-c", "2", "-t", "50", "--max-total-tokens", "80"
    )
    assert done.code == 0, done
    assert len(fault_server.requests) == 3


def test_without_a_longest_answer_nothing_is_reserved_and_that_is_reported_once(
    talk: Program, fault_server: FaultServer
) -> None:
    done = run_here(talk, *WORDS, "-n", "6", "-c", "1", "--max-total-tokens", "70")
    assert done.code == 4, done
    assert done.err.count("max_tokens is not set, so nothing is reserved for answers") == 1
    assert "Stopped: 75 tokens are used, the limit is 70. 1 of 6 rollouts are done." in done.out
    assert len(fault_server.requests) == 5, "no call begins once the budget is reached"
    unfinished = talk.only_run().metadata["unfinished"]
    assert [one["input_tokens"] for one in unfinished] == [20]


def test_a_call_that_is_in_flight_when_the_budget_is_reached_is_answered_and_scored(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=1.0), GOOD])
    done = run_here(talk, *WORDS, *SINGLE, "-n", "6", "-c", "2", "--max-total-tokens", "25")
    assert done.code == 4, done
    assert "Stopped: 30 tokens are used, the limit is 25. 3 of 6 rollouts are done." in done.out
    assert [row["reward"] for row in talk.only_run().rows] == [1.0] * 3


def test_a_request_that_slept_is_not_sent_again_once_the_budget_is_reached(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(503, headers={"Retry-After": "1"}), GOOD])
    done = run_here(talk, *WORDS, *SINGLE, "-n", "6", "-c", "1", "--max-total-tokens", "25")
    assert done.code == 4, done
    assert "Stopped: 30 tokens are used, the limit is 25. 2 of 6 rollouts are done." in done.out
    assert len(fault_server.requests) == 3


@pytest.mark.slow
def test_evaluations_of_a_file_reserve_from_one_budget(
    talk: Program, fault_server: FaultServer
) -> None:
    table = '[[eval]]\nenv_id = "talk"\nendpoint_id = "priced"\nenv_args = { max_turns = 1 }\n'
    head = 'endpoints_path = "r.toml"\nnum_examples = 3\nrollouts_per_example = 1\n'
    several = [f"{table}sampling_args = {{ max_tokens = 50, seed = {n} }}\n" for n in range(2)]
    (talk.folder / "two.toml").write_text(head + "".join(several))
    done = talk.run("two.toml", "--no-preflight", "--max-total-tokens", "85", "--json")
    assert done.code == 4, done
    assert (len(fault_server.requests), fault_server.most_at_once) == (3, 1)
    again = talk.run("run", "two.toml", "--resume", "--json")
    assert again.code == 0, again
    assert len(fault_server.requests) == 6


PARALLEL = """
import asyncio
from pathlib import Path

import tui_eval as vf

class Parallel(vf.SingleTurnEnv):
    async def rollout(self, input, client, model, sampling_args=None):
        state = await self.init_state(input, client, model, sampling_args)
        answered = []

        async def call(longest):
            args = {"max_tokens": longest}
            await self.get_model_response(state, state["prompt"], sampling_args=args)
            answered.append(longest)

        short = asyncio.create_task(call(10))
        await asyncio.sleep(0.1)
        long = asyncio.create_task(call(60))
        await short
        Path("short-is-answered").touch()
        await asyncio.gather(long, call(50))
        state["answered"] = answered
        return state

def load_environment():
    rubric = vf.Rubric(funcs=[lambda completion: 1.0])
    return Parallel(dataset=[{"question": "q"}], rubric=rubric)
"""


@pytest.mark.parametrize("status", [200, 503])
def test_parallel_calls_of_a_rollout_each_give_back_their_own(
    program: Program, fault_server: FaultServer, status: int
) -> None:
    program.environment("parallel", PARALLEL)
    (program.folder / "r.toml").write_text(PRICES.replace("URL", fault_server.url))
    first = Reply(status, GOOD.body, headers={"Retry-After": "0.2"}, delay=0.4)
    continues = threading.Event()
    fault_server.script(CHAT, [first, Reply(body=GOOD.body, hold=(1, continues)), GOOD])

    has_ended = threading.Event()

    def answer_long() -> None:
        while not (program.folder / "short-is-answered").exists():
            if has_ended.wait(0.01):
                return
        has_ended.wait(0.5)  # in which a call of 50 is answered that does not wait for this one
        continues.set()

    answering = threading.Thread(target=answer_long)
    answering.start()
    words = ("parallel", *WORDS[1:], "-C", "answered", "--max-total-tokens", "80")
    try:
        done = run_here(program, *words)
    finally:
        has_ended.set()
        answering.join()
    assert done.code == 0, done
    # While the answer of 60 may come, one of 50 does not fit beside it; one of 10 does.
    assert program.only_run().rows[0]["answered"] == [10, 60, 50]
