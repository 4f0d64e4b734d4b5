"""Clients of an SDK that a program hands in, used by calls that wait on loops of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest
from endpoint_scripts import MESSAGE_ANSWER
from lazy_modules import LazyModule
from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf

anthropic = LazyModule("anthropic")


def openai_client(url: str) -> Any:
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)


def anthropic_client(url: str) -> Any:
    return anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0)


def client_of_ours(url: str) -> Any:
    config = vf.ClientConfig(api_base_url=f"{url}/v1", api_key_var="", max_retries=0)
    return vf.OpenAIChatCompletionsClient(config)


def sdk_client_of_ours(url: str) -> Any:
    return client_of_ours(url).client


@pytest.fixture
def server(folder: Path, fault_server: FaultServer) -> FaultServer:
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    fault_server.script("/v1/messages", [Reply(body=MESSAGE_ANSWER)])
    return fault_server


MAKERS = [openai_client, anthropic_client, client_of_ours, sdk_client_of_ours]


@pytest.mark.parametrize("make", MAKERS)
def test_a_client_serves_one_call_after_the_other(
    server: FaultServer, make: Callable[[str], Any]
) -> None:
    client = make(server.url)
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}] * 4)
    for _ in range(3):
        got = env.evaluate_sync(client, "m", sampling_args={"max_tokens": 9})
        assert [one["error"] for one in got["outputs"]] == [None] * 4
    assert len(server.requests) == 12


@pytest.mark.parametrize("make", [openai_client, client_of_ours, sdk_client_of_ours])
def test_a_judge_serves_one_call_after_the_other(
    server: FaultServer, make: Callable[[str], Any]
) -> None:
    async def right(judge: Any, prompt: Any, completion: Any, answer: str) -> float:
        return float(await judge(prompt, completion, answer) == "yes")

    rubric = vf.JudgeRubric(judge_client=make(server.url))
    rubric.add_reward_func(right)
    env = vf.SingleTurnEnv(dataset=[{"question": "q", "answer": "yes"}] * 4, rubric=rubric)
    for _ in range(3):
        got = env.evaluate_sync(client_of_ours(server.url), "m")
        assert [(one["error"], one["reward"]) for one in got["outputs"]] == [(None, 1.0)] * 4
    assert len(server.requests) == 24


async def test_below_a_loop_that_runs_too(server: FaultServer) -> None:
    client = openai_client(server.url)
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}] * 4)
    for _ in range(3):
        got = env.evaluate_sync(client, "m")
        assert [one["error"] for one in got["outputs"]] == [None] * 4
    assert (await client.chat.completions.create(model="m", messages=[])).choices
    await client.close()


def test_a_call_that_ends_leaves_another_calls_connections_alone(server: FaultServer) -> None:
    answered = threading.Event()
    held = Reply(body=chat_answer("yes"), hold=(10, answered))
    server.script("/v1/chat/completions", [held, Reply(body=chat_answer("yes"))])
    client = openai_client(server.url)
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}])
    with ThreadPoolExecutor(1) as thread:
        long = thread.submit(env.evaluate_sync, client, "m")
        try:
            while not server.requests and not long.done():
                time.sleep(0.005)
            short = env.evaluate_sync(client, "m")
        finally:
            answered.set()
        for got in (short, long.result(), env.evaluate_sync(client, "m")):
            assert [one["error"] for one in got["outputs"]] == [None]
