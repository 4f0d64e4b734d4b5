"""Endpoints that trickle, stop half-way, never end or answer too late: each is one errored row."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from endpoint_scripts import ANSWERS
from program import Program, Run
from run_here import run_here
from servers import FaultServer, Reply

import tui_eval as vf

PROTOCOLS = ["openai_chat_completions", "openai_responses", "anthropic_messages"]
PIECE = b"x" * (1 << 16)
EVENT = b'data: {"type": "ping", "choices": [], "delta": {}}\n\n'
LATE_S = 2.5


class HourServer(FaultServer):
    """Answers by the question: each word is a fault of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.never = threading.Event()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.Response(status=404)
        body = (await request.read()).decode()
        good = ANSWERS[next(one for one in PROTOCOLS if path_of(one) in request.path)]
        if "endless stream" in body:
            return await self._send(request, "text/event-stream", EVENT * 1000)
        if "endless" in body:
            return await self._send(request, "application/json", PIECE)
        if "half-open" in body:
            return await self._answer(request, Reply(body=good, hold=(30, self.never)))
        if "trickle" in body:
            return await self._answer(request, Reply(body=good, drip=0.05))
        if "late" in body:
            return await self._answer(request, Reply(body=good, delay=LATE_S))
        if "50 MB" in body:
            large = json.dumps(good).replace('"ok"', f'"{"y" * 50_000_000}"').encode()
            return await self._answer(request, Reply(body=large))
        return await self._answer(request, Reply(body=good))

    async def _send(self, request: web.Request, kind: str, piece: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        while not self._stopped.is_set():
            await response.write(piece)
            await asyncio.sleep(0)
        return response


def path_of(protocol: str) -> str:
    return {"openai_responses": "responses", "anthropic_messages": "messages"}.get(
        protocol, "chat/completions"
    )


def config(server: FaultServer, protocol: str, **more: Any) -> vf.ClientConfig:
    base = server.url if protocol == "anthropic_messages" else f"{server.url}/v1"
    return vf.ClientConfig(api_base_url=base, client_type=protocol, api_key_var="", **more)


SAID = {
    "good": "",
    "half-open": "within 1 s",
    "trickle": "within 1 s",
    "late": "within 1 s",
    "endless": "is longer than 5 MB",
    "endless stream": "is longer than 5 MB",
}


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_each_fault_is_the_error_of_its_rollout_and_the_others_are_right(
    folder: Path, protocol: str, stream: bool
) -> None:
    env = vf.SingleTurnEnv(
        dataset=[{"question": word} for word in SAID], rubric=vf.Rubric([lambda completion: 1.0])
    )
    with HourServer() as server:
        client = config(server, protocol, timeout=1.0, max_answer_mb=5, stream=stream)
        async with asyncio.timeout(30):
            got = await env.evaluate(client, "m")
    rows = {one["example_id"]: one for one in Run(Path(got["metadata"]["path_to_save"])).rows}
    for place, (word, said) in enumerate(SAID.items()):
        error = rows[place]["error"]
        assert (error is None) == (word == "good"), word
        assert error is None or said in error["error_chain_repr"], word
    assert rows[0]["reward"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_answer_of_50_mb_is_kept_whole(folder: Path, protocol: str) -> None:
    env = vf.SingleTurnEnv(
        dataset=[{"question": "50 MB"}, {"question": "good"}],
        rubric=vf.Rubric([lambda completion: float(len(completion[-1].content))]),
    )
    with HourServer() as server:
        got = await env.evaluate(config(server, protocol), "m")
    rows = {one["example_id"]: one for one in Run(Path(got["metadata"]["path_to_save"])).rows}
    assert [rows[n]["reward"] for n in range(2)] == [50_000_000, 2]
    assert len(rows[0]["completion"][0]["content"]) == 50_000_000


@pytest.mark.parametrize("word", ["endless", "late", "good"])
async def test_a_judge_with_such_an_answer_is_an_error_of_its_rollout(
    folder: Path, word: str
) -> None:
    with HourServer() as server:
        judge = vf.OpenAIChatCompletionsClient(
            config(server, PROTOCOLS[0], timeout=1.0, max_answer_mb=5)
        )
        rubric = vf.JudgeRubric(judge_client=judge, judge_prompt=word)

        async def right(prompt, completion, answer, state, judge):  # type: ignore[no-untyped-def]
            return float(await judge(prompt, completion, answer, state) == "ok")

        rubric.add_reward_func(right)
        env = vf.SingleTurnEnv(dataset=[{"question": "good"}], rubric=rubric)
        got = await env.evaluate(config(server, PROTOCOLS[0]), "m")
    (row,) = Run(Path(got["metadata"]["path_to_save"])).rows
    if word == "good":
        assert (row["reward"], row["error"]) == (1.0, None)
        return
    assert row["error"]["class"] == "judge"
    assert SAID[word] in row["error"]["error_chain_repr"]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not say")
async def test_a_connection_that_waits_for_an_answer_is_kept_an_eye_on(folder: Path) -> None:
    """A server that vanishes from the network says nothing: the system has to ask it."""
    keepalive = "02"
    with HourServer() as server:
        port = f":{int(server.url.rpartition(':')[2]):04X}"
        client = vf.OpenAIChatCompletionsClient(config(server, PROTOCOLS[0]))
        question = [vf.UserMessage(content="half-open")]
        call = asyncio.create_task(client.get_response(question, "m", {}))
        timers: list[str] = []
        async with asyncio.timeout(20):
            while keepalive not in timers:
                await asyncio.sleep(0.02)
                every = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
                timers = [one[5].partition(":")[0] for one in every if one[2].endswith(port)]
        call.cancel()
        await client.close()


JUDGED = """
import tui_eval as vf
from openai import AsyncOpenAI

def load_environment(url):
    judge = AsyncOpenAI(base_url=url, api_key="k")
    rubric = vf.JudgeRubric(judge_client=judge, judge_prompt="trickle: {question}")

    async def right(prompt, completion, answer, state, judge):
        return float(await judge(prompt, completion, answer, state) == "ok")

    rubric.add_reward_func(right)
    return vf.SingleTurnEnv(dataset=[{"question": "good"}], rubric=rubric)
"""


@pytest.mark.slow
def test_a_judge_with_a_client_of_its_own_is_ended_by_the_limit_of_one_call(
    program: Program,
) -> None:
    program.environment("judged", JUDGED)
    with HourServer() as server:
        url = f"{server.url}/v1"
        to = ("-m", "m", "-b", url, "-a", json.dumps({"url": url}))
        done = run_here(program, "judged", *to, "-n", "1", "-r", "1", "-s", "--call-timeout", "1")
    assert done.code == 3, done
    (row,) = program.only_run().rows
    assert row["error"]["class"] == "judge"
    assert f"Judge 'gpt-4.1-nano' at {url}/" in row["error"]["error_chain_repr"]
    assert "1 s" in row["error"]["error_chain_repr"]
