"""`--call-timeout`: a call of people's code that takes too long is its rollout's error, wherever.

Calls that await are cancelled. Calls that hold their process are ended with it, where it is a
worker.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from program import Program, Run, chat_answer, tool_call
from run_here import run_here
from servers import FaultServer, Reply
from tiers import first_always

CHAT = "/v1/chat/completions"
CALLS = Reply(body=chat_answer("", tool_calls=[tool_call("look", '{"at": "it"}')]))

CODE = """
import asyncio
import re
import time
from types import SimpleNamespace

import openai

import tui_eval as vf


async def waits():
    await asyncio.sleep(60)


async def is_deaf():
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        pass


async def holds():
    await asyncio.sleep(0)
    sum(range(10**12))


async def blocks():
    time.sleep(1.5)


async def nap():
    await asyncio.sleep(0.4)


HOW = {"waits": waits, "is_deaf": is_deaf, "holds": holds, "blocks": blocks}


class Looks(vf.ToolEnv):
    def __init__(self, how, naps, **more):
        self.how, self.naps = how, naps
        super().__init__(tools=[self.look], max_turns=2, **more)

    async def at(self, place, state):
        if state["answer"] == place:
            await HOW[self.how]()
        elif self.naps:
            await nap()

    async def setup_state(self, state):
        await self.at("setup", state)
        return state

    @vf.stop
    async def enough(self, state):
        if not state["trajectory"]:
            await self.at("stop", state)
        return False

    async def env_response(self, messages, state, **more):
        await self.at("answer", state)
        self.state = state
        return await super().env_response(messages, state, **more)

    async def call_tool(self, name, args, call_id, **more):
        await self.at("tool", self.state)
        if self.state["answer"] == "plain tool":
            return await super().call_tool("wait", {}, call_id)
        return await super().call_tool(name, args, call_id, **more)

    async def look(self, at: str) -> str:
        return at

    @vf.cleanup
    async def put_away(self, state):
        await self.at("cleanup", state)


def wait() -> str:
    time.sleep(6)


def first(state):
    if state["answer"] == "first reward":  # in which others wait for their turn
        time.sleep(6)
    elif state["answer"] == "regex":
        re.match(r"(a*)*b", "a" * 40)
    return 1.0


