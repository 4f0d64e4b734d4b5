"""MCP servers that others wrote: their tools called here as by the SDK's own client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_servers import SERVERS
from others import script_output, with_tui_eval

SDKS = {
    "2": with_tui_eval("mcp-2", "mcp==2.3.0", extras="mcp"),
    "1": with_tui_eval("mcp-1", "mcp<2", extras="mcp"),
}


@pytest.fixture(scope="module", params=SDKS)
def called(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the calls of all servers gave, with one version of the SDK."""
    given = {
        name: {"config": server.config(name), "calls": server.calls}
        for name, server in SERVERS.items()
    }
    folder = tmp_path_factory.mktemp(f"mcp-{request.param}")
    return script_output(SDKS[request.param], "compare_mcp_calls.py", given, folder)


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.xdist_group("mcp")
def test_calls_give_what_the_sdks_client_gets(called: Any, name: str) -> None:
    (our_tools, *ours), (their_tools, *theirs) = called[name]["ours"], called[name]["theirs"]
    assert our_tools == their_tools
    assert len(ours) == len(theirs) == len(SERVERS[name].calls)
    for call, our, their in zip(SERVERS[name].calls, ours, theirs, strict=True):
        assert ("error" in our) == bool(their.get("isError")), (call, our, their)
        assert_same(our, their)
    assert sum("error" in our for our in ours) == SERVERS[name].failing


def assert_same(our: dict[str, Any], their: dict[str, Any]) -> None:
    """That a content has all that the SDK's blocks have, in their order."""
    if "raised" in their:
        assert their["raised"] in our["error"]
        return
    content = our["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    shown = json.dumps(parts, ensure_ascii=False)
    place = 0
    for block in their["content"]:
        wanted = json.dumps(shown_part(block), ensure_ascii=False)[1:-1]
        place = shown.index(wanted, place) + len(wanted)


def shown_part(block: dict[str, Any]) -> str:
    """What a model has to see of a block."""
    if block["type"] == "text":
        return str(block["text"])
    if block["type"] == "image":
        return f"data:{block['mimeType']};base64,{block['data']}"
    if block["type"] == "resource_link":
        return str(block["uri"])
    return str(block["resource"].get("text") or block["resource"]["uri"])
