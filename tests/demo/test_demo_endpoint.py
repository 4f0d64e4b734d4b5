"""Answers of the endpoint over HTTP."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import aiohttp
import openai
import pytest

MODEL = "demo-scripted-policy"
REVERSE = [
    {"role": "system", "content": "Reverse the text. Use <reversed_text>...</reversed_text>."},
    {"role": "user", "content": "The old sailor mended a torn net before breakfast."},
]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
            "required": ["city", "days"],
        },
    },
}


def request(messages: Any = REVERSE, **fields: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": messages, **fields}


async def post(url: str, body: Any) -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, str) else json.dumps(body)
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/chat/completions", data=data) as response,
    ):
        return response.status, await response.json()


async def message(url: str, **fields: Any) -> dict[str, Any]:
    status, body = await post(url, request(**fields))
    assert status == 200, body
    found: dict[str, Any] = body["choices"][0]["message"]
    return found


async def stream(url: str, **fields: Any) -> list[dict[str, Any]]:
    body = json.dumps(request(stream=True, **fields))
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/chat/completions", data=body) as response,
    ):
        assert response.headers["Content-Type"].startswith("text/event-stream")
        events = (await response.text()).strip().split("\n\n")
    assert events[-1] == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events[:-1]]


def joined(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a client puts together from a stream."""
    whole: dict[str, Any] = {"role": "assistant", "content": None}
    for chunk in chunks:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            for key in ("content", "reasoning_content"):
                if delta.get(key):
                    whole[key] = (whole.get(key) or "") + delta[key]
            for part in delta.get("tool_calls", ()):
                calls = whole.setdefault("tool_calls", [])
                if "id" in part:
                    calls.append({key: part[key] for key in ("id", "type", "function")})
                else:
                    calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    return whole


