"""Calls that go wrong on a server that many rollouts share: only they do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp_calls import PLAIN, content
from stub_client import StubClient, answer

import tui_eval as vf
from tui_eval.environments.adapters.mcp_env import MCPServerError, MCPToolError

DEEP: Any = 1
for _ in range(300):
    DEEP = [DEEP]
BAD = {
    "a result that breaks its schema": ("count", {"n": "five"}, "Invalid structured content"),
    "arguments that are nested too deep": ("add", {"a": DEEP}, "cannot be sent.*depth"),
    "half of a character": ("add", {"a": "\ud83d"}, "cannot be sent.*surrogates"),
}


@pytest.fixture
async def env() -> AsyncIterator[vf.MCPEnv]:
    pytest.importorskip("mcp")
    made = vf.MCPEnv([PLAIN], dataset=[{"question": "q"}])
    yield made
    await made.cleanup()


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_only_the_bad_call_fails_and_the_server_continues(
    env: vf.MCPEnv, bad: tuple[str, dict[str, Any], str]
) -> None:
    tool, arguments, said = bad
    before = await content(env, "pid")
    others = [asyncio.create_task(content(env, "sleep", seconds=0.02)) for _ in range(10)]
    with pytest.raises(MCPToolError, match=said):
        await content(env, tool, **arguments)
    assert await asyncio.gather(*others) == ["None"] * 10
    assert await content(env, "pid") == before


async def test_of_64_calls_with_one_bad_in_ten_only_the_bad_ones_fail(env: vf.MCPEnv) -> None:
    before = await content(env, "pid")
    bad = list(BAD.values())

    async def call(number: int) -> Any:
        if number % 10 == 0:
            tool, arguments, _ = bad[number // 10 % 3]
            return await content(env, tool, **arguments)
        return await content(env, "add", a=number)

    got = await asyncio.gather(*map(call, range(64)), return_exceptions=True)
    failed = [number for number, one in enumerate(got) if isinstance(one, BaseException)]
    assert failed == list(range(0, 64, 10))
    assert all(isinstance(got[number], MCPToolError) for number in failed)
    assert [got[number] for number in (1, 63)] == ["2", "64"]
    assert await content(env, "pid") == before


async def test_a_server_that_dies_at_every_call_is_given_up_after_three(env: vf.MCPEnv) -> None:
    for _ in range(3):
        with pytest.raises(MCPServerError, match="went away during the call"):
            await content(env, "leave")
    with pytest.raises(MCPServerError, match=r"'sums' is given up for 'leave'.* 3 times in a row"):
        await content(env, "leave")


async def test_a_tool_that_ends_its_server_takes_no_other_tool_away(env: vf.MCPEnv) -> None:
    for _ in range(4):
        with pytest.raises(MCPServerError):
            await content(env, "leave")
    assert int(await content(env, "pid"))
    with pytest.raises(MCPServerError, match="went away during the call"):
        await content(env, "leave")


async def test_a_server_that_gives_results_in_between_is_not_given_up(env: vf.MCPEnv) -> None:
    for _ in range(4):
        with pytest.raises(MCPServerError, match="went away during the call"):
            await content(env, "leave")
        assert int(await content(env, "pid"))


async def test_teardown_gives_a_server_another_chance(env: vf.MCPEnv) -> None:
    for _ in range(3):
        with pytest.raises(MCPServerError):
            await content(env, "leave")
    await env.run_teardown()
    with pytest.raises(MCPServerError, match="went away during the call"):
        await content(env, "leave")


async def test_an_error_with_an_image_is_what_the_server_answered(env: vf.MCPEnv) -> None:
    tool = next(one for one in env.tool_defs if one.name == "picture")
    assert tool.parameters == {"type": "object", "properties": {}}
    client = StubClient(answer(calls=[("c", "picture", "{}")]), answer("done"))
    row = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}
    state = await env.rollout(row, client, "m", {})
    assert state["completion"][1].model_dump()["content"] == [
        {"type": "text", "text": "no such page"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}},
    ]
    assert state.tool_log[0]["error"] == "MCPToolError: no such page\n[image]"
    assert "traceback" not in state.tool_log[0]  # it would show this program's lines alone


async def test_calls_beside_a_teardown_have_a_server_of_their_own(env: vf.MCPEnv) -> None:
    before = await content(env, "pid")
    closing = asyncio.create_task(env.run_teardown())
    await asyncio.sleep(0)
    found = await asyncio.gather(*(content(env, "pid") for _ in range(4)))
    await closing
    assert len(set(found)) == 1 and before not in found
    assert await content(env, "pid") == found[0]