class Judge:
    def __init__(self):
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))

    async def create(self, model, messages):
        await asyncio.sleep(60 if "judge" in messages[0]["content"] else 0)
        message = SimpleNamespace(content="yes", refusal=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")])


class Own(vf.Rubric):
    async def score_rollout(self, state):
        if state["answer"] == "own rubric":
            await waits()
        state["reward"] = 1.0


async def together(states):
    if states[0]["answer"] == "group":
        await holds()
    return [1.0] * len(states)


def judge_retrying_at(url):
    async def judged(judge, prompt, completion, answer, state):
        return float("yes" in await judge(answer, "", answer, state))

    client = openai.AsyncOpenAI(base_url=f"{url}/judge", api_key="none")
    return vf.JudgeRubric(funcs=[judged], judge_client=client)


def load_environment(places, how="waits", naps=False, judges=True, url="", own=0, grouped=0):
    async def right(state):
        await env.at("reward", state)
        return 1.0

    def plain(state):
        if state["answer"] == "plain reward":
            time.sleep(6)
        return 1.0

    async def judged(judge, prompt, completion, answer, state):
        return float("yes" in await judge(answer, "", answer, state))

    rubric = vf.JudgeRubric(judge_client=Judge(), judge_prompt="{question}")
    for func in (right, plain, judged) if judges else (first,):
        rubric.add_reward_func(func)
    rows = [{"question": one, "answer": one} for one in places]
    if url:
        rubric = judge_retrying_at(url)
    elif own:
        rubric = Own()
    elif grouped:
        rubric = vf.Rubric([together])
    env = Looks(how, naps, dataset=rows, rubric=rubric)
    env.add_tool(wait)
    return env
"""

ERRORS = {
    "setup": ("environment", "setup_state"),
    "stop": ("environment", "stop condition 'enough'"),
    "answer": ("environment", "env_response"),
    "tool": ("tool", "tool 'look'"),
    "plain tool": ("tool", "tool 'look'"),
    "cleanup": ("environment", "cleanup handler 'put_away'"),
    "reward": ("scoring", "reward function 'right'"),
    "plain reward": ("scoring", "reward function 'plain'"),
    "judge": ("judge", "judge 'gpt-4.1-nano'"),
}


@pytest.fixture
def looks(program: Program, fault_server: FaultServer) -> Program:
    program.environment("looks", CODE)
    fault_server.script(CHAT, [CALLS])
    return program


def request(server: FaultServer, *more: str, **env_args: Any) -> list[str]:
    to = ("-m", "m", "-b", f"{server.url}/v1", "-n", "-1", "-r", "1", "-s")
    return ["looks", *to, "-a", json.dumps(env_args), *more]


def by_place(run: Run) -> dict[str, dict[str, Any]]:
    return {row["answer"]: row for row in run.rows}


def check_rows(rows: dict[str, dict[str, Any]], limit: str) -> None:
    for place, (error_class, what) in ERRORS.items():
        error = rows[place]["error"]
        assert error["class"] == error_class, place
        assert "CallTimeoutError" in error["error_chain_repr"], place
        expected = f"{what} took longer than {limit} s (--call-timeout)"
        assert expected.lower() in error["error_chain_repr"].lower().replace("\\'", "'"), place
    assert rows["none"]["error"] is None
    assert rows["none"]["reward"] == 3.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "workers", first_always([(("-w", "1"),), ((),)]), ids=["in-a-worker", "here"]
)
def test_a_call_that_waits_too_long_is_the_error_of_its_rollout(
    looks: Program, fault_server: FaultServer, workers: tuple[str, ...]
) -> None:
    args = request(fault_server, "--call-timeout", "1", *workers, places=[*ERRORS, "none"])
    done = run_here(looks, *args)
    assert done.code == 3, done
    check_rows(by_place(looks.only_run()), "1")
    assert "call_timeout = 1.0" in (looks.only_run().path / "run.toml").read_text()


@pytest.mark.slow
def test_a_rollout_whose_call_took_too_long_is_run_again(
    looks: Program, fault_server: FaultServer
) -> None:
    limits = ("--call-timeout", "0.3", "--max-retries", "1")
    assert run_here(looks, *request(fault_server, *limits, places=["setup"])).code == 3
    [row] = looks.only_run().rows
    assert row["error"]["error"] == "CallTimeoutError"
    assert row["tui_eval"]["attempt"] == 2


@pytest.mark.slow
def test_a_call_that_ignores_its_cancellation_has_its_error_all_the_same(
    looks: Program, fault_server: FaultServer
) -> None:
    places = ["setup", "stop", "answer", "tool", "cleanup", "reward", "none"]
    args = request(fault_server, "--call-timeout", "0.5", places=places, how="is_deaf")
    assert run_here(looks, *args).code == 3
    rows = by_place(looks.only_run())
    assert {place for place, row in rows.items() if row["error"]} == {*places} - {"none"}
    assert rows["tool"]["error"]["class"] == "tool"


@pytest.mark.slow
def test_a_call_has_all_of_its_time_though_calls_in_it_and_before_it_take_theirs(
    looks: Program, fault_server: FaultServer
) -> None:
    args = request(fault_server, "--call-timeout", "0.7", places=["none"] * 3, naps=True)
    done = run_here(looks, *args)
    assert done.code == 0, "env_response takes 0.4 s, and the tool in it as much"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-w", "1")], ids=["here", "in-a-worker"])
def test_time_in_which_another_call_holds_the_process_does_not_count(
    looks: Program, fault_server: FaultServer, workers: tuple[str, ...]
) -> None:
    places = ["none", "none", "setup", "none"]
    args = ["--call-timeout", "1", *workers]
    done = run_here(looks, *request(fault_server, *args, places=places, how="blocks", naps=True))
    assert done.code == 3, done
    rows = looks.only_run().rows
    assert [row["answer"] for row in rows if row["error"]] == ["setup"], "it came back, too late"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["setup", "stop", "answer", "tool", "cleanup", "reward"])
def test_a_call_that_holds_its_worker_is_ended_with_it_at_once(
    looks: Program, fault_server: FaultServer, place: str
) -> None:
    places = ["none", place, "none", "none"]
    args = request(fault_server, "--call-timeout", "1", "-w", "1", places=places, how="holds")
    done = run_here(looks, *args)
    assert done.code == 3, done
    assert done.err.count("A worker ended") == 1, "it is known at once who held it"
    run = looks.only_run()
    [culprit] = [row for row in run.rows if row["error"]]
    error_class, what = ERRORS[place]
    assert culprit["answer"] == place
    assert culprit["error"]["error"] == "CallTimeoutError"
    assert culprit["error"]["class"] == error_class
    text = culprit["error"]["error_chain_repr"].lower().replace("\\'", "'")
    assert f"{what} took longer than 1 s (--call-timeout), and held its worker" in text
    assert "environments/looks.py:" in text
    assert [row["reward"] for row in run.rows if not row["error"]] == [3.0] * 3


@pytest.mark.slow
def test_rollouts_that_wait_for_the_first_call_of_a_function_have_their_own_time(
    looks: Program, fault_server: FaultServer
) -> None:
    places = ["first reward", *["none"] * 3]
    args = request(fault_server, "--call-timeout", "1", places=places, judges=False)
    assert run_here(looks, *args).code == 3
    rows = looks.only_run().rows
    assert [row["answer"] for row in rows if row["error"]] == ["first reward"]


@pytest.mark.slow
def test_the_wait_before_a_retry_of_a_judge_does_not_count(
    looks: Program, fault_server: FaultServer
) -> None:
    busy = Reply(503, headers={"retry-after": "2"})
    fault_server.script("/judge/chat/completions", [busy, Reply(body=chat_answer("yes"))])
    args = request(fault_server, "--call-timeout", "1", places=["none"], url=fault_server.url)
    done = run_here(looks, *args)
    assert done.code == 0, done
    assert looks.only_run().rows[0]["reward"] == 1.0


def test_a_rubric_that_scores_in_a_way_of_its_own_has_the_limit_as_a_whole(
    looks: Program, fault_server: FaultServer
) -> None:
    args = request(fault_server, "--call-timeout", "1", "-i", places=["own rubric", "none"], own=1)
    assert run_here(looks, *args).code == 3
    rows = by_place(looks.only_run())
    error = rows["own rubric"]["error"]
    assert (error["error"], error["class"]) == ("CallTimeoutError", "scoring")
    assert "Own.score_rollout took longer than 1 s (--call-timeout)" in error["error_chain_repr"]
    assert rows["none"]["reward"] == 1.0


@pytest.mark.slow
def test_a_group_function_that_holds_its_worker_is_the_error_of_its_group_alone(
    looks: Program, fault_server: FaultServer
) -> None:
    limits = ("--call-timeout", "1", "-w", "1", "-r", "2")
    args = request(fault_server, *limits, places=["none", "group", "none"], grouped=1)
    done = run_here(looks, *args)
    assert done.code == 3, done
    rows = looks.only_run().rows
    errors = [row["error"] for row in rows if row["answer"] == "group"]
    assert [(one["error"], one["class"]) for one in errors] == [("CallTimeoutError", "scoring")] * 2
    assert [row["reward"] for row in rows if row["answer"] == "none"] == [1.0] * 4


@pytest.mark.slow
def test_a_plain_function_in_c_that_holds_every_thread_is_ended_with_its_worker(
    looks: Program, fault_server: FaultServer
) -> None:
    places = ["none", "regex", "none", "none"]
    args = request(fault_server, "--call-timeout", "1", "-w", "1", places=places, judges=False)
    done = run_here(looks, *args)
    assert done.code == 3, done
    rows = looks.only_run().rows
    [culprit] = [row for row in rows if row["error"]]
    assert (culprit["answer"], culprit["error"]["class"]) == ("regex", "scoring")
    assert culprit["error"]["error"] == "CallTimeoutError"
    assert [row["reward"] for row in rows if not row["error"]] == [1.0] * 3


@pytest.mark.parametrize(
    ("given", "why"), [("0", "0 is too small"), ("soon", "'soon' is not a number")]
)
def test_a_time_that_is_none_is_refused(
    looks: Program, fault_server: FaultServer, given: str, why: str
) -> None:
    done = run_here(looks, *request(fault_server, "--call-timeout", given, places=[]))
    assert done.code == 2
    assert "--call-timeout" in done.err
    assert why in done.err
