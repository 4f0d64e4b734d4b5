"""MCP servers that say odd things, or nothing: named, with what they printed."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import content

import tui_eval as vf
from tui_eval.environments.adapters.mcp_env import MCPServerError, MCPToolError

ODD_SERVER = str(Path(__file__).parent / "mcp_odd_server.py")


@pytest.fixture
def served() -> Iterator[Callable[[str], vf.MCPEnv]]:
    """Makes environments with a server of a kind."""
    pytest.importorskip("mcp")
    made: list[vf.MCPEnv] = []

    def make(kind: str, start_timeout: float = 20.0) -> vf.MCPEnv:
        server = {"name": "odd", "command": sys.executable, "args": [ODD_SERVER, kind]}
        config = {**server, "start_timeout": start_timeout}
        made.append(vf.MCPEnv([config], dataset=[{"question": "q"}]))
        return made[-1]

    yield make
    for env in made:
        asyncio.run(env.cleanup())


@pytest.mark.parametrize(
    ("kind", "within_s", "said"),
    [
        ("silence", 1.0, ["within 1 s", "Log in at http://127.0.0.1/login"]),
        ("garbage", 1.0, ["within 1 s", "<html>no such page</html>"]),
        ("usage", 20.0, ["It printed:", "Usage: odd --key KEY"]),
        ("another protocol", 20.0, ["not of the protocol", "capabilities: Field required"]),
        ("no tools", 20.0, ["did not list its tools: Method not found"]),
        (
            "bad tools",
            20.0,
            [
                "the 'inputSchema' of the tool 'rows' has the type 'array'",
                "the 'inputSchema' of the tool 'lamp' is no object",
                "tool 4 has no name; tool 5 has no name",
            ],
        ),
    ],
)
def test_a_server_that_cannot_be_used_is_named_with_why(
    served: Callable[..., vf.MCPEnv], kind: str, within_s: float, said: list[str]
) -> None:
    with pytest.raises(MCPServerError) as caught:
        served(kind, within_s)
    for part in ["'odd'", *said]:
        assert part in str(caught.value)


def test_a_server_that_gives_the_same_page_for_ever_has_its_tools(
    served: Callable[..., vf.MCPEnv],
) -> None:
    assert list(served("same page").mcp_tools) == ["plain"]


@pytest.mark.parametrize("kind", ["well", "flood"])
def test_what_a_server_wants_of_a_client_is_refused_by_name(
    served: Callable[..., vf.MCPEnv], kind: str
) -> None:
    env = served(kind)
    assert asyncio.run(content(env, "sample")) == "Sampling not supported"
    assert asyncio.run(content(env, "elicit")) == "Elicitation not supported"
    assert asyncio.run(content(env, "plain")) == "done"


def test_tools_that_change_during_a_run_are_logged_and_stay_as_listed(
    served: Callable[..., vf.MCPEnv], caplog: pytest.LogCaptureFixture
) -> None:
    env = served("changes its tools")
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(content(env, "plain")) == "done"
    assert "MCP server 'odd' changed its tools" in caplog.text
    with pytest.raises(MCPToolError, match="Unknown tool: plain"):
        asyncio.run(content(env, "plain"))


def test_a_server_that_refuses_a_ping_keeps_its_connection(
    served: Callable[..., vf.MCPEnv],
) -> None:
    env = served("refuses a ping")

    async def refused() -> None:
        # The tool is not there any more, so that its call fails.
        await env._connections.call(0, "gone", {})

    with pytest.raises(MCPToolError, match="Unknown tool: gone"):
        asyncio.run(refused())


def test_arguments_that_a_server_could_not_read_are_refused(
    served: Callable[..., vf.MCPEnv],
) -> None:
    env = served("well")
    deep: list[Any] = []
    for _ in range(198):
        deep = [deep]
    with pytest.raises(MCPToolError, match="cannot be sent: recursion limit"):
        asyncio.run(asyncio.wait_for(content(env, "plain", deep=deep), 20))


@pytest.mark.parametrize("kind", ["well", "leaves out the id"])
def test_a_call_that_the_server_cannot_read_fails_and_no_other(
    served: Callable[..., vf.MCPEnv], kind: str
) -> None:
    env = served(kind)

    async def calls() -> list[Any]:
        late = [asyncio.create_task(content(env, "late")) for _ in range(3)]
        unreadable = [asyncio.create_task(content(env, "unreadable")) for _ in range(2)]
        assert await content(env, "release", count=len(late)) == "at last"
        return await asyncio.gather(*late, *unreadable, return_exceptions=True)

    *late, first, second = asyncio.run(asyncio.wait_for(calls(), 20))
    assert late == ["at last"] * 3
    for failed in (first, second):
        assert isinstance(failed, MCPToolError)
        assert "the server could not read the call: Parse error" in str(failed)
    with pytest.raises(MCPToolError, match="could not read the call"):
        asyncio.run(asyncio.wait_for(content(env, "unreadable"), 20))


@pytest.mark.parametrize(
    "kind",
    ["refuses notifications", "does not know notifications", "does not know of cancelling"],
)
def test_an_error_that_answers_a_notification_fails_no_call(
    served: Callable[..., vf.MCPEnv], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    import mcp

    env = served(kind)
    notifies_of_cancelling = hasattr(mcp, "Client")  # from version 2 on

    async def calls() -> list[str]:
        waiting, given_up = (asyncio.create_task(content(env, "late")) for _ in range(2))
        release = asyncio.create_task(content(env, "release", count=2 + notifies_of_cancelling))
        while await content(env, "how many are late") != "2":
            pass
        given_up.cancel()
        return await asyncio.gather(waiting, release)

    assert asyncio.run(asyncio.wait_for(calls(), 20)) == ["at last", "at last"]
    with pytest.raises(MCPToolError, match="could not read the call: Parse error"):
        asyncio.run(asyncio.wait_for(content(env, "unreadable"), 20))
    if notifies_of_cancelling:
        said = "'odd' answers a notification with an error: not taken: cancelled"
        assert said in caplog.text
