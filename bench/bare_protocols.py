"""Bare loops over the SDKs' own calls, for every protocol but chat completions.

python -m bench.bare_protocols --protocol responses|messages|completions -n N -c C -k K --base URL

One rollout is k tool calls and one final answer; each is saved as one line. Prints what
`bare_sdk.py` prints. Both are what a user would write: the SDK over its aiohttp client, retries on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, TypeAlias

import httpx2
import orjson

SYSTEM = "You are a helpful assistant."
SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x", "y"],
    "additionalProperties": False,
}
DESCRIPTION = "Add two numbers."

Turn: TypeAlias = tuple[str, list[Any]]
"""The text of an answer, and what goes back for its tool calls."""
Send: TypeAlias = Callable[[list[Any]], Awaitable[Turn]]


def added(arguments: dict[str, int]) -> str:
    """Result of the tool."""
    return str(arguments["x"] + arguments["y"])


def responses_sender(client: Any, tool_turns: int) -> Send:
    """`/responses`: items go back and forth."""
    tool = {"type": "function", "name": "add", "description": DESCRIPTION, "parameters": SCHEMA}
    tools = {"tools": [tool]} if tool_turns else {}

    async def send(items: list[Any]) -> Turn:
        answer = await client.responses.create(
            model="mock",
            input=items,
            instructions=SYSTEM,
            max_output_tokens=128,
            temperature=0.7,
            **tools,
        )
        back = []
        for item in answer.output:
            if item.type == "function_call":
                call = {key: getattr(item, key) for key in ("type", "call_id", "name", "arguments")}
                result = added(orjson.loads(item.arguments))
                output = {"type": "function_call_output", "call_id": item.call_id, "output": result}
                back += [call, output]
        return answer.output_text, back

    return send


def messages_sender(client: Any, tool_turns: int) -> Send:
    """Anthropic's `/v1/messages`: blocks go back and forth."""
    tool = {"name": "add", "description": DESCRIPTION, "input_schema": SCHEMA}
    tools = {"tools": [tool]} if tool_turns else {}

    async def send(messages: list[Any]) -> Turn:
        answer = await client.messages.create(
            model="mock",
            messages=messages,
            system=SYSTEM,
            max_tokens=128,
            extra_body={"temperature": 0.7},
            **tools,
        )
        calls = [block for block in answer.content if block.type == "tool_use"]
        text = "".join(block.text for block in answer.content if block.type == "text")
        if not calls:
            return text, []
        said = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.input} for c in calls]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": added(call.input)}
            for call in calls
        ]
        back = [{"role": "assistant", "content": said}, {"role": "user", "content": results}]
        return text, back

    return send


def completions_sender(client: Any, tool_turns: int) -> Send:
    """`/completions`: text in, text out; there are no tools."""

    async def send(messages: list[Any]) -> Turn:
        prompt = "\n\n".join([SYSTEM, *(message["content"] for message in messages)])
        answer = await client.completions.create(
            model="mock", prompt=prompt, max_tokens=128, temperature=0.7
        )
        return answer.choices[0].text, []

    return send


def make_client(protocol: str, base: str, connections: int) -> Any:
    """The SDK's client over aiohttp, as many connections as rollouts in flight."""
    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    if protocol == "messages":
        import anthropic

        return anthropic.AsyncAnthropic(
            base_url=base.removesuffix("/v1"),
            api_key="x",
            http_client=anthropic.DefaultAioHttpClient(limits=limits, timeout=600),
        )
    import openai

    return openai.AsyncOpenAI(
        base_url=base,
        api_key="x",
        http_client=openai.DefaultAioHttpClient(limits=limits, timeout=600),
    )


async def rollout(send: Send, number: int, tool_turns: int, file: BinaryIO) -> bool:
    """One rollout, saved; whether its answer is right."""
    began = time.time()
    prompt = f"What is {number} + 2? Answer with the number only."
    messages: list[Any] = [{"role": "user", "content": prompt}]
    text, back = "", list[Any]()
    for _ in range(tool_turns + 2):
        text, back = await send(messages)
        messages += back
        if not back:
            break
    right = text == "The answer is 42."
    row = {
        "example_id": number,
        "prompt": messages[:1],
        "completion": [*messages[1:], {"role": "assistant", "content": text}],
        "reward": float(right),
        "timing": {"total_ms": (time.time() - began) * 1000},
    }
    file.write(orjson.dumps(row) + b"\n")
    return right


async def run(options: argparse.Namespace) -> dict[str, float]:
    """All rollouts, so many in flight; CPU and wall seconds, and how many were wrong."""
    senders = {
        "responses": responses_sender,
        "messages": messages_sender,
        "completions": completions_sender,
    }
    client = make_client(options.protocol, options.base, options.c)
    send = senders[options.protocol](client, options.k)
    slots = asyncio.Semaphore(options.c)
    with open(options.save, "wb", buffering=0) as file:

        async def one(number: int) -> bool:
            async with slots:
                return await rollout(send, number, options.k, file)

        wall, cpu = time.time(), cpu_seconds()
        right = await asyncio.gather(*map(one, range(options.n)))
        wall, cpu = time.time() - wall, cpu_seconds() - cpu
    await client.close()
    return {"run_wall": wall, "run_cpu": cpu, "bad": len(right) - sum(right)}


def cpu_seconds() -> float:
    """User and system time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Reads the command line, runs, prints the result."""
    parser = argparse.ArgumentParser(prog="python -m bench.bare_protocols", description=__doc__)
    names = ("responses", "messages", "completions")
    parser.add_argument("--protocol", choices=names, required=True)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("-c", type=int, default=256)
    parser.add_argument("-k", type=int, default=0)
    parser.add_argument("--base", required=True)
    parser.add_argument("--save", default="bare_rollouts.jsonl")
    print("RESULT " + json.dumps(asyncio.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