async def test_lists_its_one_model(endpoint: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{endpoint}/models") as response:
        body = await response.json()
    assert [model["id"] for model in body["data"]] == [MODEL]
    assert "no language model" in body["data"][0]["metadata"]["notice"]


async def test_every_answer_says_that_it_is_no_language_model(endpoint: str) -> None:
    _, body = await post(endpoint, request())
    for answer in [body, *await stream(endpoint)]:
        assert answer["system_fingerprint"] == "scripted-policy-not-a-language-model"
        assert "no language model" in answer["metadata"]["notice"]
        assert answer["model"] == MODEL


async def test_counts_tokens(endpoint: str) -> None:
    _, short = await post(endpoint, request())
    longer = [*REVERSE[:1], {"role": "user", "content": "A long trajectory. " * 50}]
    _, long = await post(endpoint, request(longer))
    usage = long["usage"]
    assert usage["prompt_tokens"] > short["usage"]["prompt_tokens"] > 20
    assert usage["completion_tokens"] > short["usage"]["completion_tokens"] > 5
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize("number", range(12))
async def test_a_stream_carries_the_same_answer(endpoint: str, number: int) -> None:
    messages = [{"role": "user", "content": f"What will the weather in city {number} be?"}]
    fields: dict[str, Any] = {"temperature": 0, "tools": [WEATHER]}
    if number % 2:
        messages, fields = [*REVERSE, {"role": "user", "content": str(number)}], {"temperature": 0}
    whole = await message(endpoint, messages=messages, **fields)
    chunks = await stream(endpoint, messages=messages, **fields)
    assert joined(chunks) == whole
    assert chunks[-1]["choices"][0]["finish_reason"] in ("stop", "tool_calls")


async def test_usage_ends_a_stream_only_on_request(endpoint: str) -> None:
    plain = await stream(endpoint, temperature=0)
    counted = await stream(endpoint, temperature=0, stream_options={"include_usage": True})
    assert not any("usage" in chunk for chunk in plain)
    assert counted[-1]["choices"] == []
    assert counted[-1]["usage"]["completion_tokens"] > 0
    assert all(chunk["usage"] is None for chunk in counted[:-1])


async def test_temperature_0_repeats_itself_and_temperature_1_does_not(endpoint: str) -> None:
    cold = [await message(endpoint, temperature=0) for _ in range(4)]
    warm = [await message(endpoint, temperature=1) for _ in range(8)]
    assert all(answer == cold[0] for answer in cold)
    assert len({answer["content"] for answer in warm}) > 2


@pytest.mark.slow
async def test_the_seeds_decide_the_answers(run_endpoint: Any) -> None:
    async def answers(server_seed: str, **fields: Any) -> list[dict[str, Any]]:
        with run_endpoint("--speed", "0", "--seed", server_seed) as url:
            return [await message(url, **fields) for _ in range(6)]

    assert await answers("3") == await answers("3")
    assert await answers("3") != await answers("4")
    assert await answers("3", seed=1) != await answers("3", seed=2)


async def test_stops_at_the_token_limit_and_at_stop_strings(endpoint: str) -> None:
    _, limited = await post(endpoint, request(temperature=0, max_tokens=4))
    assert limited["choices"][0]["finish_reason"] == "length"
    assert limited["usage"]["completion_tokens"] <= 4
    stopped = await message(endpoint, temperature=0, stop=["</reversed_text>"])
    whole = await message(endpoint, temperature=0)
    assert stopped["content"] == whole["content"].split("</reversed_text>")[0]
    assert stopped["content"] != whole["content"]


@pytest.mark.parametrize(
    ("body", "status", "names"),
    [
        ("{not json", 400, "JSON"),
        ("[]", 400, "object"),
        ({"messages": REVERSE}, 400, "model"),
        ({"model": "gpt-4.1-mini", "messages": REVERSE}, 404, MODEL),
        ({"model": MODEL}, 400, "messages"),
        (request([]), 400, "messages"),
        (request(["hello"]), 400, "messages[0]"),
        (request([{"role": "robot", "content": "hi"}]), 400, "role"),
        (request([{"role": "user"}]), 400, "content"),
        (request([{"role": "user", "content": 5}]), 400, "content"),
        (request([{"role": "user", "content": [{"type": "text"}]}]), 400, "part"),
        (request([{"role": "tool", "content": "5"}]), 400, "tool_call_id"),
        (request([{"role": "assistant", "tool_calls": [{"id": "x"}]}]), 400, "tool_calls"),
        (request(temperature=3), 400, "temperature"),
        (request(temperature="hot"), 400, "temperature"),
        (request(max_tokens=0), 400, "max_tokens"),
        (request(n=2), 400, "n = 1"),
        (request(stop=[1]), 400, "stop"),
        (request(tools={}), 400, "tools"),
        (request(tools=[{"type": "function"}]), 400, "tools[0]"),
        (
            request(tools=[{"type": "function", "function": {"name": "f", "parameters": 1}}]),
            400,
            "f",
        ),
    ],
)
async def test_refuses_a_bad_request_by_name(
    endpoint: str, body: Any, status: int, names: str
) -> None:
    answered, answer = await post(endpoint, body)
    assert answered == status
    assert names in answer["error"]["message"]
    assert answer["error"]["type"] == "invalid_request_error"


async def test_an_unknown_route_or_method_gets_json(endpoint: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{endpoint}/embeddings") as response:
            assert response.status == 404
            assert "/v1/embeddings" in (await response.json())["error"]["message"]
        async with session.get(f"{endpoint}/chat/completions") as response:
            assert response.status == 405
            assert (await response.json())["error"]["message"]


async def test_answers_64_requests_at_once(run_endpoint: Any) -> None:
    with run_endpoint("--speed", "0.5") as url:  # seconds each, minutes in turn
        async with (
            asyncio.timeout(60),
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64)) as session,
        ):

            async def one(number: int) -> None:
                body = request(stream=number % 2 == 0)
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    assert response.status == 200
                    await response.read()

            await asyncio.gather(*(one(number) for number in range(64)))


async def test_a_stream_arrives_bit_by_bit(run_endpoint: Any) -> None:
    with run_endpoint("--speed", "0.2") as url:
        arrivals: list[float] = []
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/chat/completions", json=request(stream=True)) as response,
        ):
            async for line in response.content:
                if line.strip():
                    arrivals.append(time.monotonic())
    assert arrivals[-1] - arrivals[0] > 0.3 / 4 / 2


async def test_openais_own_client_can_talk_to_it(endpoint: str) -> None:
    async with openai.AsyncOpenAI(api_key="none", base_url=endpoint) as client:
        fields: Any = {"model": MODEL, "messages": REVERSE, "temperature": 0}
        whole = await client.chat.completions.create(**fields)
        pieces = [
            chunk.choices[0].delta.content or ""
            async for chunk in await client.chat.completions.create(**fields, stream=True)
        ]
        assert whole.choices[0].message.content == "".join(pieces) != ""
        with pytest.raises(openai.NotFoundError, match="demo-scripted-policy"):
            await client.chat.completions.create(**{**fields, "model": "gpt-x"})
