"""Cost of a call of an MCP tool beside the same call by the SDK's own client: 64 at once."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median

from bench.figure import Figure, NotMeasuredError, spread
from bench.setting import Setting

SERVER = Path(__file__).parent / "environments" / "sleeping_server.py"
ROLLOUTS = 64
CALLS_EACH = 30
MORE_THAN_SDK_MS = 1.0

Call = Callable[[int], Awaitable[str]]


def measure(setting: Setting) -> Iterator[Figure]:
    """CPU of this process a call, by an environment and by the SDK, one after the other."""
    ours, theirs = [], []
    for _ in range(setting.repeats(5)):
        ours.append(asyncio.run(_by_environment()))
        theirs.append(asyncio.run(_by_sdk()))
    more = [one - other for one, other in zip(ours, theirs, strict=True)]
    note = f"ours {spread(ours)} ms; the SDK's client {spread(theirs)} ms"
    yield Figure(
        "CPU of an MCP call over the SDK's client", median(more), MORE_THAN_SDK_MS, " ms", note
    )


async def _by_environment() -> float:
    import tui_eval as vf

    config = {"name": "sleeping", "command": sys.executable, "args": [str(SERVER)]}
    env = await asyncio.to_thread(vf.MCPEnv, [config], dataset=[{"question": "q"}])
    try:

        async def call(number: int) -> str:
            return str((await env.call_tool("wait", {"number": number}, "c")).content)

        return await _cpu_ms_a_call(call)
    finally:
        await env.cleanup()


async def _by_sdk() -> float:
    import mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client

    started = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
    async with mcp.Client(stdio_client(started)) as client:

        async def call(number: int) -> str:
            (block,) = (await client.call_tool("wait", {"number": number})).content
            return str(getattr(block, "text", ""))

        return await _cpu_ms_a_call(call)


async def _cpu_ms_a_call(call: Call) -> float:
    async def rollout(first: int) -> None:
        for number in range(first, first + CALLS_EACH):
            if await call(number) != f"waited for {number}":
                raise NotMeasuredError("a call gave something else")

    before = time.process_time()
    await asyncio.gather(*(rollout(one * CALLS_EACH) for one in range(ROLLOUTS)))
    return 1000 * (time.process_time() - before) / (ROLLOUTS * CALLS_EACH)
