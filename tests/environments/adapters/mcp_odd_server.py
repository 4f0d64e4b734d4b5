"""An MCP server that behaves as its argument says; without the SDK, which takes long to import."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

KIND = sys.argv[1]
NOT_THERE = {"error": {"code": -32601, "message": "Method not found"}}
REQUESTS = {
    "sample": ("sampling/createMessage", {"messages": [], "maxTokens": 5}),
    "elicit": (
        "elicitation/create",
        {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}},
    ),
}
UNREADABLE: dict[str, Any] = {"error": {"code": -32700, "message": "Parse error"}, "id": None}
FOR_NOTIFICATIONS = {
    "refuses notifications": {"initialized": -32600, "cancelled": -32600},
    "does not know notifications": {"initialized": -32601, "cancelled": -32601},
    "does not know of cancelling": {"cancelled": -32601},
}
"""The codes of the errors with which some servers answer them, against the protocol."""
tools = ["plain", "late", "release", "how many are late", "unreadable", *REQUESTS]
late: list[int] = []
"""Ids of calls that are answered once there are as many as `release` says."""
releases: list[tuple[int, int]] = []
"""Ids of such calls, and how many they wait for."""
cancelled: list[int] = []
"""Ids of calls that the client has given up; `release` counts them with those that wait."""


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name: Any, schema: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": schema}


def listed() -> dict[str, Any]:
    """The server's answer to a request for its tools."""
    whole = {"type": "object"}
    if KIND == "no tools":
        return NOT_THERE
    if KIND == "bad tools":
        bad = [
            tool("rows", {"type": "array"}),
            tool("lamp", "any"),
            tool("", whole),
            tool(5, whole),
        ]
        return {"result": {"tools": [tool("good", whole), *bad]}}
    if KIND == "same page":
        return {"result": {"tools": [tool("plain", whole)], "nextCursor": "more"}}
    return {"result": {"tools": [tool(name, whole) for name in tools]}}


def called(name: str) -> str:
    """The text of a tool's result; some of them ask the client first."""
    if name == "how many are late":
        return str(len(late))
    if name in REQUESTS:
        method, params = REQUESTS[name]
        say(id=900, method=method, params=params)
        return str(json.loads(sys.stdin.readline())["error"]["message"])
    if KIND == "changes its tools":
        tools.remove("plain")
        say(method="notifications/tools/list_changed")
    return "done"


def answer(method: str, given: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize" and KIND == "another protocol":
        return {"result": {"hello": 1}}
    if method == "initialize":
        version, info = given["protocolVersion"], {"name": "odd", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        return {
            "result": {
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": info,
            }
        }
    if method == "tools/list":
        return listed()
    if method == "ping" and KIND == "refuses a ping":
        return {"error": {"code": -32600, "message": "Invalid request"}}
    if method == "tools/call" and given["name"] in tools:
        return {"result": {"content": [{"type": "text", "text": called(given["name"])}]}}
    if method == "tools/call":
        return {"error": {"code": -32602, "message": f"Unknown tool: {given['name']}"}}
    return NOT_THERE


def answer_out_of_turn(number: int, given: dict[str, Any]) -> bool:
    """Whether a call gets no answer now that has its id."""
    name = given.get("name")
    if name == "late":
        late.append(number)
    elif name == "release":
        releases.append((number, given["arguments"]["count"]))
    elif name == "unreadable":
        say(**({"error": UNREADABLE["error"]} if KIND == "leaves out the id" else UNREADABLE))
    else:
        return False
    release_late()
    return True


def release_late() -> None:
    if releases and len(late) + len(cancelled) == releases[0][1]:
        for one in (*late, releases[0][0]):
            if one not in cancelled:
                say(id=one, result={"content": [{"type": "text", "text": "at last"}]})


def take_notification(method: str, given: dict[str, Any]) -> None:
    name = method.rpartition("/")[2]
    code = FOR_NOTIFICATIONS.get(KIND, {}).get(name)
    if code is not None:
        say(id=None, error={"code": code, "message": f"not taken: {name}"})
    if name == "cancelled":
        cancelled.append(given["requestId"])
        release_late()


def flood() -> None:
    while True:
        sys.stderr.write("x" * 5000 + "\n")


def main() -> None:
    if KIND == "usage":
        print("Usage: odd --key KEY", flush=True)
        sys.exit(2)
    if KIND == "silence":
        print("Log in at http://127.0.0.1/login", flush=True)
        time.sleep(600)
    if KIND == "flood":
        threading.Thread(target=flood, daemon=True).start()
    for line in sys.stdin:
        request = json.loads(line)
        if KIND == "garbage":
            print("<html>no such page</html>", flush=True)
        elif "id" not in request:
            take_notification(request["method"], request.get("params") or {})
        elif not answer_out_of_turn(request["id"], request.get("params") or {}):
            say(id=request["id"], **answer(request["method"], request.get("params") or {}))


if __name__ == "__main__":
    main()
